"""Tensors that lie over ranks in one distribution and must lie in another: of mpi4py, torch.distributed, or threads.

A side of an exchange is written as the command and errors write it, element and distribution; docs/distributed.md says
how distributions are written. Every rank plans once, together, and runs as often as it likes.

>>> rows, columns = "i32 (4,6) as (block[0],*) over (2)", "i32 (4,6) as (*,block[0]) over (2)"
>>> def rank(comm):  # with MPI: comm = restride.distributed.mpi(MPI.COMM_WORLD)
...     mine, got = np.full((2, 6), comm.rank, np.int32), np.empty((4, 3), np.int32)
...     restride.distributed.plan(rows, columns, comm).run(got, mine)
...     return got[:, 0].tolist()
>>> with ThreadPoolExecutor(2) as pool:
...     list(pool.map(rank, restride.distributed.threads(2)))
[[0, 0, 1, 1], [0, 0, 1, 1]]
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import math
import operator
import pathlib
import re
import time
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from restride import _core
from restride._info import get_library

__all__ = [
    "AgreementError",
    "Comm",
    "DeadlineError",
    "Plan",
    "explain",
    "from_placements",
    "indices",
    "local_shape",
    "mpi",
    "plan",
    "process_group",
    "redistribute",
    "regions",
    "threads",
]

Array = Any


class AgreementError(RuntimeError):
    """Ranks called with different arguments, or one of them could not take part; the message names them."""


class DeadlineError(TimeoutError):
    """A rank did not come before the deadline; the message names it. The communicator says whether it is usable."""


# ---- The C ABI, restride/distributed.h


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
        ("extents", ctypes.POINTER(ctypes.c_int64)), ("strides_bytes", ctypes.POINTER(ctypes.c_int64)),
        ("element_bytes", ctypes.c_int64), ("offset_bytes", ctypes.c_int64), ("align_bytes", ctypes.c_int64),
    ]  # fmt: skip


class _Side(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("distribution", ctypes.c_char_p), ("dtype", ctypes.c_int32),
        ("regions", ctypes.c_int32), ("element_bytes", ctypes.c_int64), ("local", ctypes.POINTER(_Tensor)),
    ]  # fmt: skip


class _Options(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("deadline_ms", ctypes.c_int64), ("method", ctypes.c_int32),
        ("check_runs", ctypes.c_int32), ("threads", ctypes.c_int32), ("check_pairs", ctypes.c_int32),
        ("most_workspace_bytes", ctypes.c_int64), ("device", ctypes.c_int32), ("cuda_device", ctypes.c_int32),
    ]  # fmt: skip


class _Message(ctypes.Structure):
    _fields_ = [("peer", ctypes.c_int64), ("data", ctypes.c_void_p), ("bytes", ctypes.c_int64)]


_WHY = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_size_t]  # what for, milliseconds; the error's words
_Allgather = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, *_WHY)
_Exchange = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(_Message), ctypes.c_int32, ctypes.POINTER(_Message), ctypes.c_int32,
    *_WHY,
)  # fmt: skip
_Abort = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class _Functions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("user", ctypes.c_void_p), ("rank", ctypes.c_int32), ("size", ctypes.c_int32),
        ("engine", ctypes.c_char_p), ("allgather", _Allgather), ("exchange", _Exchange), ("abort", _Abort),
    ]  # fmt: skip


_restride = ctypes.CDLL(get_library())
_lib = ctypes.CDLL(str(next(pathlib.Path(__file__).parent.glob("librestride_distributed.so.*"))))
_lib.restride_distributed_last_error.restype = ctypes.c_char_p
_lib.restride_comm_destroy.restype = _lib.restride_exchange_destroy.restype = None

_ERRORS: dict[int, type[Exception]] = {
    4: TypeError, 7: RuntimeError, 8: MemoryError, 9: OSError, 10: RuntimeError, 11: RuntimeError, 12: AgreementError,
    13: DeadlineError,
}  # fmt: skip
_METHODS = {None: 0, "direct": 1, "messages": 2, "alltoallv": 3, "alltoallw": 4}


def _check(status: int) -> None:
    if status != 0:
        raise _ERRORS.get(status, ValueError)(_lib.restride_distributed_last_error().decode())


def _text(function: Any, *arguments: Any) -> str:
    length = ctypes.c_size_t()
    _check(function(*arguments, None, ctypes.c_size_t(0), ctypes.byref(length)))
    buffer = ctypes.create_string_buffer(length.value + 1)
    _check(function(*arguments, buffer, ctypes.c_size_t(len(buffer)), None))
    return buffer.value.decode()


def _milliseconds(deadline: float) -> ctypes.c_int64:
    return ctypes.c_int64(math.ceil(min(deadline * 1000, 2**53)) if deadline > 0 else 0)


# ---- Distributions


class _Written:
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
        _restride.restride_dtype_parse(self.dtype.encode(), ctypes.byref(self.number), ctypes.byref(size))
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
    _check(_lib.restride_distribution_regions(_distribution(distribution), ctypes.c_int32(rank), ctypes.byref(count)))
    return count.value


def local_shape(distribution: str, rank: int, region: int = 0) -> tuple[int, ...]:
    """The shape of what a rank has. Copies nothing.

    >>> restride.distributed.local_shape("f32 (100,70) as (block[0],*) over (3)", 0)
    (34, 70)
    """
    extents, axes = (ctypes.c_int64 * 64)(), ctypes.c_int32()
    numbers = ctypes.c_int32(rank), ctypes.c_int32(region)
    _check(_lib.restride_distribution_shape(_distribution(distribution), *numbers, extents, 64, ctypes.byref(axes)))
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
        _check(_lib.restride_distribution_indices(_distribution(distribution), *numbers, values, ctypes.c_int64(extent)))
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


# ---- Ranks


class Comm:
    """The ranks of an exchange, as one of them sees them: made by `threads`, `mpi` or `process_group`. Used by one thread
    at a time."""

    def __init__(self, handle: int, frees_itself: bool, on_gpus: bool = False, kept: Any = None) -> None:
        self._handle = ctypes.c_void_p(handle)
        self._frees_itself = frees_itself
        self._on_gpus = on_gpus
        self._kept = kept  # what the handle needs
        self._plans: dict[Any, Plan] = {}  # of `redistribute`
        self._made: weakref.WeakSet[Plan] = weakref.WeakSet()  # all that may still live

    @property
    def rank(self) -> int:
        """This rank, from 0."""
        return int(_lib.restride_comm_rank(self._handle))

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return int(_lib.restride_comm_size(self._handle))

    def abort(self, reason: str) -> None:
        """Makes every call of every rank fail from now on with a DeadlineError that says the reason."""
        _check(_lib.restride_comm_abort(self._handle, reason.encode()))

    def close(self) -> None:
        """Ends it and its plans. With MPI all ranks call it, before MPI_Finalize, or none does."""
        self._plans.clear()
        for made in list(self._made):
            made._end()
        handle, self._handle = self._handle, ctypes.c_void_p()
        _lib.restride_comm_destroy(handle)

    def __enter__(self) -> Comm:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:  # after an error ranks may be anywhere
            self.close()

    def __del__(self) -> None:
        if getattr(self, "_frees_itself", False) and self._handle:
            self.close()


def threads(ranks: int) -> list[Comm]:
    """Ranks that are threads of this process: the communicator of rank r is the r-th. Copies nothing.

    Errors: ValueError for fewer than 1 or more than 4096. For tests, and for programs that share work by threads.

    >>> [comm.rank for comm in restride.distributed.threads(3)]
    [0, 1, 2]
    """
    ranks = operator.index(ranks)
    handles = (ctypes.c_void_p * max(ranks, 1))()
    _check(_lib.restride_comm_create_threads(handles, ctypes.c_int32(ranks)))
    return [Comm(handle, True) for handle in handles]


def mpi(comm: Any, *, deadline: float = 600.0) -> Comm:
    """The ranks of an mpi4py communicator, which is duplicated; collective over it. Copies nothing.

    deadline: seconds that all ranks have to come here.
    Errors: TypeError (no communicator of mpi4py), RuntimeError (no module for the MPI of the process), DeadlineError.
    """
    import mpi4py.MPI as MPI

    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm is a {type(comm).__name__}; give a communicator of mpi4py, MPI.COMM_WORLD for instance")
    if comm == MPI.COMM_NULL or comm.Get_size() < 1:
        raise ValueError("comm is MPI.COMM_NULL; only ranks of the communicator call this")
    made = ctypes.c_void_p()
    _check(_lib.restride_comm_create_mpi(ctypes.byref(made), ctypes.c_void_p(MPI._addressof(comm)), _milliseconds(deadline)))
    return Comm(made.value or 0, False)


class _Group:
    """Ranks of torch.distributed in memory of the CPU. They meet in its store, which tells who has not come."""

    made: dict[str, int] = {}  # how often for a group: the same on all ranks

    def __init__(self, group: Any) -> None:
        import torch.distributed as td

        self.group, self.rank, self.size = group, td.get_rank(group), td.get_world_size(group)
        self.ranks = td.get_process_group_ranks(group)
        number = _Group.made[group.group_name] = _Group.made.get(group.group_name, 0) + 1
        whole = td.distributed_c10d._get_default_store()
        self.store = td.PrefixStore(f"restride/{group.group_name}/{number}", whole)
        self.turn = 0
        engine = f"torch ({td.get_backend(group)})".encode()
        self.functions = _Functions(
            ctypes.sizeof(_Functions), None, self.rank, self.size, engine, _Allgather(self.allgather),
            _Exchange(self.exchange), _Abort(self.abort),
        )  # fmt: skip

    def call(self, body: Any, why: int, capacity: int) -> int:
        """A status; the words of an error go to memory of the caller."""
        try:
            body()
            return 0
        except Exception as error:
            words = str(error).encode()[: capacity - 1] + b"\0"
            ctypes.memmove(why, words, len(words))
            return 12 if isinstance(error, AgreementError) else 13

    def allgather(self, _: int, mine: int, out: int, n: int, what: bytes, ms: int, why: int, capacity: int) -> int:
        def body() -> None:
            turn, self.turn = self.turn, self.turn + 1
            keys = [f"{turn}/{rank}" for rank in range(self.size)]
            self.store.set(keys[self.rank], ctypes.string_at(mine, n) if n else b"")
            end, pause = time.monotonic() + ms / 1000, 0.0001
            while not self.store.check(keys):
                if self.store.check(["aborted"]):
                    raise DeadlineError(self.store.get("aborted").decode())
                if time.monotonic() > end:
                    missing = [str(rank) for rank, key in enumerate(keys) if not self.store.check([key])]
                    words = (
                        f"rank{'s' if len(missing) > 1 else ''} {', '.join(missing)} did not come to {what.decode()} "
                        "before the deadline; all ranks call it, or deadline= must be longer"
                    )
                    self.store.set("aborted", words)  # for those that come yet
                    raise DeadlineError(words)
                time.sleep(pause)
                pause = min(2 * pause, 0.01)
            for rank, key in enumerate(keys):
                theirs = self.store.get(key)
                if len(theirs) != n:
                    raise AgreementError(
                        f"rank {rank} came to {what.decode()} with {len(theirs)} bytes where rank {self.rank} has {n}: "
                        "ranks call different things"
                    )
                ctypes.memmove(out + rank * n, theirs, n)
            if turn > 0:  # all ranks have read it, or would not be here
                self.store.delete_key(f"{turn - 1}/{self.rank}")

        return self.call(body, why, capacity)

    def exchange(
        self, _: int, sends: Any, n: int, receives: Any, m: int, what: bytes, ms: int, why: int, capacity: int
    ) -> int:
        def body() -> None:
            import torch
            import torch.distributed as td

            def memory(message: _Message) -> Any:
                return torch.frombuffer((ctypes.c_char * message.bytes).from_address(message.data), dtype=torch.uint8)

            end = time.monotonic() + ms / 1000
            works = [
                (receives[i].peer, td.irecv(memory(receives[i]), self.ranks[receives[i].peer], self.group)) for i in range(m)
            ]
            works += [(sends[i].peer, td.isend(memory(sends[i]), self.ranks[sends[i].peer], self.group)) for i in range(n)]
            for peer, work in works:
                left = datetime.timedelta(seconds=max(0.001, end - time.monotonic()))
                try:
                    work.wait(left)
                except RuntimeError as error:
                    raise DeadlineError(f"rank {peer} and rank {self.rank} did not meet in {what.decode()}: {error}") from None

        return self.call(body, why, capacity)

    def abort(self, _: int, reason: bytes) -> None:
        with contextlib.suppress(RuntimeError):
            self.store.set("aborted", reason)


def process_group(group: Any = None, *, device: str | None = None, deadline: float = 600.0) -> Comm:
    """The ranks of a process group of torch.distributed, the default one if none is given; collective over it. Copies
    nothing.

    device: 'cuda': tensors lie on GPUs, and go by the group's NCCL communicator, which is split (docs/distributed.md), or
    by kernels that store into the other ranks' memory. 'cpu': tensors lie on the CPU, and go by the group's sends, Gloo's
    for instance. None: 'cuda' where the group's backend is NCCL alone.
    deadline: seconds that all ranks have to come here.
    Errors: RuntimeError (no process group, a group without NCCL, no module for it), ValueError, DeadlineError.
    """
    import torch
    import torch.distributed as td

    if not td.is_initialized():
        raise RuntimeError("torch.distributed has no process group; call torch.distributed.init_process_group first")
    if device not in (None, "cpu", "cuda"):
        raise ValueError(f"device {device!r}; give 'cpu', 'cuda' or None")
    group = td.group.WORLD if group is None else group
    if td.get_rank(group) < 0:
        raise ValueError("this rank is not in the group; only its ranks call this")
    made = ctypes.c_void_p()
    if device == "cpu" or (device is None and td.get_backend(group) != "nccl"):
        mine = _Group(group)
        _check(_lib.restride_comm_create(ctypes.byref(made), ctypes.byref(mine.functions)))
        return Comm(made.value or 0, True, kept=mine)
    backend = group._get_backend(torch.device("cuda"))
    if not hasattr(backend, "_comm_ptr"):
        raise RuntimeError(f"{type(backend).__name__} of PyTorch {torch.__version__} does not tell its NCCL communicator")
    td.all_reduce(torch.zeros(1, device="cuda"), group=group)  # makes the communicator
    _check(_lib.restride_comm_create_nccl(
        ctypes.byref(made), ctypes.c_void_p(backend._comm_ptr()), _milliseconds(deadline)
    ))  # fmt: skip
    return Comm(made.value or 0, True, on_gpus=True, kept=group)


# ---- Exchanges


def _places(layout: _core.Layout) -> tuple[tuple[int, int], ...]:
    """What says where elements lie: strides of axes without a second element do not."""
    if layout.size == 0:
        return tuple((extent, 0) for extent in layout.shape)
    return tuple((n, s if n > 1 else 0) for n, s in zip(layout.shape, layout.strides_bytes, strict=True))


class _Local:
    """What this rank has of one side of one tensor, and the C structures that say so."""

    def __init__(self, text: str, like: Any, rank: int, who: str) -> None:
        self.who = who
        self.written = w = _Written(text, who)
        shapes = [local_shape(text, rank, region) for region in range(regions(text, rank))]
        given = [] if like is None else list(like) if isinstance(like, (list, tuple)) else [like]
        self.layouts = [x if isinstance(x, _core.Layout) else _core.layout(x) for x in given] or [w.dense(s) for s in shapes]
        self.elements = sum(math.prod(shape) for shape in shapes)
        self.dense = not given
        self.kept: list[Any] = []
        tensors = (_Tensor * len(self.layouts))()
        for tensor, layout in zip(tensors, self.layouts, strict=True):
            number, size = ctypes.c_int32(), ctypes.c_int64()
            _restride.restride_dtype_parse(layout.dtype.encode(), ctypes.byref(number), ctypes.byref(size))
            extents, strides = ((ctypes.c_int64 * layout.ndim)(*values) for values in (layout.shape, layout.strides_bytes))
            self.kept += [extents, strides]
            own_size = layout.itemsize if number.value == 17 else 0
            tensor.__init__(ctypes.sizeof(_Tensor), None, number, layout.ndim, extents, strides, own_size, layout.offset_bytes, 0)
        distribution = w.distribution.encode()
        size = w.itemsize if w.number.value == 17 else 0
        count = 0 if self.dense else len(tensors)
        self.side = _Side(ctypes.sizeof(_Side), distribution, w.number, count, size, tensors)

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
        status = _lib.restride_exchange_start_on(self._handle, *pointers, ctypes.c_void_p(handle))
        if failed is not None:
            if status == 0:
                self._comm.abort(f"rank {self._comm.rank} cannot run: {failed}")
            raise failed
        _check(status)
        self._on_its_way = dst, src

    def wait(self) -> None:
        """The second part of `run`."""
        try:
            _check(_lib.restride_exchange_wait(self._handle))
        finally:
            self._on_its_way = None

    def status(self) -> str:
        """'running' while a GPU's stream is in a run, or in a replay of a captured one, else 'idle'. Does not wait.

        Errors: DeadlineError once a run was broken off.
        """
        running = ctypes.c_int32()
        _check(_lib.restride_exchange_status(self._handle, ctypes.byref(running)))
        return "running" if running.value else "idle"

    def explain(self) -> str:
        """What moves between which ranks, and what this rank does for it."""
        return _text(_lib.restride_exchange_explain, self._handle)

    def _end(self) -> None:
        handle, self._handle = self._handle, ctypes.c_void_p()
        _lib.restride_exchange_destroy(handle)

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
    if method not in _METHODS:
        raise ValueError(f"method {method!r}; give None, {', '.join(m for m in _METHODS if m)}")
    several = not isinstance(src, str)
    sides: list[list[_Local]] = []
    for who, texts, like in (("src", src, src_like), ("dst", dst, dst_like)):
        written = [texts] if isinstance(texts, str) else list(texts)
        likes = [None] * len(written) if like is None else list(like) if several else [like]
        sides.append([_Local(text, x, comm.rank, who) for text, x in zip(written, likes, strict=True)])
    if len(sides[0]) != len(sides[1]):
        raise ValueError(f"{len(sides[0])} sources and {len(sides[1])} targets; give one of each a tensor")
    n = len(sides[0])
    arrays = [(_Side * n)(*(local.side for local in side)) for side in sides]
    options = _Options(
        ctypes.sizeof(_Options), _milliseconds(deadline), _METHODS[method], int(check_runs), int(threads), int(check_pairs),
        int(most_workspace_bytes), 0, -1,
    )
    made = ctypes.c_void_p()
    _check(_lib.restride_exchange_create(
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
        w = _Written(text, who)
        size = w.itemsize if w.number.value == 17 else 0
        sides.append(_Side(ctypes.sizeof(_Side), w.distribution.encode(), w.number, 0, size, None))
    return _text(_lib.restride_distribution_explain, *map(ctypes.byref, sides), ctypes.c_int32(-1 if rank is None else rank))
