"""Turns restride on under torch's own operators, and tells what it did. restride.torch has these names."""

from __future__ import annotations

import contextlib
import json
import operator
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

# Those that gain by measurement (bench/results/drop-in). stack ends in cat; _foreach_copy_ and split_with_sizes_copy in copy_.
OPERATORS = ("copy_", "cat", "flip", "roll", "pixel_shuffle", "pixel_unshuffle")
# A copy that is not known yet is planned, which takes some microseconds: below this size torch is as fast.
MIN_BYTES = 16384

_on: tuple[tuple[str, ...], int] | None = None  # operators and min_bytes while it is on


def _library() -> Any:
    try:
        import restride_torch
    except ImportError:
        raise RuntimeError(
            "the compiled part is not installed: pip install --no-build-isolation restride-torch "
            "(in a checkout: pip install --no-build-isolation ./python/torch)"
        ) from None
    return restride_torch.load()


def enable(ops: Sequence[str] = OPERATORS, min_bytes: int = MIN_BYTES) -> None:
    """Lets restride do the strided copies of torch: contiguous, clone, reshape, to, slice assignment, and what calls them.

    ops: the operators to take, of restride.torch.OPERATORS: copy_ on the CPU and on GPUs, the others on the CPU.
    min_bytes: smaller copies are left to torch; on GPUs, where a launch hides more, below 16 times as many.
    Left to torch as well: plain copies of dense memory into memory that was written before, cat of contiguous tensors,
        copies between devices, casts on which the two differ (floats to integers, to float8, f64 and wide integers to
        half), sparse, quantised and conjugated tensors. Results are the same, bit by bit, but for the payload of NaNs
        that become half floats.
    Memory that has no pages yet, as a large new tensor's, is asked for in huge pages, all of it at once.
    Threads: torch's own (torch.set_num_threads). Streams: the current one.
    Errors: RuntimeError where restride-torch is not installed, or built for another torch, or where somebody else has
        taken the operator; torch is then as it was. Says in one line on standard error that it is on; RESTRIDE_QUIET=1
        leaves that out. Copies nothing itself.
    """
    global _on
    if isinstance(ops, str) or not isinstance(ops, Iterable):
        remedy = [ops] if ops in OPERATORS else f"some of {list(OPERATORS)}"
        raise TypeError(f"ops is {ops!r}; give a list, {remedy}")
    ops = tuple(ops)
    if not ops or any(name not in OPERATORS for name in ops):
        raise ValueError(f"ops {list(ops)}: give some of {list(OPERATORS)}")
    try:
        min_bytes = operator.index(min_bytes)
    except TypeError:
        raise TypeError(f"min_bytes is a {type(min_bytes).__name__}; give an int") from None
    if min_bytes < 0:
        raise ValueError(f"min_bytes = {min_bytes}; give 0 or more")
    library = _library()
    was_on = library.restride_torch_enabled() != 0
    refused = library.restride_torch_enable(min_bytes, ",".join(ops).encode()).decode()
    if refused:
        raise RuntimeError(f"{refused}; torch is left alone")
    _on = ops, min_bytes
    if not was_on and os.environ.get("RESTRIDE_QUIET", "") != "1":
        from restride._info import __version__

        where = "CPU and CUDA" if library.restride_torch_with_cuda() else "CPU"
        torch = sys.modules["torch"].__version__
        print(f"restride {__version__}: torch {torch} copies by restride ({where}, from {min_bytes} bytes)", file=sys.stderr)


def disable() -> None:
    """Gives torch its own copies back. Copies nothing itself; what was counted stays."""
    global _on
    if _on is not None:
        _library().restride_torch_disable()
        _on = None


@contextlib.contextmanager
def enabled(ops: Sequence[str] = OPERATORS, min_bytes: int = MIN_BYTES) -> Iterator[None]:
    """enable() for a with-statement, and as it was before behind it. Of the process, not of a thread. Copies nothing itself."""
    before = _on
    enable(ops, min_bytes)
    try:
        yield
    finally:
        if before is None:
            disable()
        else:
            enable(*before)


@dataclass(frozen=True)
class Copy:
    """A copy that took long, with all its calls."""

    copy: str
    calls: int
    nanoseconds: int
    bytes: int


@dataclass(frozen=True)
class Stats:
    """What restride did for torch since it was first on, or since the last reset; prints as a table."""

    seen: int
    taken: int
    bytes: int
    nanoseconds: int
    operators: dict[str, tuple[int, int]]  # calls seen and taken of each
    most: list[Copy]

    def __str__(self) -> str:
        lines = [
            f"copies   {self.seen} seen, {self.taken} by restride",
            f"bytes    {self.bytes} written in {self.nanoseconds / 1e9:.3f} s",
        ]
        lines += [f"{name}: {seen} seen, {taken} by restride" for name, (seen, taken) in self.operators.items() if seen]
        lines += [f"{c.nanoseconds / 1e6:9.3f} ms  {c.calls:7} calls  {c.copy}" for c in self.most]
        return "\n".join(lines)


def stats(reset: bool = False) -> Stats:
    """Calls seen and taken, bytes, time, and where most of it went (of copies of 20 us and more). Copies nothing itself.

    reset: counts from 0 again. On a GPU the time is that of launching.
    """
    said = json.loads(_library().restride_torch_stats(int(reset)).decode())
    operators = {name: (seen, taken) for name, (seen, taken) in said["operators"].items()}
    seen, taken = (sum(counts) for counts in zip(*operators.values()))
    return Stats(seen, taken, said["bytes"], said["nanoseconds"], operators, [Copy(**c) for c in said["most"]])
