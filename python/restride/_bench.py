"""Times of a user's own copy, beside a plain copy of the same bytes and the framework's own way."""

from __future__ import annotations

import math
import numbers
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from restride import _core
from restride import _frameworks as frameworks


@dataclass(frozen=True)
class Row:
    """One way to copy: its median time of a run, and what moved."""

    name: str
    seconds: float
    read_and_written_bytes: int

    @property
    def gbps(self) -> float:
        """10^9 bytes a second, read and written."""
        return self.read_and_written_bytes / self.seconds / 1e9


@dataclass(frozen=True)
class Bench:
    """What restride.bench() measured; prints as a table."""

    plan: _core.Plan
    rows: list[Row]

    def __repr__(self) -> str:
        plain = self.rows[-1]
        lines = [
            f"{self.plan.src} -> {self.plan.dst} by {self.plan.kernel} on {self.plan.device}",
            f"{'':12}{'time':>12}{'GB/s':>9}{'of a plain copy':>18}",
        ]
        for row in self.rows:
            lines.append(f"{row.name:12}{_time(row.seconds):>12}{row.gbps:9.1f}{plain.seconds / row.seconds:18.2f}")
        return "\n".join(lines)


def bench(dst: Any, src: Any, *, cast: bool = False, threads: int = 0, seconds: float = 0.2) -> Bench:
    """Copies src to dst again and again, and tells the times: ours, the framework's own, a plain copy's.

    dst, src: arrays, or layouts in words, for which NumPy arrays are made. dst is overwritten.
    seconds: for how long each way is repeated, 3 times at least; medians are told. On a GPU each run is waited for.
    Other arguments, errors: as restride.copy. The plain copy moves as many bytes as are read and written here.

    >>> bench = restride.bench('u8 (3,64,64)', 'u8 (3,64,64):(1,192,3)', seconds=0.01)
    >>> [row.name for row in bench.rows]
    ['restride', 'numpy', 'plain copy']
    """
    if not isinstance(seconds, numbers.Real):
        raise TypeError(f"seconds is a {type(seconds).__name__}; give a number")
    if not 0 <= seconds < math.inf:
        raise ValueError(f"seconds = {seconds}; give a finite number, 0 or more")
    if isinstance(dst, (str, _core.Layout)):
        dst = _numpy_array(_core.layout(dst))
    if isinstance(src, (str, _core.Layout)):
        src = _numpy_array(_core.layout(src))
    plan = _core.plan(dst, src, cast=cast, threads=threads)
    moved = plan.dst.nbytes + plan.src.nbytes
    framework = frameworks.framework_of(dst)
    wait: Callable[[], Any] = lambda: None
    if framework == "torch" and dst.device.type == "cuda":
        wait = sys.modules["torch"].cuda.synchronize
    elif framework == "cupy":
        wait = sys.modules["cupy"].cuda.get_current_stream().synchronize
    ways: list[tuple[str, Callable[[], Any]]] = [("restride", lambda: plan.run(dst, src))]
    if framework == "torch" and frameworks.framework_of(src) == "torch":
        ways.append(("torch", lambda: dst.copy_(src)))
    elif framework in ("numpy", "cupy") and frameworks.framework_of(src) == framework:
        ways.append((framework, lambda: sys.modules[framework].copyto(dst, src, casting="unsafe")))
    half = max(moved // 2, 1)
    a, b = _plain(dst, framework, half), _plain(dst, framework, half)
    a[...] = 1
    plain = _core.plan(b, a, threads=threads)
    ways.append(("plain copy", lambda: plain.run(b, a)))
    return Bench(plan, [Row(name, _median(run, wait, seconds), moved) for name, run in ways])


def _plain(like: Any, framework: str, size: int) -> Any:
    """Bytes on the device of `like`."""
    if framework == "torch":
        torch = sys.modules["torch"]
        return torch.empty(size, dtype=torch.uint8, device=like.device)
    if framework == "cupy":
        return sys.modules["cupy"].empty(size, "u1")
    import numpy

    return numpy.empty(size, "u1")


def _numpy_array(layout: _core.Layout) -> Any:
    """A NumPy array of this layout, in memory of its own."""
    import numpy

    if layout.dtype.startswith(("bfloat", "float8")):
        import ml_dtypes

        dtype = numpy.dtype(getattr(ml_dtypes, layout.dtype))
    else:
        opaque = layout.dtype[0] == "b" and layout.dtype[1:].isdigit()
        dtype = numpy.dtype(f"V{layout.itemsize}" if opaque else layout.dtype)
    first = sum(min(0, (n - 1) * s) for n, s in zip(layout.shape, layout.strides_bytes, strict=True) if n)
    last = sum(max(0, (n - 1) * s) for n, s in zip(layout.shape, layout.strides_bytes, strict=True) if n)
    memory = numpy.ones(last - first + layout.itemsize, numpy.uint8)
    return numpy.ndarray(layout.shape, dtype, memory, -first, layout.strides_bytes)


def _median(run: Callable[[], Any], wait: Callable[[], Any], seconds: float) -> float:
    run(), wait()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run(), wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
