"""The ranks of an exchange: threads, or the ranks of an mpi4py communicator."""

from __future__ import annotations

import ctypes
import operator
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any

from restride.distributed._c_abi import check, lib, milliseconds

if TYPE_CHECKING:
    from restride.distributed._exchange import Plan


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
        return int(lib.restride_comm_rank(self._handle))

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return int(lib.restride_comm_size(self._handle))

    def abort(self, reason: str) -> None:
        """Makes every call of every rank fail from now on with a DeadlineError that says the reason."""
        check(lib.restride_comm_abort(self._handle, reason.encode()))

    def close(self) -> None:
        """Ends it and its plans. With MPI all ranks call it, before MPI_Finalize, or none does."""
        self._plans.clear()
        for made in list(self._made):
            made._end()
        handle, self._handle = self._handle, ctypes.c_void_p()
        lib.restride_comm_destroy(handle)

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
    check(lib.restride_comm_create_threads(handles, ctypes.c_int32(ranks)))
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
    check(lib.restride_comm_create_mpi(ctypes.byref(made), ctypes.c_void_p(MPI._addressof(comm)), milliseconds(deadline)))
    return Comm(made.value or 0, False)
