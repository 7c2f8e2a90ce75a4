"""Random layouts, views of views, against NumPy: every byte of dst's memory, also those that are not to be written.

RESTRIDE_CASES sets how many are drawn (20,000); a failure prints the arrays' layouts, shrunk.
"""
import os

import ml_dtypes
import numpy as np
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import restride

CASES = int(os.environ.get("RESTRIDE_CASES", "20000"))
DTYPES = [
    "?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "longdouble", "S3", "V7",
    "M8[s]", "m8[ns]", "i4,u1", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.int4,
]  # fmt: skip
RECORD = np.dtype([("a", "u1"), ("b", "f4"), ("c", "u2", (3,)), ("d", "f8")])


def filled(shape, dtype, rng):
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    memory = rng.integers(0, 2 if dtype == bool else 256, size, np.uint8)
    return np.ndarray(shape, dtype, memory.data) if size else np.empty(shape, dtype)


@st.composite
def sliced_memory(draw, shape, dtype, rng):
    """An array of this shape inside larger memory: axes in any order, with steps, gaps and flips."""
    rank = len(shape)
    order = draw(st.permutations(range(rank)))
    steps = [draw(st.sampled_from([1, 1, 1, -1, 2, -2, 3])) for _ in range(rank)]
    margins = [draw(st.sampled_from([0, 0, 1, 2])) for _ in range(rank)]
    extents = [max(n - 1, 0) * abs(s) + 1 + 2 * m if n else 0 for n, s, m in zip(shape, steps, margins)]
    memory = filled([extents[axis] for axis in order], dtype, rng)
    index = []
    for n, s, m in zip(shape, steps, margins):
        first = m if s > 0 else m + (n - 1) * -s
        stop = first + n * s
        index.append(slice(0, 0) if n == 0 else slice(first, stop if stop >= 0 else None, s))
    view = memory.transpose(np.argsort(order))[tuple(index)] if rank else memory
    assert view.shape == tuple(shape)
    return memory, view


@st.composite
def source(draw, rng, dtype):
    """A view of a view of an array: steps, flips, transposes, new axes, broadcasts, fields of records, windows."""
    rank = draw(st.integers(0, 4))
    shape = tuple(draw(st.sampled_from([1, 2, 3, 4, 5, 8, 0, 17, 33])) for _ in range(rank))
    while np.prod(shape) > 20000:
        shape = shape[1:]
    of_record = draw(st.integers(0, 9)) == 0
    x = filled(shape, RECORD if of_record else dtype, rng)
    if of_record:
        x = x[draw(st.sampled_from(RECORD.names))]
    for _ in range(draw(st.integers(0, 4))):
        step = draw(st.sampled_from(["slice", "flip", "transpose", "newaxis", "broadcast", "window", "index"]))
        axis = draw(st.integers(0, max(x.ndim - 1, 0)))
        if step == "transpose":
            x = x.transpose(draw(st.permutations(range(x.ndim))))
        elif step == "newaxis" and x.ndim < 6:
            x = np.expand_dims(x, axis)
        elif step == "broadcast" and x.ndim < 6 and x.size < 5000:
            x = np.broadcast_to(x, (draw(st.integers(1, 4)), *x.shape))
        elif x.ndim == 0:
            continue
        elif step == "slice":
            stride = draw(st.sampled_from([1, 2, -1, -3, 5]))
            x = x[(slice(None),) * axis + (slice(None, None, stride),)]
        elif step == "flip":
            x = np.flip(x, axis)
        elif step == "window" and x.dtype.kind in "uic" and 3 <= x.shape[axis] and x.ndim < 6 and x.size < 5000:
            x = np.lib.stride_tricks.sliding_window_view(x, 3, axis)
        elif step == "index" and x.shape[axis]:
            x = x.take(0, axis) if draw(st.booleans()) else x[(slice(None),) * axis + (-1,)]
    return np.asarray(x)


@settings(max_examples=CASES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_layout_into_any_other(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    src = data.draw(source(rng, data.draw(st.sampled_from(DTYPES))))
    memory, dst = data.draw(sliced_memory(src.shape, src.dtype, rng))
    note(f"dst {dst.shape} {dst.strides} src {src.shape} {src.strides} {src.dtype}")
    memory_before, src_before = memory.tobytes(), src.tobytes()
    expected = bytearray(memory_before)
    if dst.size:  # the same view of these bytes; opaque, so that NumPy moves bits, too
        opaque = np.dtype(f"V{src.dtype.itemsize}")
        offset = dst.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
        np.ndarray(dst.shape, opaque, expected, offset, dst.strides)[...] = np.ndarray(src.shape, opaque, src_before)
    if data.draw(st.integers(0, 3)) == 0:
        restride.plan(dst, src).run(dst, src)
    else:
        restride.copy(dst, src)
    assert memory.tobytes() == expected
    assert src.tobytes() == src_before
