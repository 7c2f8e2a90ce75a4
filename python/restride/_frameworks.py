"""New arrays of the caller's own framework. No framework is imported that the caller has not imported."""

from __future__ import annotations

import contextlib
import math
import sys
from typing import Any

from restride import _core

Array = Any
Shape = tuple[int, ...]


def framework_of(x: Array) -> str:
    """'numpy', 'torch', 'cupy', 'jax', or '' for what else there is."""
    for name, classes in (("numpy", ("ndarray", "generic")), ("torch", ("Tensor",)), ("cupy", ("ndarray",)), ("jax", ("Array",))):
        module = sys.modules.get(name)
        if module is not None and isinstance(x, tuple(getattr(module, c) for c in classes if hasattr(module, c))):
            return name
    return ""


def dtype_of(x: Array, dtype: Any) -> Any:
    """`dtype` in the words of x's framework. Raises TypeError where it has none of that name."""
    framework = framework_of(x)
    if framework == "torch":
        torch = sys.modules["torch"]
        found = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
        if not isinstance(found, torch.dtype):
            raise TypeError(f"dtype {dtype!r} is no dtype of torch; write torch.float32 or 'float32' for instance")
        return found
    if framework in ("numpy", "cupy", "jax"):
        try:
            found = sys.modules["numpy"].dtype(dtype)
        except TypeError as error:
            name = str(dtype).removeprefix("torch.")
            remedy = f"give ml_dtypes.{name}" if name.startswith(("bfloat", "float8")) else "write np.float32 or 'float32' for instance"
            raise TypeError(f"dtype {dtype!r} is no dtype of NumPy: {error}; {remedy}") from None
        if framework == "jax" and sys.modules["jax"].dtypes.canonicalize_dtype(found) != found:
            raise TypeError(f"JAX holds no {found} unless jax_enable_x64 is on; turn it on, or give a narrower dtype")
        return found
    return dtype


def empty(x: Array, shape: Shape, dtype: Any, order: str, stream: Any) -> Array:
    """A new array of x's framework and device; dtype None is x's own."""
    if order not in ("C", "F"):
        raise ValueError(f"order {order!r}: give 'C' (the last axis fastest) or 'F' (the first)")
    framework = framework_of(x)
    if framework == "numpy":
        return sys.modules["numpy"].empty(shape, x.dtype if dtype is None else dtype, order=order)
    if framework == "torch":
        return _empty_torch(x, shape, dtype, order, stream)
    if framework == "cupy":
        cupy = sys.modules["cupy"]
        with x.device, cupy.cuda.ExternalStream(_handle(stream)) if stream is not None else contextlib.nullcontext():
            return cupy.empty(shape, x.dtype if dtype is None else dtype, order=order)
    if framework == "jax":
        raise TypeError("a JAX array is made by JAX; this is called for others only")
    return _empty_other(x, shape, dtype, order)


def _handle(stream: Any) -> int:
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    return int(stream)


def _empty_torch(x: Array, shape: Shape, dtype: Any, order: str, stream: Any) -> Array:
    torch = sys.modules["torch"]
    kind = x.dtype if dtype is None else dtype
    where: Any = contextlib.nullcontext()
    if stream is not None and x.device.type == "cuda":  # memory belongs to the stream that it is allocated on
        known = isinstance(stream, torch.cuda.Stream)
        where = torch.cuda.stream(stream if known else torch.cuda.ExternalStream(_handle(stream), x.device))
    with where:
        if order == "C":
            return torch.empty(shape, dtype=kind, device=x.device)
        return torch.empty(shape[::-1], dtype=kind, device=x.device).permute(tuple(reversed(range(len(shape)))))


_FORMATS = {
    "bool": "?", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q", "int8": "b", "int16": "h", "int32": "i",
    "int64": "q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip


def _empty_other(x: Array, shape: Shape, dtype: Any, order: str) -> Array:
    if hasattr(x, "__array_namespace__"):  # the array API standard
        made = x.__array_namespace__().empty(shape, dtype=x.dtype if dtype is None else dtype, device=x.device)
        if order != "C":
            raise ValueError("order 'F' is not in the array API standard; give out=")
        return made
    try:
        memoryview(x)
    except TypeError:
        raise TypeError(f"no way is known to make a new {type(x).__module__}.{type(x).__qualname__}; give out=") from None
    name = str(dtype) if dtype is not None else _core.layout(x).dtype
    if name not in _FORMATS or order != "C":
        raise TypeError(f"a memoryview holds no {name} in order {order!r}; give out=, or a NumPy array")
    itemsize = _core.layout(f"{_SHORT[name]} ()").itemsize
    plain = memoryview(bytearray(itemsize * math.prod(shape)))
    if 0 in shape:
        raise ValueError(f"a memoryview has no shape {shape}; give a NumPy array")
    return plain.cast(_FORMATS[name], shape) if shape else plain.cast(_FORMATS[name])[0:1].cast("B").cast(_FORMATS[name], ())


_SHORT = {
    "bool": "bool", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "float16": "f16", "float32": "f32", "float64": "f64",
}  # fmt: skip


def empty_for_jax(shape: Shape, dtype: Any) -> Array:
    """NumPy memory that JAX takes over without a copy: aligned to 64 bytes, as XLA wants it."""
    numpy = sys.modules["numpy"]
    size = math.prod(shape) * dtype.itemsize
    memory = numpy.empty(size + 64, numpy.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


def to_jax(array: Array) -> Array:
    jax = sys.modules["jax"]
    return jax.numpy.asarray(array)


def copied_by_xla(x: Array, view: _core.Layout, shape: Shape, dtype: Any, stream: Any) -> Array:
    """The view as a new JAX array: XLA calls restride on its own stream. Compiled once a layout."""
    if stream is not None:
        raise ValueError("a JAX array is made on XLA's own stream; leave stream out, or give out= of torch or CuPy")
    import restride.jax  # the caller has imported jax

    lies = _core.layout(x)
    if lies.strides_bytes != _core.layout(f"b{lies.itemsize} ({','.join(map(str, x.shape))})").strides_bytes and x.size:
        raise ValueError("the JAX array lies in memory in another order than its axes have, which XLA hides; use restride.jax")
    return restride.jax._copied(x, view, shape, dtype)
