"""Which of torch's operators restride takes, and which it leaves to torch; results and errors are torch's own."""
import pytest
import torch
from beside_torch import bits, by_torch

import restride.torch


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.permute(2, 0, 1).contiguous(),
        lambda x: x.transpose(0, 2).clone(memory_format=torch.contiguous_format),
        lambda x: x.permute(1, 0, 2).reshape(-1),
        lambda x: x.transpose(0, 1).to(torch.float64, memory_format=torch.contiguous_format),
        lambda x: torch.zeros(8, 6, 4).copy_(x.permute(2, 1, 0)),
        lambda x: torch.empty(4, 6, 16)[..., ::2].copy_(x),
        lambda x: x.permute(0, 2, 1).flatten(),
        lambda x: x.repeat_interleave(2, 0).transpose(0, 1).contiguous(),
        lambda x: x[None].contiguous(memory_format=torch.channels_last),
    ],
)
def test_operators_that_end_in_a_copy_are_taken(function):
    x = torch.randn(4, 6, 8)
    expected = by_torch(lambda: function(x))
    restride.torch.stats(reset=True)
    got = function(x)
    assert restride.torch.stats().taken >= 1
    assert got.stride() == expected.stride() and torch.equal(bits(got), bits(expected))


def test_slice_assignment_is_taken():
    x, y = torch.randn(6, 4), torch.zeros(4, 12)
    restride.torch.stats(reset=True)
    y[:, 3:9] = x.T
    assert restride.torch.stats().taken == 1
    assert torch.equal(y[:, 3:9], x.T) and not y[:, :3].any() and not y[:, 9:].any()


@pytest.mark.parametrize(
    "make",
    [
        lambda: (torch.empty(8, 8), torch.rand(8, 8)),  # plain
        lambda: (torch.empty(8, 8), torch.rand(8)),  # broadcast
        lambda: (torch.empty(8, 8), torch.tensor(3.0)),
        lambda: (torch.empty(8, 8, dtype=torch.uint8), torch.rand(8, 8).T * 500 - 250),  # floats to integers
        lambda: (torch.empty(8, 8, dtype=torch.float16), torch.rand(8, 8).double().T),
        lambda: (torch.empty(8, 8, dtype=torch.complex64), torch.randn(8, 8, dtype=torch.complex64).conj().T),
        lambda: (torch.empty(8, 8), torch.randn(8, 8, dtype=torch.complex64).conj().imag.T),
        lambda: (torch.empty(0, 8), torch.rand(8, 0).T),
    ],
)
def test_what_is_left_to_torch(make):
    torch.manual_seed(1)
    expected, src = make()
    by_torch(lambda: expected.copy_(src))
    torch.manual_seed(1)
    dst, src = make()
    restride.torch.stats(reset=True)
    dst.copy_(src)
    stats = restride.torch.stats()
    assert stats.taken == 0 and stats.seen >= 1
    assert torch.equal(bits(dst), bits(expected))


IMAGES = torch.arange(2 * 16 * 8 * 12).reshape(2, 16, 8, 12).float()


@pytest.mark.parametrize(
    "name, function",
    [
        ("cat", lambda x: torch.cat([x.transpose(2, 3), x.transpose(2, 3)], 1)),
        ("cat", lambda x: torch.cat([x.transpose(2, 3), x[..., :8].transpose(2, 3)], -2)),
        ("cat", lambda x: torch.stack([x.transpose(1, 3)] * 3, 2)),
        ("cat", lambda x: torch.hstack([x.T, x.T])),
        ("flip", lambda x: x.permute(0, 2, 3, 1)[..., :3].contiguous().flip(-1)),
        ("flip", lambda x: x[..., :2].contiguous().flip(0, -1, 2)),
        ("flip", lambda x: x[:, :4].contiguous(memory_format=torch.channels_last).flip(1)),
        ("roll", lambda x: x.roll(3, 1)),
        ("roll", lambda x: x.roll((-3, 17, 0), (2, 1, 0))),
        ("roll", lambda x: x.repeat(1, 1, 1, 16).roll((1, -2), (-1, 0))),
        ("pixel_shuffle", lambda x: torch.pixel_shuffle(x, 2)),
        ("pixel_shuffle", lambda x: torch.pixel_shuffle(x.contiguous(memory_format=torch.channels_last), 4)),
        ("pixel_shuffle", lambda x: torch.pixel_shuffle(x.transpose(2, 3)[0], 2)),
        ("pixel_unshuffle", lambda x: torch.pixel_unshuffle(x, 4)),
        ("pixel_unshuffle", lambda x: torch.pixel_unshuffle(x[None].expand(3, -1, -1, -1, -1), 2)),
        ("copy_", lambda x: torch.split_with_sizes_copy(x.transpose(1, 3), [4, 8], 1)[1]),
        ("copy_", lambda x: torch._foreach_copy_([torch.zeros(12, 8, 16, 2)], [x.T])[0]),
    ],
)
@pytest.mark.filterwarnings("ignore:The use of `x.T`")
def test_operators_beside_copy_are_taken_and_counted(name, function):
    for x in (IMAGES, IMAGES.to(torch.uint8), IMAGES.to(torch.int16)):
        expected = by_torch(lambda: function(x))
        restride.torch.stats(reset=True)
        got = function(x)
        seen, taken = restride.torch.stats().operators[name]
        assert seen >= taken >= 1
        assert got.stride() == expected.stride() and torch.equal(bits(got), bits(expected))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.cat([x, x], 1),
        lambda x: torch.cat([x.T, x.T.double()]),
        lambda x: torch.cat([x.T, torch.empty(0)], 0) if x.dim() == 1 else torch.cat([x[0, 0].T, torch.empty(0)]),
        lambda x: x.flip(-1),
        lambda x: x.flip(()),
        lambda x: x.roll(3, -1),
        lambda x: torch.cat([x.to(torch.float8_e4m3fn).transpose(0, 1)] * 2),
        lambda x: x[..., :0].roll((1, 1), (0, 1)),
    ],
)
@pytest.mark.filterwarnings("ignore:The use of `x.T`")
def test_what_of_the_others_is_left_to_torch(function):
    expected = by_torch(lambda: function(IMAGES))
    restride.torch.stats(reset=True)
    got = function(IMAGES)
    operators = restride.torch.stats().operators
    assert not any(taken for name, (_, taken) in operators.items() if name != "copy_")
    assert got.stride() == expected.stride() and torch.equal(bits(got), bits(expected))


def test_errors_of_the_others_are_torch_s_own():
    x = IMAGES
    for function in (
        lambda: torch.cat([x.T, x]),
        lambda: torch.cat([x.T], 7),
        lambda: x.flip(0, 0),
        lambda: x.flip(9),
        lambda: x.roll((1, 2), (0,)),
        lambda: x.roll(1, 5),
        lambda: torch.pixel_shuffle(x, 3),
        lambda: torch.pixel_shuffle(x, -1),
        lambda: torch.pixel_unshuffle(x, 5),
        lambda: torch.pixel_unshuffle(x[0, 0], 2),
    ):
        messages = []
        for run in (lambda f: f(), by_torch):
            with pytest.raises((RuntimeError, IndexError)) as error:
                run(function)
            messages.append(str(error.value))
        assert messages[0] == messages[1]


def test_gradients_of_the_others():
    for function in (
        lambda x: torch.cat([x.transpose(0, 1), 2 * x.transpose(0, 1)], 1),
        lambda x: x[..., :3].contiguous().flip(-1),
        lambda x: x.roll((1, 2), (0, 1)),
        lambda x: torch.pixel_shuffle(x, 2),
        lambda x: torch.pixel_unshuffle(x, 2),
    ):
        x = torch.randn(2, 4, 4, 6, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(function, x)


def test_fresh_memory_is_taken_also_where_the_copy_is_plain():
    x = torch.randn(3, 5 << 20)  # larger than malloc ever keeps
    restride.torch.stats(reset=True)
    y = x.clone()
    z = torch.cat([x, x])
    operators = restride.torch.stats().operators
    assert operators["copy_"] == (1, 1) and operators["cat"] == (1, 1)
    assert torch.equal(x, y) and torch.equal(z[3:], x)
    y.copy_(x)
    assert restride.torch.stats().operators["copy_"] == (2, 1)  # now it has pages


def test_only_the_operators_asked_for_are_taken():
    x = IMAGES
    with restride.torch.enabled(ops=("roll",), min_bytes=0):
        restride.torch.stats(reset=True)
        x.roll(1, 0), x.transpose(0, 1).contiguous(), torch.pixel_shuffle(x, 2)
        operators = restride.torch.stats().operators
    assert operators.pop("roll") == (1, 1) and not any(seen for seen, _ in operators.values())
    assert list(restride.torch.stats().operators) == list(restride.torch.OPERATORS)
    torch.pixel_shuffle(x, 2)
    assert restride.torch.stats().operators["pixel_shuffle"][0] == 1


def test_small_copies_are_left_to_torch():
    with restride.torch.enabled(min_bytes=1024):
        restride.torch.stats(reset=True)
        torch.rand(15, 16).T.contiguous()
        assert restride.torch.stats().taken == 0
        torch.rand(16, 16).T.contiguous()
        assert restride.torch.stats().taken == 1
