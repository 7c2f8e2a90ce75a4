"""The ranks of a process group of torch.distributed: on GPUs by its NCCL, on the CPU by its own sends and its store."""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import time
from typing import Any

from restride.distributed._c_abi import (
    Abort,
    AgreementError,
    Allgather,
    DeadlineError,
    Exchange,
    Functions,
    Message,
    check,
    lib,
    milliseconds,
)
from restride.distributed._comm import Comm


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
        self.functions = Functions(
            ctypes.sizeof(Functions), None, self.rank, self.size, engine, Allgather(self.allgather),
            Exchange(self.exchange), Abort(self.abort),
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

            def memory(message: Message) -> Any:
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
        check(lib.restride_comm_create(ctypes.byref(made), ctypes.byref(mine.functions)))
        return Comm(made.value or 0, True, kept=mine)
    backend = group._get_backend(torch.device("cuda"))
    if not hasattr(backend, "_comm_ptr"):
        raise RuntimeError(f"{type(backend).__name__} of PyTorch {torch.__version__} does not tell its NCCL communicator")
    td.all_reduce(torch.zeros(1, device="cuda"), group=group)  # makes the communicator
    check(lib.restride_comm_create_nccl(
        ctypes.byref(made), ctypes.c_void_p(backend._comm_ptr()), milliseconds(deadline)
    ))  # fmt: skip
    return Comm(made.value or 0, True, on_gpus=True, kept=group)
