"""Exchanges: planned once by all ranks together, run as often as they like."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

from restride import _core
from restride.distributed._c_abi import METHODS, Options, Side, Tensor, check, lib, librestride, milliseconds, text_of
from restride.distributed._comm import Comm
from restride.distributed._distributions import Written, from_placements, local_shape, regions

Array = Any


def _places(layout: _core.Layout) -> tuple[tuple[int, int], ...]:
    """What says where elements lie: strides of axes without a second element do not."""
    if layout.size == 0:
        return tuple((extent, 0) for extent in layout.shape)
    return tuple((n, s if n > 1 else 0) for n, s in zip(layout.shape, layout.strides_bytes, strict=True))


class _Local:
    """What this rank has of one side of one tensor, and the C structures that say so."""

    def __init__(self, text: str, like: Any, rank: int, who: str) -> None:
        self.who = who
        self.written = w = Written(text, who)
        shapes = [local_shape(text, rank, region) for region in range(regions(text, rank))]
        given = [] if like is None else list(like) if isinstance(like, (list, tuple)) else [like]
        self.layouts = [x if isinstance(x, _core.Layout) else _core.layout(x) for x in given] or [w.dense(s) for s in shapes]
        self.elements = sum(math.prod(shape) for shape in shapes)
        self.dense = not given
        self.kept: list[Any] = []
        tensors = (Tensor * len(self.layouts))()
        for tensor, layout in zip(tensors, self.layouts, strict=True):
            number, size = ctypes.c_int32(), ctypes.c_int64()
            librestride.restride_dtype_parse(layout.dtype.encode(), ctypes.byref(number), ctypes.byref(size))
            extents, strides = ((ctypes.c_int64 * layout.ndim)(*values) for values in (layout.shape, layout.strides_bytes))
            self.kept += [extents, strides]
            own_size = layout.itemsize if number.value == 17 else 0
            tensor.__init__(ctypes.sizeof(Tensor), None, number, layout.ndim, extents, strides, own_size, layout.offset_bytes, 0)
        distribution = w.distribution.encode()
        size = w.itemsize if w.number.value == 17 else 0
        count = 0 if self.dense else len(tensors)
        self.side = Side(ctypes.sizeof(Side), distribution, w.number, count, size, tensors)

    def address(self, x: Array, writable: bool, on_gpu: bool, stream: Any) -> tuple[int | None, int]:
        """Where an array lies, and the stream for it. Errors: TypeError, ValueError where it is not what was planned."""
        if x is None or self.elements == 0:
            return None, 0  # the library says where that is wrong
        address, layout, is_on_gpu, handle = _core._memory(x, writable, stream)
        if is_on_gpu != on_gpu:
            raise RuntimeError(
                f"{self.who} is on {'a GPU' if is_on_gpu else 'the CPU'}, and these ranks exchange memory of "
                f"{'GPUs' if on_gpu else 'the CPU'}: bring it over first (torch: x.{'cuda' if on_gpu else 'cpu'}())"
            )
        if layout.dtype != self.written.dtype:
            raise TypeError(f"{self.who} is {layout.dtype}, the plan is for {self.written.dtype}; make a plan for it")
        if len(self.layouts) == 1:
            if _places(layout) != _places(self.layouts[0]):
                raise ValueError(
                    f"{self.who} is {layout}, the plan is for {self.layouts[0]}; give {self.who}_like= to plan()"
                )
            return address + layout.offset_bytes - self.layouts[0].offset_bytes, handle
        if layout.shape != (self.elements,) or layout.strides_bytes != (layout.itemsize,):
            raise ValueError(
                f"{self.who} is {layout}; this rank has {len(self.layouts)} regions: give {self.elements} elements in one row"
            )
        return address + layout.offset_bytes, handle


class Plan:
    """One rank's part of an exchange, made by `plan`. One run at a time, in the same order on all ranks."""

    def __init__(self, handle: int, comm: Comm, src: list[_Local], dst: list[_Local], several: bool) -> None:
        self._handle, self._comm = ctypes.c_void_p(handle), comm
        self._src, self._dst, self._several = src, dst, several
        self._on_its_way: Any = None
        comm._made.add(self)

    def run(self, dst: Array, src: Array, *, stream: Any = None) -> None:
        """Runs the exchange; returns when this rank has all that it is to get, and src may be changed. Collective.

        dst, src: arrays with the shapes, strides and dtypes that were planned, or lists of them; None where this rank
        has nothing. dst may not overlap src. They lie on the CPU, or with a process group of NCCL on its GPU.
        stream: on a GPU the exchange is ordered on the current stream of dst's framework and not waited for; as
        restride.copy.
        Errors: ValueError, TypeError (this rank cannot run; AgreementError on the others), AgreementError,
        DeadlineError that names the ranks that did not come.
        """
        self.start(dst, src, stream=stream)
        self.wait()

    def start(self, dst: Array, src: Array, *, stream: Any = None) -> None:
        """The first part of `run`: until `wait` returns src stays as it is, and dst is unknown."""
        failed = None
        n = len(self._src)
        addresses: list[list[int | None]] = [[None] * n, [None] * n]
        on_gpus, handle = self._comm._on_gpus, 0
        try:
            for side, arrays, out, writable in ((self._dst, dst, addresses[0], True), (self._src, src, addresses[1], False)):
                given = list(arrays) if self._several else [arrays]
                if len(given) != n:
                    raise ValueError(f"{len(given)} arrays for a plan of {n} tensors; give one a tensor")
                for i, (local, x) in enumerate(zip(side, given, strict=True)):
                    out[i], of_array = local.address(x, writable, on_gpus, stream)
                    handle = handle or of_array
        except Exception as error:
            # Null pointers tell the other ranks that this one cannot run.
            failed, addresses = error, [[None] * n, [None] * n]
        pointers = [(ctypes.c_void_p * n)(*values) for values in addresses]
        status = lib.restride_exchange_start_on(self._handle, *pointers, ctypes.c_void_p(handle))
        if failed is not None:
            if status == 0:
                self._comm.abort(f"rank {self._comm.rank} cannot run: {failed}")
            raise failed
        check(status)
        self._on_its_way = dst, src

    def wait(self) -> None:
        """The second part of `run`."""
        try:
            check(lib.restride_exchange_wait(self._handle))
        finally:
            self._on_its_way = None

    def status(self) -> str:
        """'running' while a GPU's stream is in a run, or in a replay of a captured one, else 'idle'. Does not wait.

        Errors: DeadlineError once a run was broken off.
        """
        running = ctypes.c_int32()
        check(lib.restride_exchange_status(self._handle, ctypes.byref(running)))
        return "running" if running.value else "idle"

    def explain(self) -> str:
        """What moves between which ranks, and what this rank does for it."""
        return text_of(lib.restride_exchange_explain, self._handle)

    def _end(self) -> None:
        handle, self._handle = self._handle, ctypes.c_void_p()
        lib.restride_exchange_destroy(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._end()


def plan(
    src: str | Sequence[str],
    dst: str | Sequence[str],
    comm: Comm,
    *,
    src_like: Any = None,
    dst_like: Any = None,
    method: str | None = None,
    deadline: float = 600.0,
    check_runs: bool = True,
    check_pairs: bool = False,
    most_workspace_bytes: int = 0,
    threads: int = 1,
) -> Plan:
    """Plans an exchange; copies nothing yet. Collective: every rank of comm calls it, with the same src, dst and options.

    src, dst: 'f32 (8192,512) as (block[0],*) over (4)', or lists of them: several tensors in one exchange.
    src_like, dst_like: this rank's arrays, or their layouts, where they are not dense; several regions: a list of
    layouts, all from one pointer; several tensors: a list of any of these.
    method: 'direct' (where ranks are threads, and on GPUs), 'messages', and with MPI 'alltoallv' or 'alltoallw'; None: what the engine
    prefers. check_runs, check_pairs: what ranks compare before each run, and before plan returns. most_workspace_bytes: a
    bound of the workspace of 'messages', which are cut for it; 0: none. deadline: seconds that any wait for other ranks
    may take.
    Dtypes: when they differ, docs/casts.md; the smaller one is sent.
    Errors: ValueError, TypeError; then AgreementError on the other ranks, and where ranks plan different things;
    DeadlineError that names the ranks that did not come.
    Cost: microseconds a pair of ranks, and one or two rounds of 64 bytes.

    >>> (comm,) = restride.distributed.threads(1)
    >>> a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.empty((3, 2), np.float64)
    >>> whole = "(2,3) as (*,*) over (1)"
    >>> restride.distributed.plan("f32 " + whole, "f64 " + whole, comm, dst_like=b.T).run(b.T, a)
    >>> b.tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """
    if not isinstance(comm, Comm):
        raise TypeError(
            f"comm is a {type(comm).__name__}; make one by restride.distributed.mpi or .threads or .process_group"
        )
    if method not in METHODS:
        raise ValueError(f"method {method!r}; give None, {', '.join(m for m in METHODS if m)}")
    several = not isinstance(src, str)
    sides: list[list[_Local]] = []
    for who, texts, like in (("src", src, src_like), ("dst", dst, dst_like)):
        written = [texts] if isinstance(texts, str) else list(texts)
        likes = [None] * len(written) if like is None else list(like) if several else [like]
        sides.append([_Local(text, x, comm.rank, who) for text, x in zip(written, likes, strict=True)])
    if len(sides[0]) != len(sides[1]):
        raise ValueError(f"{len(sides[0])} sources and {len(sides[1])} targets; give one of each a tensor")
    n = len(sides[0])
    arrays = [(Side * n)(*(local.side for local in side)) for side in sides]
    options = Options(
        ctypes.sizeof(Options), milliseconds(deadline), METHODS[method], int(check_runs), int(threads), int(check_pairs),
        int(most_workspace_bytes), 0, -1,
    )
    made = ctypes.c_void_p()
    check(lib.restride_exchange_create(
        ctypes.byref(made), arrays[1], arrays[0], ctypes.c_int32(n), comm._handle, ctypes.byref(options)
    ))  # fmt: skip
    return Plan(made.value or 0, comm, sides[0], sides[1], several)


def redistribute(x: Any, placements: Sequence[Any], comm: Comm, *, dtype: Any = None, deadline: float = 600.0) -> Any:
    """A DTensor with other placements on its mesh: each element goes straight from a rank that has it to the ranks that
    are to have it. Collective over comm, `process_group()` of all ranks.

    placements: one a dimension of the mesh, Shard or Replicate. dtype: of the result, else x's; docs/casts.md.
    Copies always; no gradient is recorded. stream: on GPUs as Plan.run. The plan is kept with comm.
    Errors: as from_placements, plan, Plan.run.
    Example: examples/python/torchrun_dtensor.py
    """
    import torch
    from torch.distributed.tensor import DTensor

    if not isinstance(x, DTensor):
        raise TypeError(f"x is a {type(x).__name__}; give a DTensor")
    local, mesh = x.to_local().detach().contiguous(), x.device_mesh
    out_dtype = local.dtype if dtype is None else dtype
    elements = [_core.layout(torch.empty(1, dtype=kind)).dtype for kind in (local.dtype, out_dtype)]
    src = f"{elements[0]} {from_placements(tuple(x.shape), mesh, x.placements)}"
    dst = f"{elements[1]} {from_placements(tuple(x.shape), mesh, placements)}"
    out = local.new_empty(local_shape(dst, comm.rank) if regions(dst, comm.rank) else (0,), dtype=out_dtype)
    key = src, dst, deadline
    if key not in comm._plans:
        if len(comm._plans) == 64:  # on all ranks alike: their keys and their order are the same
            comm._plans.pop(next(iter(comm._plans)))
        comm._plans[key] = plan(src, dst, comm, deadline=deadline)
    comm._plans[key].run(out, local)
    return DTensor.from_local(out, mesh, placements, run_check=False, shape=x.shape, stride=x.stride())


def explain(src: str, dst: str, rank: int | None = None) -> str:
    """What must move between any number of ranks, without any: the command's `restride explain`. Copies nothing.

    >>> rows, columns = "f32 (64,64) as (block[0],*) over (4)", "f32 (64,64) as (*,block[0]) over (4)"
    >>> print(restride.distributed.explain(rows, columns).splitlines()[4])
    messages   12 of 1024 bytes, at most 3 of a rank
    """
    if rank is not None and rank < 0:
        raise ValueError(f"rank {rank}: give one from 0, or None for the figures alone")
    sides = []
    for text, who in ((dst, "dst"), (src, "src")):
        w = Written(text, who)
        size = w.itemsize if w.number.value == 17 else 0
        sides.append(Side(ctypes.sizeof(Side), w.distribution.encode(), w.number, 0, size, None))
    return text_of(lib.restride_distribution_explain, *map(ctypes.byref, sides), ctypes.c_int32(-1 if rank is None else rank))
