"""Tensors of torch through restride, and restride's operators of torch: gradients, opcheck, torch.compile, vmap."""
import sys

import numpy as np
import pytest
import torch

import restride
import restride.torch

DTYPES = [torch.bool, torch.uint8, torch.uint16, torch.int64, torch.float16, torch.bfloat16, torch.float32,
          torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e8m0fnu]  # fmt: skip


def bits(x):
    return x.contiguous().view(torch.uint8) if x.dim() else x.reshape(1).view(torch.uint8)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_of_every_dtype(dtype):
    x = torch.randint(0, 256, (6, 10 * dtype.itemsize), dtype=torch.uint8)
    x = (x % 2).bool() if dtype == torch.bool else x.view(dtype)
    y = torch.empty((10, 6), dtype=dtype)
    restride.copy(y, x.T)
    assert torch.equal(bits(y), bits(x.T))
    plan = restride.plan(y, x.T)
    y.view(torch.uint8).zero_()
    plan.run(y, x.T)
    assert torch.equal(bits(y), bits(x.T))


@pytest.mark.parametrize("dtype", DTYPES[:-2], ids=str)
def test_converts_as_torch_does(dtype):
    x = torch.arange(-4, 100).reshape(8, 13).abs()
    got = restride.contiguous(x.T, dtype)
    assert got.dtype == dtype and torch.equal(bits(got), bits(x.T.to(dtype)))


def test_views_that_only_torch_has():
    x = torch.arange(24.0).reshape(2, 3, 4)
    for view in (x.expand(5, 2, 3, 4), x.unfold(2, 2, 1), x.diagonal(), x[:, None, ::2], x.as_strided((2, 2), (1, 3), 4)):
        assert torch.equal(restride.contiguous(view), view)
    z = torch.randn(3, 4, dtype=torch.complex64)
    assert torch.equal(restride.contiguous(torch.view_as_real(z).permute(2, 0, 1)), torch.view_as_real(z).permute(2, 0, 1))


def test_numpy_and_torch_mix():
    x = np.arange(6.0).reshape(2, 3)
    y = torch.zeros(3, 2, dtype=torch.float64)
    restride.copy(y, x.T)
    assert y.tolist() == x.T.tolist()
    restride.copy(x, torch.zeros(2, 3, dtype=torch.float64))
    assert not x.any()


def test_inference_mode_no_grad_and_versions():
    x = torch.ones(2, 3, requires_grad=True)
    y = torch.zeros(3, 2)
    with torch.no_grad():
        restride.copy(y, x.T)
        restride.copy(x, y.T)
    with torch.inference_mode():
        restride.copy(torch.empty(3, 2), x.T)
    assert y.sum() == 6


REFUSED = {
    "grad src": (lambda: torch.ones(3, requires_grad=True), TypeError, "src requires grad.*detach"),
    "conj": (lambda: torch.ones(3, dtype=torch.complex64).conj(), TypeError, "resolve_conj"),
    "neg": (lambda: torch.ones(3, dtype=torch.complex64).conj().imag, TypeError, "resolve_neg"),
    "sparse": (lambda: torch.ones(3).to_sparse(), BufferError, "no strided memory"),
    "meta": (lambda: torch.ones(3, device="meta"), BufferError, "no strided memory"),
    "quantized": (lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), BufferError, "memory"),
    "freed": (lambda: freed(), ValueError, "null"),
}


def freed():
    x = torch.ones(3)
    x.untyped_storage().resize_(0)
    return x


@pytest.mark.parametrize("case", REFUSED)
def test_refuses_tensors_without_plain_memory(case):
    make, error, message = REFUSED[case]
    x = make()
    y = torch.zeros(3, dtype=x.dtype if not x.is_quantized else torch.int8)
    with pytest.raises(error, match=message):
        restride.copy(y, x)
    assert not torch.view_as_real(y).any() if y.is_complex() else not y.any()


def test_refuses_to_write_behind_autograd_s_back():
    with pytest.raises(TypeError, match="dst requires grad.*no_grad"):
        restride.copy(torch.ones(3, requires_grad=True), torch.ones(3))


def test_refuses_tensors_that_handle_operators_themselves():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(3)
    with pytest.raises(TypeError, match="src is a .*FakeTensor, which handles operators itself"):
        restride.copy(torch.empty(3), x)
    assert restride.contiguous(torch.nn.Parameter(torch.ones(3), requires_grad=False)).sum() == 3


def test_a_subclass_without_a_dispatch_of_its_own_is_a_tensor():
    class Named(torch.Tensor):
        pass

    assert restride.contiguous(torch.ones(3).as_subclass(Named)).sum() == 3


# ---- operators

X = torch.arange(24.0).reshape(2, 3, 4)
OPERATORS = {
    "permute_copy": (torch.ops.restride.permute_copy, ((2, 0, 1),), lambda x: x.permute(2, 0, 1)),
    "permute_copy negative": (torch.ops.restride.permute_copy, ((-1, 0, -2),), lambda x: x.permute(2, 0, 1)),
    "permute_copy cast": (torch.ops.restride.permute_copy, ((1, 0, 2), torch.float64), lambda x: x.permute(1, 0, 2).double()),
    "flip_copy": (torch.ops.restride.flip_copy, ((0, -1),), lambda x: x.flip(0, 2)),
    "rearrange": (torch.ops.restride.rearrange, ("a (b c) d -> (d a) c b", "b", [3]), lambda x: x.permute(2, 0, 1).reshape(8, 1, 3)),
    "rearrange_back": (torch.ops.restride.rearrange_back, ((2, 12), "a (b c) -> c (a b)", "b", [4], torch.float32), lambda x: x.reshape(3, 2, 4).permute(1, 2, 0).reshape(2, 12)),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_sound(name):
    operator, arguments, expected = OPERATORS[name]
    x = X.reshape(3, 8) if name == "rearrange_back" else X
    got = operator(x, *arguments)
    assert got.is_contiguous() and got.dtype == expected(x).dtype and torch.equal(got, expected(x))
    torch.library.opcheck(operator.default, (x, *arguments))
    torch.library.opcheck(operator.default, (x.clone().requires_grad_(), *arguments))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: restride.torch.contiguous(x.transpose(0, 2)),
        lambda x: restride.torch.permute_copy(x, (2, 0, 1)),
        lambda x: restride.torch.flip_copy(x, 1),
        lambda x: restride.torch.rearrange(x, "a b (c d) -> (d b) a c", d=2),
        lambda x: restride.torch.repeat(x, "a b c -> c 2 (b n) a", n=3),
    ],
)
def test_gradients_of_gradients(function):
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, (x,))
    assert torch.autograd.gradgradcheck(function, (x,))


def test_gradients_have_the_input_s_dtype():
    x = torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True)
    restride.torch.permute_copy(x, (1, 0), torch.float32).sum().backward()
    assert x.grad.dtype == torch.bfloat16


def test_vmap():
    x = torch.randn(5, 2, 3)
    assert torch.equal(torch.vmap(lambda y: restride.torch.permute_copy(y, (-1, 0)))(x), x.transpose(1, 2))
    assert torch.equal(torch.vmap(lambda y: restride.torch.flip_copy(y, 0), in_dims=1)(x), x.transpose(0, 1).flip(1))


def model(x):
    y = restride.torch.permute_copy(x * 2, (2, 0, 1))
    z = restride.torch.rearrange(restride.torch.flip_copy(y, 0), "a (b c) d -> b (a d) c", c=1)
    return restride.torch.repeat(z, "a b c -> (a 2) b c", a=2).sin()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiles_whole(backend):
    compiled = torch.compile(model, fullgraph=True, backend=backend)
    x = torch.randn(2, 3, 4, requires_grad=True)
    expected = model(x)
    got = compiled(x)
    assert torch.equal(got, expected)
    (gradient,) = torch.autograd.grad(got.sum(), x)
    assert torch.equal(gradient, torch.autograd.grad(expected.sum(), x)[0])


def test_exports():
    class Module(torch.nn.Module):
        def forward(self, x):
            return restride.torch.permute_copy(x, (1, 0))

    program = torch.export.export(Module(), (torch.ones(2, 3),))
    assert "restride.permute_copy" in str(program.graph)
    assert program.module()(torch.ones(2, 3)).shape == (3, 2)


def test_restride_alone_imports_no_torch():
    import subprocess

    code = "import restride, sys; assert 'torch' not in sys.modules and 'numpy' not in sys.modules; restride.copy(bytearray(2), b'ab')"
    subprocess.run([sys.executable, "-c", code], check=True)
