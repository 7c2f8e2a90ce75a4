"""JAX's side of restride: copies as calls of XLA, which jax.jit compiles into the program around them.

restride.permute_copy and the others take JAX arrays as they are, outside of jit. The functions here are traced: they work
under jit, vmap and grad, on CPUs and on NVIDIA GPUs, where the copy is ordered on XLA's own stream. Each makes a new
array. What XLA cannot fuse with its neighbours it copies itself; these are for layouts that it is slow at.

>>> x = jnp.arange(24.0).reshape(2, 3, 4)
>>> jax.jit(lambda x: restride.jax.permute_copy(x, (2, 0, 1)))(x).shape
(4, 2, 3)
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from restride import _core

__all__ = ["flip_copy", "permute_copy", "rearrange", "repeat"]

_TARGET = "restride_copy"
for _platform, _handler in _core._jax_targets().items():
    jax.ffi.register_ffi_target(_TARGET, _handler, platform=_platform)


def permute_copy(x: jax.Array, axes: Sequence[int], dtype: Any = None) -> jax.Array:
    """Copies x with its axes in another order, as jnp.transpose; the gradient is the inverse. Under jit, vmap, grad.

    x: an array or a traced one, dense as XLA's are. axes: axis j of the result is axis axes[j] of x.
    dtype: the result's; None keeps x's. docs/casts.md says how values convert.
    Errors: ValueError (axes), TypeError (dtypes), both while tracing.

    >>> restride.jax.permute_copy(jnp.zeros((4, 6, 3), jnp.uint8), (2, 0, 1), jnp.float32).shape
    (3, 4, 6)
    """
    view = _layout(x).permute([int(axis) for axis in axes])
    return _copied(x, view, view.shape, dtype)


def flip_copy(x: jax.Array, axes: int | Sequence[int], dtype: Any = None) -> jax.Array:
    """Copies x with these axes reversed; so is the gradient. Under jit, vmap, grad.

    axes: an axis or several, each once. Otherwise as permute_copy.

    >>> restride.jax.flip_copy(jnp.arange(3), 0).tolist()
    [2, 1, 0]
    """
    view = _layout(x).flip(axes)
    return _copied(x, view, view.shape, dtype)


def rearrange(x: jax.Array, pattern: str, dtype: Any = None, **sizes: int) -> jax.Array:
    """Copies x rearranged as einops says it, in one pass; the gradient goes the other way. Under jit, vmap, grad.

    pattern, sizes: as restride.rearrange. Otherwise as permute_copy.

    >>> restride.jax.rearrange(jnp.arange(6), '(h w) -> w h', w=3).tolist()
    [[0, 3], [1, 4], [2, 5]]
    """
    view, shape = _core._rearrange(_layout(x), pattern, sizes)
    return _copied(x, view, shape, dtype)


def repeat(x: jax.Array, pattern: str, dtype: Any = None, **sizes: int) -> jax.Array:
    """Copies x rearranged and repeated as einops says it, in one pass; gradients add up. Under jit, vmap, grad.

    pattern, sizes: as restride.repeat. Otherwise as permute_copy.

    >>> restride.jax.repeat(jnp.arange(3), 'w -> (w 2)').tolist()
    [0, 0, 1, 1, 2, 2]
    """
    return rearrange(x, pattern, dtype, **sizes)


# ---- the call: a view of one side, and the other side dense


class _View(NamedTuple):
    """A view of an array of `whole` (shape, dtype), and what holds its elements in C order."""

    extents: tuple[int, ...]
    strides: tuple[int, ...]  # bytes of the whole's elements
    offset: int
    whole: tuple[tuple[int, ...], np.dtype[Any]]
    dense: tuple[tuple[int, ...], np.dtype[Any]]


_LESS_THAN_A_BYTE = ("int2", "uint2", "int4", "uint4", "float4_e2m1fn")


def _dtype(dtype: Any) -> np.dtype[Any]:
    found = jax.dtypes.canonicalize_dtype(dtype)
    if found.name in _LESS_THAN_A_BYTE:
        raise TypeError(f"restride moves no {found.name}, of less than a byte; convert it before")
    return found


def _layout(x: jax.Array) -> _core.Layout:
    extents = ",".join(str(n) for n in jnp.shape(x))
    return _core.layout(f"b{_dtype(x.dtype).itemsize} ({extents})")


def _copied(x: jax.Array, view: _core.Layout, shape: Sequence[int], dtype: Any) -> jax.Array:
    of = _dtype(x.dtype)
    to = of if dtype is None else _dtype(dtype)
    if of != to and of.kind == "c" and to.kind != "c":
        raise TypeError(f"{of} does not become {to}; take the real part before")
    return _read(x, _View(view.shape, view.strides_bytes, view.offset_bytes, (tuple(x.shape), of), (tuple(shape), to)))


def _call(x: jax.Array, v: _View, result: tuple[tuple[int, ...], np.dtype[Any]], into: bool) -> jax.Array:
    # A batch of arrays is one call: its axes are in front of both sides.
    call = jax.ffi.ffi_call(_TARGET, jax.ShapeDtypeStruct(*result), vmap_method="broadcast_all")
    return call(
        x,
        extents=np.array(v.extents, np.int64),
        strides=np.array(v.strides, np.int64),
        offset=np.int64(v.offset),
        into=np.int64(into),
    )


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _read(x: jax.Array, v: _View) -> jax.Array:
    return _call(x, v, v.dense, into=False)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _written(y: jax.Array, v: _View) -> jax.Array:
    """What _read takes its elements from: every element of the whole is one of the view's, or several that add up."""
    repeated = [j for j, (n, stride) in enumerate(zip(v.extents, v.strides)) if stride == 0 and n != 1]
    if not repeated or y.size == 0:
        return _call(y, v, v.whole, into=True) if y.size else jnp.zeros(*v.whole)
    once = [j for j in range(len(v.extents)) if j not in repeated]
    summed = y.reshape(v.extents).sum(repeated, dtype=y.dtype)
    extents, strides = tuple(v.extents[j] for j in once), tuple(v.strides[j] for j in once)
    return _call(summed, v._replace(extents=extents, strides=strides), v.whole, into=True)


def _nothing_is_kept(x: jax.Array, v: _View) -> tuple[jax.Array, None]:
    return _read(x, v), None


def _nothing_is_kept_written(y: jax.Array, v: _View) -> tuple[jax.Array, None]:
    return _written(y, v), None


def _gradient_of_read(v: _View, _: None, gradient: jax.Array) -> tuple[jax.Array | None]:
    return (_written(gradient, v) if jnp.issubdtype(v.whole[1], jnp.inexact) else None,)


def _gradient_of_written(v: _View, _: None, gradient: jax.Array) -> tuple[jax.Array]:
    return (_read(gradient, v),)


_read.defvjp(_nothing_is_kept, _gradient_of_read)
_written.defvjp(_nothing_is_kept_written, _gradient_of_written)
