"""PyTorch's side of restride: operators with gradients, which torch.compile takes whole.

restride.copy, contiguous and the others take tensors as they are, outside of autograd. The functions here are operators of
torch (torch.ops.restride.*), known to autograd, torch.compile, vmap and fake tensors; each makes a new tensor. They cost
some 20 us a call more than those, as every operator that is written in Python does.

enable() makes torch's own copies faster, without any other change to a program; it needs the package restride-torch.

>>> x = torch.ones(2, 3, requires_grad=True)
>>> restride.torch.permute_copy(x, (1, 0)).sum().backward()
>>> x.grad.shape
torch.Size([2, 3])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import restride
import torch
from restride import _core
from restride._drop_in import MIN_BYTES, OPERATORS, Stats, disable, enable, enabled, stats
from torch import Tensor

__all__ = [
    "MIN_BYTES",
    "OPERATORS",
    "Stats",
    "contiguous",
    "disable",
    "enable",
    "enabled",
    "flip_copy",
    "permute_copy",
    "rearrange",
    "repeat",
    "stats",
]


def contiguous(x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Copies x into a new contiguous tensor, converting it on the way. Differentiable.

    dtype: the result's; None keeps x's. Stream: the current one. Errors: as restride.copy.

    >>> restride.torch.contiguous(torch.ones(2, 3).T, torch.float64).is_contiguous()
    True
    """
    return torch.ops.restride.permute_copy(x, list(range(x.dim())), dtype)


def permute_copy(x: Tensor, axes: Sequence[int], dtype: torch.dtype | None = None) -> Tensor:
    """Copies x with its axes in another order, as torch.permute_copy; the gradient is the inverse. Differentiable.

    axes: axis j of the result is axis axes[j] of x. Otherwise as contiguous.

    >>> restride.torch.permute_copy(torch.zeros(4, 6, 3), (2, 0, 1)).shape
    torch.Size([3, 4, 6])
    """
    return torch.ops.restride.permute_copy(x, list(axes), dtype)


def flip_copy(x: Tensor, axes: int | Sequence[int], dtype: torch.dtype | None = None) -> Tensor:
    """Copies x with these axes reversed; so is the gradient. Differentiable.

    axes: an axis or several, each once. Otherwise as contiguous.

    >>> restride.torch.flip_copy(torch.arange(3), 0)
    tensor([2, 1, 0])
    """
    return torch.ops.restride.flip_copy(x, [axes] if isinstance(axes, int) else list(axes), dtype)


def rearrange(x: Tensor, pattern: str, dtype: torch.dtype | None = None, **sizes: int) -> Tensor:
    """Copies x rearranged as einops says it, in one pass; the gradient goes the other way. Differentiable.

    pattern, sizes: as restride.rearrange. Otherwise as contiguous.

    >>> restride.torch.rearrange(torch.arange(6), '(h w) -> w h', w=3)
    tensor([[0, 3],
            [1, 4],
            [2, 5]])
    """
    return torch.ops.restride.rearrange(x, pattern, " ".join(sizes), list(sizes.values()), dtype)


def repeat(x: Tensor, pattern: str, dtype: torch.dtype | None = None, **sizes: int) -> Tensor:
    """Copies x rearranged and repeated as einops says it, in one pass; gradients add up. Differentiable.

    pattern, sizes: as restride.repeat. Otherwise as contiguous.

    >>> restride.torch.repeat(torch.arange(3), 'w -> (w 2)')
    tensor([0, 0, 1, 1, 2, 2])
    """
    return rearrange(x, pattern, dtype, **sizes)


# ---- the operators: kernel, fake kernel, gradient, vmap


def _result(x: Tensor, shape: Sequence[int], dtype: torch.dtype | None) -> Tensor:
    return x.new_empty(list(shape), dtype=x.dtype if dtype is None else dtype)


@torch.library.custom_op("restride::permute_copy", mutates_args=())
def _permute_copy(x: Tensor, axes: Sequence[int], dtype: Optional[torch.dtype] = None) -> Tensor:
    return restride.permute_copy(x.detach(), axes, dtype=dtype)


@_permute_copy.register_fake
def _(x: Tensor, axes: Sequence[int], dtype: Optional[torch.dtype] = None) -> Tensor:
    return _result(x, x.permute(axes).shape, dtype)


def _setup_permute(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, axes, _ = inputs
    ctx.dtype = x.dtype
    ctx.inverse = [0] * len(axes)
    for j, axis in enumerate(axes):
        ctx.inverse[axis] = j


def _permute_backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    return torch.ops.restride.permute_copy(gradient, ctx.inverse, ctx.dtype), None, None


_permute_copy.register_autograd(_permute_backward, setup_context=_setup_permute)


@_permute_copy.register_vmap
def _(info: Any, in_dims: Any, x: Tensor, axes: Sequence[int], dtype: Optional[torch.dtype] = None) -> Any:
    x = x.movedim(in_dims[0], 0)
    rank = x.dim() - 1
    return torch.ops.restride.permute_copy(x, [0, *(axis % rank + 1 for axis in axes)], dtype), 0


@torch.library.custom_op("restride::flip_copy", mutates_args=())
def _flip_copy(x: Tensor, axes: Sequence[int], dtype: Optional[torch.dtype] = None) -> Tensor:
    return restride.flip_copy(x.detach(), axes, dtype=dtype)


@_flip_copy.register_fake
def _(x: Tensor, axes: Sequence[int], dtype: Optional[torch.dtype] = None) -> Tensor:
    return _result(x, x.shape, dtype)


def _setup_flip(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.dtype, ctx.axes = inputs[0].dtype, inputs[1]


def _flip_backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    return torch.ops.restride.flip_copy(gradient, ctx.axes, ctx.dtype), None, None


_flip_copy.register_autograd(_flip_backward, setup_context=_setup_flip)


@_flip_copy.register_vmap
def _(info: Any, in_dims: Any, x: Tensor, axes: Sequence[int], dtype: Optional[torch.dtype] = None) -> Any:
    x = x.movedim(in_dims[0], 0)
    rank = x.dim() - 1
    return torch.ops.restride.flip_copy(x, [axis % rank + 1 for axis in axes], dtype), 0


def _views(shape: Sequence[int], pattern: str, names: str, sizes: Sequence[int], element: str = "u8") -> Any:
    """The view of a dense array of this shape that the pattern reads, and the shape of the result."""
    extents = ",".join(str(int(n)) for n in shape)  # a pattern is taken apart for one shape: torch.compile guards it
    return _core._rearrange(_core.layout(f"{element} ({extents})"), pattern, dict(zip(names.split(), map(int, sizes))))


@torch.library.custom_op("restride::rearrange", mutates_args=())
def _rearrange(
    x: Tensor, pattern: str, names: str, sizes: Sequence[int], dtype: Optional[torch.dtype] = None
) -> Tensor:
    view, shape = _core._rearrange(_core.layout(x.detach()), pattern, dict(zip(names.split(), sizes)))
    out = _result(x.detach(), shape, dtype)
    _core._move(out, x.detach(), None, view, cast=dtype is not None)
    return out


# What rearranges a gradient back: the result is written through the view that the pattern reads. Repeated modes, of
# stride 0 in it, add up.
@torch.library.custom_op("restride::rearrange_back", mutates_args=())
def _rearrange_back(
    y: Tensor, shape: Sequence[int], pattern: str, names: str, sizes: Sequence[int], dtype: torch.dtype
) -> Tensor:
    y = y.detach()
    out = y.new_empty(list(shape), dtype=dtype)
    if y.numel() == 0 or out.numel() == 0:
        return out.zero_()
    element = str(_core.layout(out)).split()[0]
    view = _views(shape, pattern, names, sizes, element)[0]
    repeated = [j for j, stride in enumerate(view.strides_bytes) if stride == 0 and view.shape[j] != 1]
    if repeated:
        y = y.reshape(view.shape).sum(repeated, dtype=y.dtype)
        kept = [j for j in range(view.ndim) if j not in repeated]
        extents = ",".join(str(view.shape[j]) for j in kept)
        strides = ",".join(str(view.strides_bytes[j] // view.itemsize) for j in kept)
        view = _core.layout(f"{element} ({extents}):({strides})" if kept else f"{element} ()")
    _core._move(out, y, view, None, cast=True)
    return out


@_rearrange.register_fake
def _(
    x: Tensor, pattern: str, names: str, sizes: Sequence[int], dtype: Optional[torch.dtype] = None
) -> Tensor:
    return _result(x, _views(x.shape, pattern, names, sizes)[1], dtype)


@_rearrange_back.register_fake
def _(
    y: Tensor, shape: Sequence[int], pattern: str, names: str, sizes: Sequence[int], dtype: torch.dtype
) -> Tensor:
    return y.new_empty(list(shape), dtype=dtype)


def _setup_rearrange(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, ctx.pattern, ctx.names, ctx.sizes, _ = inputs
    ctx.shape, ctx.dtype = [int(n) for n in x.shape], x.dtype


def _rearrange_backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    back = torch.ops.restride.rearrange_back(gradient, ctx.shape, ctx.pattern, ctx.names, ctx.sizes, ctx.dtype)
    return back, None, None, None, None


def _setup_back(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    y, _, ctx.pattern, ctx.names, ctx.sizes, _ = inputs
    ctx.dtype = y.dtype


def _back_backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    again = torch.ops.restride.rearrange(gradient, ctx.pattern, ctx.names, ctx.sizes, ctx.dtype)
    return again, None, None, None, None, None


_rearrange.register_autograd(_rearrange_backward, setup_context=_setup_rearrange)
_rearrange_back.register_autograd(_back_backward, setup_context=_setup_back)
