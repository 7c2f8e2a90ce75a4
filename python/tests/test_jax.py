"""restride.jax against jax.numpy: under jit, vmap and grad, of every dtype; and the interface that XLA calls it by.

On the CPU; RESTRIDE_JAX_PLATFORM=cuda takes a GPU.
"""
import os
import pathlib
import subprocess

import einops
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jax.config.update("jax_platforms", os.environ.get("RESTRIDE_JAX_PLATFORM", "cpu"))
import jax.numpy as jnp  # noqa: E402

import restride.distributed  # noqa: E402
import restride.jax  # noqa: E402
from restride import _frameworks as frameworks  # noqa: E402
from test_copies import REARRANGE, REPEAT  # noqa: E402

X = jnp.arange(24.0).reshape(2, 3, 4)
DTYPES = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64",
          "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"]  # fmt: skip


def same(got, expected):
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert np.asarray(got).tobytes() == np.asarray(expected).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_moves_under_jit(dtype):
    x = (jnp.arange(2 * 3 * 5).reshape(2, 3, 5) % 2).astype(dtype)
    same(jax.jit(lambda x: restride.jax.permute_copy(x, (2, 0, -2)))(x), x.transpose(2, 0, 1))
    same(jax.jit(lambda x: restride.jax.flip_copy(x, (0, -1)))(x), x[::-1, :, ::-1])


def test_wide_dtypes_move_where_jax_has_them():
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        for dtype in (jnp.float64, jnp.int64, jnp.uint64, jnp.complex128):
            x = jnp.arange(12).astype(dtype).reshape(3, 4)
            same(jax.jit(lambda x: restride.jax.permute_copy(x, (1, 0)))(x), x.T)


def test_it_is_a_call_in_the_compiled_program_between_others():
    function = jax.jit(lambda x: restride.jax.permute_copy(x * 2, (1, 2, 0)) + 1)
    assert "restride_copy" in function.lower(X).as_text()
    same(function(X), (X * 2).transpose(1, 2, 0) + 1)


@pytest.mark.parametrize("to, of", [("float32", "uint8"), ("bfloat16", "float32"), ("int32", "int8"), ("float16", "bfloat16")])
def test_converts_on_the_way(to, of):
    x = jnp.arange(24).astype(of).reshape(2, 3, 4)
    same(jax.jit(lambda x: restride.jax.permute_copy(x, (2, 1, 0), to))(x), x.transpose(2, 1, 0).astype(to))


@pytest.mark.parametrize("shape, pattern, sizes", REARRANGE + REPEAT)
def test_rearranges_and_repeats_as_einops_does(shape, pattern, sizes):
    x = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    repeats = (shape, pattern, sizes) in REPEAT
    got = jax.jit(lambda x: (restride.jax.repeat if repeats else restride.jax.rearrange)(x, pattern, **sizes))(x)
    same(got, jnp.asarray((einops.repeat if repeats else einops.rearrange)(x, pattern, **sizes)))


def test_without_axes_and_without_elements():
    same(jax.jit(lambda x: restride.jax.rearrange(x, "-> 1"))(jnp.float32(3)), jnp.ones(1) * 3)
    same(restride.jax.permute_copy(jnp.zeros((0, 3)), (1, 0)), jnp.zeros((3, 0)))


def test_outside_of_jit_a_jax_array_comes_back_as_one():
    x = jnp.arange(24, dtype=jnp.int8).reshape(2, 3, 4)
    same(restride.permute_copy(x, (2, 0, 1)), x.transpose(2, 0, 1))
    same(restride.contiguous(x, jnp.float32), x.astype(jnp.float32))
    same(restride.flip_copy(x, (0, -1), dtype="bfloat16"), x[::-1, :, ::-1].astype(jnp.bfloat16))
    same(restride.rearrange(x, "a b c -> (c a) b"), x.transpose(2, 0, 1).reshape(8, 3))
    same(restride.repeat(x, "a b c -> a (b 2) c"), x.repeat(2, 1))
    same(restride.rearrange([x, x], "n a b c -> c (n a) b"), jnp.stack([x, x]).transpose(3, 0, 1, 2).reshape(4, 4, 3))
    with pytest.raises(TypeError, match="JAX holds no float64 unless jax_enable_x64"):
        restride.contiguous(x, np.float64)  # never quietly a float32


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the other arrays are of the CPU")
def test_jax_arrays_are_never_written_to():
    b = jnp.ones((2, 3))
    same_memory, row = b, np.arange(6, dtype=np.float32).reshape(2, 3)
    plan = restride.plan(b, row)
    (comm,) = restride.distributed.threads(1)
    whole = "f32 (2,3) as (*,*) over (1)"
    exchange = restride.distributed.plan(whole, whole, comm)
    for write in (
        lambda: restride.copy(b, row),
        lambda: restride.copy(b, jnp.zeros((2, 3))),
        lambda: plan.run(b, row),
        lambda: restride.bench(b, row, seconds=0),
        lambda: restride.contiguous(row, out=b),
        lambda: restride.permute_copy(row.T, (1, 0), out=b),
        lambda: restride.flip_copy(row, 0, out=b),
        lambda: restride.rearrange(row, "a b -> a b", out=b),
        lambda: exchange.run(b, row),
    ):
        with pytest.raises(ValueError, match="dst is a JAX array, and JAX arrays are immutable; use the result of contiguous"):
            write()
        assert (b == 1).all() and (same_memory == 1).all()
    got = np.zeros((2, 3), np.float32)
    exchange.run(got, b)
    restride.copy(got[::-1], b)
    assert (got == 1).all()


def test_on_a_gpu_xla_makes_it():
    view = restride.layout(np.zeros((2, 3, 4), np.float32)).permute((1, 2, 0))  # here by the CPU's XLA
    same(frameworks.copied_by_xla(X, view, view.shape, np.dtype("float16"), None), X.transpose(1, 2, 0).astype(jnp.float16))
    with pytest.raises(ValueError, match="XLA's own stream"):
        frameworks.copied_by_xla(X, view, view.shape, None, 7)


def test_batches_are_one_call():
    batch = jnp.arange(5 * 24.0).reshape(5, 2, 3, 4)
    function = jax.vmap(lambda x: restride.jax.permute_copy(x, (2, 0, 1)))
    same(function(batch), batch.transpose(0, 3, 1, 2))
    assert jax.jit(function).lower(batch).as_text().count("restride_copy") == 1
    twice = jax.vmap(jax.vmap(lambda x: restride.jax.flip_copy(x, 0, jnp.bfloat16)), in_axes=1, out_axes=2)
    same(twice(batch.astype(jnp.float32)), batch[:, :, ::-1].transpose(0, 2, 1, 3).astype(jnp.bfloat16))


@pytest.mark.parametrize(
    "function, by_jnp",
    [
        (lambda x: restride.jax.permute_copy(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
        (lambda x: restride.jax.flip_copy(x, 1), lambda x: x[:, ::-1]),
        (lambda x: restride.jax.rearrange(x, "a b (c d) -> (d a) b c", d=2), lambda x: einops.rearrange(x, "a b (c d) -> (d a) b c", d=2)),
        (lambda x: restride.jax.repeat(x, "a b c -> c 2 (b n) a", n=3), lambda x: einops.repeat(x, "a b c -> c 2 (b n) a", n=3)),
        (lambda x: restride.jax.permute_copy(x, (1, 0, 2), jnp.float16), lambda x: x.transpose(1, 0, 2).astype(jnp.float16)),
    ],
)  # fmt: skip
def test_gradients_are_the_way_back(function, by_jnp):
    def loss(f):
        return lambda x: (jnp.sin(f(x).astype(jnp.float32)) * jnp.arange(f(x).size).reshape(f(x).shape)).sum()

    batch = jnp.stack([X / 24, X / 7])
    twice = lambda f: jax.grad(lambda x: jax.grad(f)(x).sum())  # noqa: E731
    for transform, x in ((jax.grad, X / 24), (twice, X / 24), (lambda f: jax.vmap(jax.grad(f)), batch)):
        got, expected = jax.jit(transform(loss(function)))(x), transform(loss(by_jnp))(x)
        assert np.allclose(got, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "function, error, message",
    [
        (lambda x: restride.jax.permute_copy(x, (0, 1)), ValueError, "axes"),
        (lambda x: restride.jax.permute_copy(x, (0, 1, 1)), ValueError, "twice"),
        (lambda x: restride.jax.flip_copy(x, 3), ValueError, "3"),
        (lambda x: restride.jax.rearrange(x, "a b -> b a"), ValueError, "names 2 modes"),
        (lambda x: restride.jax.permute_copy(x.astype(jnp.complex64), (0, 1, 2), jnp.float32), TypeError, "real part"),
        (lambda x: restride.jax.permute_copy(x.astype(jnp.int4), (0, 1, 2)), TypeError, "less than a byte"),
    ],
)
def test_errors_come_while_tracing(function, error, message):
    with pytest.raises(error, match=message):
        jax.jit(function).lower(X)


def test_a_call_that_does_not_fit_its_arrays_is_refused():
    call = jax.ffi.ffi_call("restride_copy", jax.ShapeDtypeStruct((4,), jnp.float32))
    good = {"extents": np.array([4]), "strides": np.array([4]), "offset": np.int64(0), "into": np.int64(0)}
    assert call(jnp.ones(4), **good).tolist() == [1, 1, 1, 1]
    for name, value in (("strides", np.array([8])), ("offset", np.int64(-4)), ("extents", np.array([3]))):
        with pytest.raises(Exception, match="restride"):
            jax.block_until_ready(call(jnp.ones(4), **{**good, name: value}))


def test_the_declarations_agree_with_jaxlib_s_headers(tmp_path):
    declared = {
        "Extension": ("XLA_FFI_Extension_Base", "struct_size type next"),
        "ApiVersion": ("XLA_FFI_Api_Version", "struct_size extensions:extension_start major:major_version minor:minor_version"),
        "Metadata": ("XLA_FFI_Metadata", "struct_size api_version traits"),
        "MetadataExtension": ("XLA_FFI_Metadata_Extension", "base:extension_base metadata"),
        "ErrorCreate": ("XLA_FFI_Error_Create_Args", "struct_size message code:errc"),
        "StreamGet": ("XLA_FFI_Stream_Get_Args", "struct_size context:ctx stream"),
        "Api": ("XLA_FFI_Api", "struct_size api_version error_create:XLA_FFI_Error_Create stream_get:XLA_FFI_Stream_Get"),
        "Buffer": ("XLA_FFI_Buffer", "struct_size dtype data rank extents:dims"),
        "Values": ("XLA_FFI_Args", "struct_size size types values:args"),
        "Name": ("XLA_FFI_ByteSpan", "data:ptr size:len"),
        "Array": ("XLA_FFI_Array", "dtype size data"),
        "Scalar": ("XLA_FFI_Scalar", "dtype value"),
        "Attributes": ("XLA_FFI_Attrs", "struct_size size types names values:attrs"),
        "Call": ("XLA_FFI_CallFrame", "struct_size api context:ctx stage arguments:args results:rets attributes:attrs"),
    }
    lines = ['#include "python/src/xla_ffi.h"', '#include "xla/ffi/api/c_api.h"', "namespace x = restride::python::xla;"]
    for ours, (theirs, members) in declared.items():
        for member in members.split():
            a, _, b = member.partition(":")
            lines.append(f"static_assert(offsetof(x::{ours}, {a}) == offsetof({theirs}, {b or a}));")
            lines.append(f"static_assert(sizeof(x::{ours}::{a}) == sizeof({theirs}::{b or a}));")
    lines += [
        "static_assert(offsetof(XLA_FFI_Rets, rets) == offsetof(x::Values, values));",
        "static_assert(x::kMetadataExtension == XLA_FFI_Extension_Metadata && x::kExecute == XLA_FFI_ExecutionStage_EXECUTE);",
        "static_assert(x::kCommandBufferCompatible == XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);",
        "static_assert(x::kArray == XLA_FFI_AttrType_ARRAY && x::kScalar == XLA_FFI_AttrType_SCALAR);",
        "static_assert(x::kInvalidArgument == XLA_FFI_Error_Code_INVALID_ARGUMENT && x::kInternal == XLA_FFI_Error_Code_INTERNAL);",
        "static_assert(XLA_FFI_ArgType_BUFFER == 1 && XLA_FFI_RetType_BUFFER == 1 && XLA_FFI_API_MAJOR == 0);",
    ]
    (tmp_path / "check.cc").write_text("\n".join(lines) + "\n")
    root = pathlib.Path(__file__).resolve().parents[2]
    command = ["c++", "-std=c++20", "-fsyntax-only", "-I", str(root), "-isystem", jax.ffi.include_dir(), str(tmp_path / "check.cc")]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
