"""torch's own operators with restride under them: bit for bit what torch does, errors too, and nothing else is touched.

RESTRIDE_CASES sets how many random pairs are drawn (100,000).
"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tarfile
import threading

import pytest
import torch

restride_torch = pytest.importorskip("restride_torch")
import restride.torch  # noqa: E402

CASES = int(os.environ.get("RESTRIDE_CASES", "100000"))
NEVER = 2**60  # min_bytes with which everything is left to torch


@pytest.fixture(autouse=True)
def on():
    with restride.torch.enabled(min_bytes=0):
        restride.torch.stats(reset=True)
        yield


def by_torch(function):
    with restride.torch.enabled(min_bytes=NEVER):
        return function()


def bits(x):
    x = x.contiguous()
    return torch.view_as_real(x).flatten().view(torch.uint8) if x.is_complex() else x.flatten().view(torch.uint8)


# ---- what is taken


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


# ---- the same bits


MOVED = [torch.bool, torch.uint8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.float16, torch.bfloat16,
         torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2,
         torch.float8_e4m3fnuz]  # fmt: skip
CAST = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
        torch.float32, torch.float64]  # fmt: skip


def random_pair(rng):
    """Two tensors of one shape with strides of many kinds, and the memory of the first."""
    rank = rng.choice([1, 2, 2, 3, 3, 4, 5])
    shape = [rng.choice([1, 2, 3, 4, 5, 7, 8, 16, 33, 64]) for _ in range(rank)]
    while torch.Size(shape).numel() > 2048:
        shape[rng.randrange(rank)] = 2
    to = rng.choice(MOVED)
    of = to if rng.random() < 0.6 or to not in CAST else rng.choice(CAST)

    def laid_out(dtype, writes):
        order = rng.sample(range(rank), rank) if rng.random() < 0.8 else list(range(rank))
        steps = [1] * rank
        steps[rng.randrange(rank)] = rng.choice([1, 1, 2, 3])
        extents = [shape[axis] * steps[axis] + rng.choice([0, 0, 1]) for axis in order]
        memory = torch.randint(-60, 60, extents) if dtype != torch.bool else torch.randint(0, 2, extents)
        if dtype.itemsize == 1 and dtype.is_floating_point or rng.random() < 0.2 and dtype not in (torch.bool,) and of == to:
            memory = torch.randint(0, 256, [*extents, dtype.itemsize], dtype=torch.uint8).view(dtype).squeeze(-1)
        else:
            memory = memory.to(dtype)
        view = memory.permute([order.index(axis) for axis in range(rank)])
        view = view[tuple(slice(0, n * s, s) for n, s in zip(shape, steps))]
        if not writes and rng.random() < 0.1:
            axis = rng.randrange(rank)
            view = view.select(axis, 0).unsqueeze(axis).expand(shape)
        return memory, view

    memory, dst = laid_out(to, True)
    return memory, dst, laid_out(of, False)[1]


def test_random_pairs_are_the_same_bit_for_bit():
    rng = random.Random(5)
    torch.manual_seed(5)
    library = restride_torch.load()
    for _ in range(CASES):
        memory, dst, src = random_pair(rng)
        other = memory.clone()
        by_native = other.as_strided(dst.shape, dst.stride(), dst.storage_offset())
        library.restride_torch_enable(NEVER, b"copy_")
        by_native.copy_(src)
        library.restride_torch_enable(0, b"copy_")
        dst.copy_(src)
        same = torch.equal(memory.view(torch.uint8), other.view(torch.uint8))
        assert same, (dst.shape, dst.stride(), dst.dtype, src.stride(), src.dtype)
    assert restride.torch.stats().taken > CASES // 2


def test_float_casts_of_every_half():
    every = torch.arange(65536).to(torch.uint16).view(torch.float16).reshape(256, 256)
    for of in (every, every.view(torch.bfloat16)):
        for to in (torch.float32, torch.float64):
            expected = by_torch(lambda: of.T.to(to))
            got = of.T.to(to)
            assert torch.equal(torch.nan_to_num(got, 7.0), torch.nan_to_num(expected, 7.0))
    wide = torch.randn(512, 512) * 10 ** torch.randint(-45, 38, (512, 512)).float()
    for to in (torch.float16, torch.bfloat16, torch.float64):
        assert torch.equal(bits(wide.T.to(to)), bits(by_torch(lambda: wide.T.to(to))))


def of_words(name):
    return getattr(torch, name.removeprefix("torch."))


def strided(shape, strides, dtype):
    """A tensor of random bytes that are finite numbers of every dtype."""
    size = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))
    memory = torch.randint(0, 64, (size * dtype.itemsize,), dtype=torch.uint8).view(dtype)
    return memory, memory.as_strided(shape, strides)


COPIES = json.loads((pathlib.Path(__file__).parent / "program_copies.json").read_text())["copies"]


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: copy["program"])
def test_copies_of_whole_programs_are_the_same_bit_for_bit(copy):
    memory, dst = strided(copy["shape"], copy["strides"], of_words(copy["dtype"]))
    other = memory.clone()
    _, src = strided(copy["src_shape"], copy["src_strides"], of_words(copy["src_dtype"]))
    by_torch(lambda: other.as_strided(dst.shape, dst.stride()).copy_(src))
    dst.copy_(src)
    assert torch.equal(memory.view(torch.uint8), other.view(torch.uint8))


# ---- torch's own samples


OPERATORS = ["nn.functional.pixel_shuffle", "nn.functional.pixel_unshuffle", "hstack", "vstack", "dstack",
             "column_stack", "split_with_sizes_copy", "split_with_sizes", "clone", "contiguous", "reshape", "permute", "cat", "stack", "flip", "roll", "tile", "repeat", "expand_copy",
             "transpose_copy", "permute_copy", "to", "double", "half", "bfloat16", "float", "long", "einsum", "matmul",
             "index_put", "split", "unfold_copy", "as_strided_scatter", "slice_scatter", "select_scatter",
             "diagonal_scatter", "ravel", "flatten", "movedim", "rot90", "fliplr", "block_diag", "cdist", "masked_fill"]  # fmt: skip


def op_infos():
    with contextlib.suppress(ImportError):
        from torch.testing._internal.common_methods_invocations import op_db

        return [op for op in op_db if op.name in OPERATORS]
    return []


DEVICES = ["cpu", *(["cuda"] if restride_torch.load().restride_torch_with_cuda() and torch.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("op", op_infos(), ids=lambda op: op.formatted_name)
@pytest.mark.filterwarnings("ignore")
def test_torch_s_samples(op, device):
    for dtype in [d for d in (torch.float32, torch.complex64, torch.uint8, torch.bfloat16) if d in op.supported_dtypes(device)]:
        for sample in op.sample_inputs(device, dtype, requires_grad=False):
            def call():
                torch.manual_seed(0)
                return op(sample.input, *sample.args, **sample.kwargs)

            expected, got = by_torch(call), call()
            torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


# ---- what torch does around a copy


def test_autograd_versions_and_inference_mode():
    x = torch.randn(64, 32, requires_grad=True)
    (x.T.contiguous() * torch.arange(64.0)).sum().backward()
    assert torch.equal(x.grad, torch.arange(64.0)[:, None].expand(64, 32))
    y = torch.zeros(32, 64)
    version = y._version
    y.copy_(x.detach().T)
    assert y._version == version + 1
    leaf = torch.zeros(32, 64, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf.copy_(x.T)
    with torch.inference_mode():
        assert torch.equal(x.T.contiguous(), x.T)


def test_errors_are_torch_s_own():
    x = torch.arange(64.0)
    for function in (
        lambda: x[1:].as_strided((6, 6), (1, 6)).copy_(x.as_strided((6, 6), (6, 1))),
        lambda: torch.zeros(1, 8).expand(8, 8).copy_(torch.rand(8, 8).T),
        lambda: torch.zeros(8, 8).copy_(torch.rand(7, 8)),
    ):
        messages = []
        for run in (lambda f: f(), by_torch):
            with pytest.raises(RuntimeError) as error:
                run(function)
            messages.append(str(error.value))
        assert messages[0] == messages[1]
    assert torch.equal(x, torch.arange(64.0))


def test_subclasses_vmap_and_compile():
    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return super().__torch_function__(function, types, args, kwargs or {})

    x = torch.randn(8, 16)
    assert torch.equal(x.as_subclass(Logged).T.contiguous().as_subclass(torch.Tensor), x.T)
    assert torch.equal(torch.vmap(lambda y: y.T.contiguous())(torch.stack([x, x]))[0], x.T)
    assert torch.equal(torch.vmap(lambda y: y.roll(1, 0).T.clone(), in_dims=1)(torch.stack([x, x], 1))[1], x.roll(1, 0).T)
    compiled = torch.compile(lambda y: y.T.contiguous() + 1, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), x.T + 1)
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        assert torch.empty(8, 16).T.contiguous().shape == (16, 8)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.filterwarnings("ignore")
def test_fallbacks_of_inductor_are_taken(device):
    import torch._inductor.config as inductor

    def function(x):
        return x.transpose(0, 1).contiguous(), torch.cat([x.mT, x.mT]).clone()

    x = torch.randn(64, 48, dtype=torch.complex64, device=device)  # for which it makes no code of its own
    with inductor.patch(pattern_matcher=False, compile_threads=1, force_disable_caches=True):
        compiled = torch.compile(function, fullgraph=True)
        compiled(x)
        restride.torch.stats(reset=True)
        got = compiled(x)
    assert restride.torch.stats().taken > 0
    assert all(torch.equal(a, b) for a, b in zip(got, by_torch(lambda: function(x))))


def test_a_subclass_that_dispatches_sees_the_same_operators():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorded(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    def run():
        seen.clear()
        with Recorded():
            x = torch.arange(48.0).reshape(6, 8)
            y = torch.cat([x.T.contiguous(), x.T]).roll((1, 2), (0, 1))
            y[:, :2] = x.T.flip(0).repeat(2, 1)[:, :2]
        return y, list(seen)

    seen = []
    y, operators = run()
    expected, theirs = by_torch(run)
    assert torch.equal(y, expected) and operators == theirs


def test_deterministic_mode():
    torch.use_deterministic_algorithms(True)
    try:
        x = torch.randn(8, 16)
        assert torch.equal(x.T.contiguous(), x.T)
        assert torch.empty(8, 16).isnan().all()  # which that mode fills
        y = torch.zeros(4, 4).index_put((torch.tensor([0, 0]),), torch.arange(8.0).reshape(4, 2).T, accumulate=True)
        assert torch.equal(y[0], torch.tensor([1.0, 5.0, 9.0, 13.0]))
    finally:
        torch.use_deterministic_algorithms(False)


def test_runs_on_torch_s_threads():
    x = torch.randn(2048, 2048)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            x.sum()  # starts torch's team
            count = len(os.listdir("/proc/self/task"))
            for _ in range(5):
                assert torch.equal(x.T.contiguous(), x.T)
            assert len(os.listdir("/proc/self/task")) <= count
    finally:
        torch.set_num_threads(before)


def test_many_threads_copy_while_it_is_switched():
    failures = []
    stop = threading.Event()

    def work(seed):
        x = torch.randn(64 + seed, 48)
        while not stop.is_set():
            if not torch.equal(x.T.contiguous(), x.T):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        with restride.torch.enabled(min_bytes=NEVER):
            pass
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures


# ---- on and off


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment})


STATE = "import torch, restride.torch, json; x = torch.rand(64, 64)\n"


def test_off_until_it_is_enabled_and_off_again():
    code = STATE + (
        "def taken(): restride.torch.stats(reset=True); x.T.contiguous(); return restride.torch.stats().seen\n"
        "a = taken(); restride.torch.enable(min_bytes=0); b = taken(); restride.torch.enable(); c = taken()\n"
        "restride.torch.disable(); d = taken(); restride.torch.disable()\n"
        "print(json.dumps([a, b, c, d]))"
    )
    ran = run(code)
    assert json.loads(ran.stdout) == [0, 1, 1, 0]
    assert ran.stderr.count("\n") == 1 and "copies by restride" in ran.stderr and "Warning" not in ran.stderr


def test_a_variable_turns_it_on():
    code = "import torch; x = torch.rand(128, 128).T.contiguous(); import restride._drop_in as d; print(d._on and d._on[1], d.stats().taken if d._on else 0)"
    assert run(code, RESTRIDE_TORCH="1").stdout.split() == ["16384", "1"]
    assert run(code, RESTRIDE_TORCH="0").stdout.split() == ["None", "0"]
    quiet = run(code, RESTRIDE_TORCH="1", RESTRIDE_QUIET="1")
    assert quiet.stderr == ""


def test_another_s_kernel_is_named_and_left_alone():
    code = STATE + (
        "library = torch.library.Library('aten', 'IMPL')\n"
        "def mine(self, src, non_blocking=False): print('mine'); return self\n"
        "library.impl('copy_', mine, 'CPU')\n"
        "try: restride.torch.enable()\n"
        "except RuntimeError as error: print(error)\n"
        "torch.zeros(2).copy_(torch.ones(2))"
    )
    ran = run(code)
    assert "aten::copy_ has another kernel for CPU already, registered at" in ran.stdout
    assert ran.stdout.rstrip().endswith("mine")


def test_a_torch_that_it_was_not_built_for_is_left_alone():
    code = (
        "import restride_torch._built as b; b.TORCH = '1.2.3'\n"
        "import torch, restride_torch; restride_torch.autoload(); print(torch.ones(2, 2).T.contiguous().sum().item())"
    )
    ran = run("import os, sys; sys.modules.pop('torch', None)\n" + code, RESTRIDE_TORCH="1", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert "torch is left alone: restride-torch was built for torch 1.2.3" in ran.stderr and ran.stdout == "4.0\n"


def test_what_was_on_stays_on_where_another_s_kernel_is_in_the_way():
    code = STATE + (
        "restride.torch.enable(('copy_',), 0)\n"
        "library = torch.library.Library('aten', 'IMPL')\n"
        "library.impl('roll', lambda self, shifts, dims=(): self.clone(), 'CPU')\n"
        "try: restride.torch.enable(('copy_', 'roll'), 0)\n"
        "except RuntimeError as error: print(error)\n"
        "restride.torch.stats(reset=True); x.T.contiguous(); x.roll(1, 0)\n"
        "print(restride.torch.stats().operators['copy_'], restride.torch.stats().operators['roll'])\n"
        "restride.torch.disable(); print(torch.equal(x.T.contiguous(), x.T))"
    )
    lines = run(code).stdout.splitlines()
    assert "aten::roll has another kernel for CPU already" in lines[0]
    assert lines[1] in ("(1, 1) (0, 0)", "(2, 1) (0, 0)") and lines[2] == "True"


def test_arguments():
    with pytest.raises(ValueError, match="give some of"):
        restride.torch.enable(ops=("add",))
    with pytest.raises(ValueError, match="min_bytes"):
        restride.torch.enable(min_bytes=-1)
    with pytest.raises(TypeError, match=r"^min_bytes is a str; give an int"):
        restride.torch.enable(min_bytes="x")
    with pytest.raises(TypeError, match=r"^ops is 'copy_'; give a list, \['copy_'\]"):
        restride.torch.enable("copy_")
    for wrong in ("nope", 5):
        with pytest.raises(TypeError, match=rf"^ops is {wrong!r}; give a list, some of \['copy_', 'cat'"):
            restride.torch.enable(ops=wrong)


def test_stats_name_where_time_went():
    x = torch.randn(1024, 1024)
    restride.torch.stats(reset=True)
    for _ in range(3):
        x.T.contiguous()
    stats = restride.torch.stats()
    assert stats.taken == 3 and stats.bytes == 3 * 4 * 1024**2 and stats.nanoseconds > 0
    assert stats.most[0].copy == "f32 (1024,1024):(1,1024) -> f32 (1024,1024):(1024,1)" and stats.most[0].calls == 3
    assert "f32 (1024,1024)" in str(stats) and "3 by restride" in str(stats)


def test_programs_compute_the_same_bits():
    programs = pathlib.Path(__file__).parent.parent / "bench" / "programs.py"
    command = [sys.executable, programs, "--seconds", "0", "--scale", "0.13"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == 7 and sum(not line.endswith(" 0 copies by restride") for line in lines) >= 5, ran.stdout


def test_the_source_distribution_holds_what_a_build_needs(tmp_path):
    folder = shutil.copytree(pathlib.Path(__file__).parents[1], tmp_path / "torch", ignore=shutil.ignore_patterns("build", "*.egg-info", "_built.py"))  # fmt: skip
    code = f"from setuptools.build_meta import build_sdist; build_sdist({str(tmp_path)!r})"
    ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    (archive,) = tmp_path.glob("restride_torch-*.tar.gz")
    names = {name.partition("/")[2] for name in tarfile.open(archive).getnames()}
    assert {"setup.py", "pyproject.toml", "README.md", "restride_torch/__init__.py"} <= names
    assert {f"src/{file.name}" for file in (folder / "src").iterdir()} <= names
