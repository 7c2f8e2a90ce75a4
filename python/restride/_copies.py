"""Copies that make their result: contiguous, permute_copy, flip_copy, rearrange, repeat."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from restride import _core
from restride import _frameworks as frameworks

Array = Any


def contiguous(
    x: Array, dtype: Any = None, order: str = "C", out: Array | None = None, *, stream: Any = None, threads: int = 0
) -> Array:
    """Copies x into a new contiguous array, converting it on the way where dtype says so.

    x: an array of any library, with any strides, a view of a view for instance. Always copied, also where it is
        contiguous already.
    dtype: the result's, in the words of x's framework (np.float32, torch.bfloat16, 'float32'); None keeps x's.
    order: 'C', the last axis fastest, or 'F', the first.
    out: takes the result, of x's shape and of the dtype, with any strides; it may not overlap x. It is returned.
    stream, threads, errors: as restride.copy. On a GPU the result is ready on the stream.
    Cost: one read of x, one write of the result.

    >>> x = np.arange(6).reshape(2, 3)[:, ::-1]
    >>> restride.contiguous(x, np.float32)
    array([[2., 1., 0.],
           [5., 4., 3.]], dtype=float32)
    """
    view = _layout(x)
    return _copied(x, view, view.shape, dtype, order, out, stream, threads)


def permute_copy(
    x: Array, axes: Sequence[int], *, dtype: Any = None, out: Array | None = None, stream: Any = None, threads: int = 0
) -> Array:
    """Copies x with its axes in another order: axis j of the result is axis axes[j] of x.

    For arrays without such views (JAX); elsewhere restride.contiguous(x.transpose(axes)) is the same.
    axes: each axis once; negative ones count from the end.
    dtype, out, stream, threads, errors, cost: as restride.contiguous.

    >>> restride.permute_copy(np.zeros((480, 640, 3), np.uint8), (2, 0, 1)).shape
    (3, 480, 640)
    """
    view = _layout(x).permute(axes)
    return _copied(x, view, view.shape, dtype, "C", out, stream, threads)


def flip_copy(
    x: Array,
    axes: int | Sequence[int],
    *,
    dtype: Any = None,
    out: Array | None = None,
    stream: Any = None,
    threads: int = 0,
) -> Array:
    """Copies x with these axes reversed.

    For arrays without negative strides (torch, JAX); in NumPy restride.contiguous(x[::-1]) is the same.
    axes: an axis or several, each once; negative ones count from the end.
    dtype, out, stream, threads, errors, cost: as restride.contiguous.

    >>> restride.flip_copy(np.arange(3), 0)
    array([2, 1, 0])
    """
    view = _layout(x).flip(axes)
    return _copied(x, view, view.shape, dtype, "C", out, stream, threads)


def rearrange(
    x: Array,
    pattern: str,
    *,
    dtype: Any = None,
    out: Array | None = None,
    stream: Any = None,
    threads: int = 0,
    **sizes: int,
) -> Array:
    """Copies x rearranged as einops says it, split, permuted and merged in one pass.

    pattern: 'b (h s) c -> b h (s c)'; '...' stands for the axes that are not named. What the right side alone has is
        repeated, as restride.repeat does.
    sizes: extents of names that the shape of x does not give, s=4.
    x: an array, or a list of arrays of one shape, which is stacked first.
    dtype, out, stream, threads, errors, cost: as restride.contiguous.

    >>> restride.rearrange(np.arange(6), '(h w) -> w h', w=3)
    array([[0, 3],
           [1, 4],
           [2, 5]])
    """
    x = _stacked(x)
    view, shape = _core._rearrange(_layout(x), pattern, sizes)
    return _copied(x, view, shape, dtype, "C", out, stream, threads)


def repeat(
    x: Array,
    pattern: str,
    *,
    dtype: Any = None,
    out: Array | None = None,
    stream: Any = None,
    threads: int = 0,
    **sizes: int,
) -> Array:
    """Copies x rearranged and repeated as einops says it, in one pass: names that only the right side has are repeated.

    pattern: 'h w -> h (w copies)' with copies=2, or with the number itself, 'h w -> h (w 2)'.
    x, sizes, dtype, out, stream, threads, errors: as restride.rearrange.
    Cost: one read of x, one write of the result.

    >>> restride.repeat(np.arange(3), 'w -> (w 2)')
    array([0, 0, 1, 1, 2, 2])
    """
    return rearrange(x, pattern, dtype=dtype, out=out, stream=stream, threads=threads, **sizes)


def _layout(x: Array) -> _core.Layout:
    if isinstance(x, (str, _core.Layout)):
        raise TypeError(f"x is {x!r}, a layout or text, which holds no elements; give an array")
    return _core.layout(x)


def _stacked(x: Array) -> Array:
    if not isinstance(x, (list, tuple)):
        return x
    if not x:
        raise ValueError("an empty list has no shape; give one array or more")
    framework = frameworks.framework_of(x[0])
    if framework in ("numpy", "torch", "cupy"):
        return sys.modules[framework].stack(list(x))
    if framework == "jax":
        return sys.modules["jax"].numpy.stack(list(x))
    raise TypeError(f"a list of {type(x[0]).__qualname__}: stack them first")


def _copied(
    x: Array,
    view: _core.Layout,
    shape: tuple[int, ...],
    dtype: Any,
    order: str,
    out: Array | None,
    stream: Any,
    threads: int,
) -> Array:
    kind = None if dtype is None else frameworks.dtype_of(x, dtype)
    for_jax = out is None and frameworks.framework_of(x) == "jax"
    if for_jax:
        if order != "C":
            raise ValueError("a JAX array is of order 'C'")
        if next(iter(x.devices())).platform != "cpu":
            return frameworks.copied_by_xla(x, view, shape, kind, stream)
        out = frameworks.empty_for_jax(shape, x.dtype if kind is None else kind)
    elif out is None:
        out = frameworks.empty(x, shape, kind, order, stream)
    else:
        into = _core.layout(out)
        if into.shape != tuple(shape):
            raise ValueError(f"out has shape {into.shape}, the result {tuple(shape)}; give an array of that shape")
        if kind is not None and str(kind).removeprefix("torch.") != into.dtype and getattr(out, "dtype", None) != kind:
            raise TypeError(f"out is {into.dtype} and dtype says {kind}; make them agree")
        known = not any(d[1:].isdigit() for d in (into.dtype, view.dtype))  # the others, b8 for instance, convert to nothing
        if kind is None and known and into.dtype != view.dtype:
            raise TypeError(
                f"out is {into.dtype} and x {view.dtype}: give dtype={into.dtype!r} to convert in the same pass, "
                f"or an out of {view.dtype}"
            )
    _core._move(out, x, None, view, cast=kind is not None, stream=stream, threads=threads)
    return frameworks.to_jax(out) if for_jax else out
