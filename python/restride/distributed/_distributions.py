"""Distributions in words: what a rank has of a tensor."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any

from restride import _core
from restride.distributed._c_abi import check, lib, librestride


class Written:
    """A side in words: 'f32 (8192,512) as (block[0],*) over (4)'."""

    def __init__(self, text: str, who: str) -> None:
        found = re.fullmatch(r"\s*([^\s(]+)\s*(\(.*)", text, re.S) if isinstance(text, str) else None
        if found is None:
            raise ValueError(
                f"{who} is {text!r}; write the element and the distribution, 'f32 (8192,512) as (block[0],*) over (4)'"
            )
        element, self.distribution = found.groups()
        one = _core.layout(f"{element} (1)")
        self.dtype, self.itemsize = one.dtype, one.itemsize
        self.number, size = ctypes.c_int32(), ctypes.c_int64()
        librestride.restride_dtype_parse(self.dtype.encode(), ctypes.byref(self.number), ctypes.byref(size))
        order = re.search(r"order\s*\(([\d,\s]*)\)\s*$", self.distribution)
        self.order = [int(axis) for axis in order.group(1).split(",") if axis.strip()] if order else None

    def dense(self, shape: tuple[int, ...]) -> _core.Layout:
        """A region's layout where nobody says otherwise."""
        strides, stride = [0] * len(shape), 1
        for axis in reversed(self.order if self.order is not None else range(len(shape))):
            strides[axis] = stride
            stride *= max(shape[axis], 1)
        return _core.layout(f"{self.dtype} ({','.join(map(str, shape))}):({','.join(map(str, strides))})")


def _distribution(text: str) -> bytes:
    """Of text with an element before it, or without."""
    return text[text.find("(") :].encode() if isinstance(text, str) else b""


def regions(distribution: str, rank: int) -> int:
    """How many regions a rank has: one with splits over a grid, one a box with boxes. Copies nothing.

    >>> restride.distributed.regions("(9,9) boxes 0[0:5,0:9] 1[5:9,0:4] 1[5:9,4:9]", 1)
    2
    """
    count = ctypes.c_int32()
    check(lib.restride_distribution_regions(_distribution(distribution), ctypes.c_int32(rank), ctypes.byref(count)))
    return count.value


def local_shape(distribution: str, rank: int, region: int = 0) -> tuple[int, ...]:
    """The shape of what a rank has. Copies nothing.

    >>> restride.distributed.local_shape("f32 (100,70) as (block[0],*) over (3)", 0)
    (34, 70)
    """
    extents, axes = (ctypes.c_int64 * 64)(), ctypes.c_int32()
    numbers = ctypes.c_int32(rank), ctypes.c_int32(region)
    check(lib.restride_distribution_shape(_distribution(distribution), *numbers, extents, 64, ctypes.byref(axes)))
    return tuple(extents[: axes.value])


def indices(distribution: str, rank: int, region: int = 0) -> tuple[list[int], ...]:
    """Which global indices a rank has on each axis, in the order that its memory has them. Copies nothing.

    NumPy's `whole[np.ix_(*indices)]` is the rank's part of a tensor that one process has.

    >>> restride.distributed.indices("(7,2) as (cyclic:2[0],*) over (2)", 1)
    ([2, 3, 6], [0, 1])
    """
    out = []
    for axis, extent in enumerate(local_shape(distribution, rank, region)):
        values = (ctypes.c_int64 * extent)()
        numbers = [ctypes.c_int32(n) for n in (rank, region, axis)]
        check(lib.restride_distribution_indices(_distribution(distribution), *numbers, values, ctypes.c_int64(extent)))
        out.append(list(values))
    return tuple(out)


def from_placements(shape: Sequence[int], mesh: Any, placements: Sequence[Any]) -> str:
    """The distribution of a DTensor, without the element: of its global shape, its mesh and its placements. Copies nothing.

    mesh: a DeviceMesh of torch, or its ranks as nested lists. placements: one a dimension of the mesh, Shard or Replicate.
    Errors: ValueError for placements of another kind (Partial is a sum that nobody has made yet), or of another number.

    >>> from torch.distributed.tensor import Replicate, Shard
    >>> restride.distributed.from_placements((100, 70), [[0, 1, 2], [3, 4, 5]], [Shard(1), Replicate()])
    '(100,70) as (*,ceil[0]) over (2,3)=(0,1,2,3,4,5)'
    """
    nested = getattr(mesh, "mesh", mesh)
    ranks = nested.tolist() if hasattr(nested, "tolist") else nested
    sizes = []
    level = ranks
    while isinstance(level, (list, tuple)):
        sizes.append(len(level))
        level = level[0]
    for _ in sizes[1:]:
        ranks = [rank for part in ranks for rank in part]
    if len(placements) != len(sizes):
        raise ValueError(f"{len(placements)} placements for a mesh of {len(sizes)} dimensions; give one a dimension")
    axes: list[list[str]] = [[] for _ in shape]
    for dimension, placement in enumerate(placements):
        kind = type(placement).__name__
        if kind == "Shard":
            axes[placement.dim].append(f"ceil[{dimension}]")
        elif kind != "Replicate":
            raise ValueError(f"placement {placement} of mesh dimension {dimension}: give Shard or Replicate")

    def listed(values: Sequence[Any]) -> str:
        return f"({','.join(map(str, values))})"

    return f"{listed(shape)} as {listed(['/'.join(axis) or '*' for axis in axes])} over {listed(sizes)}={listed(ranks)}"
