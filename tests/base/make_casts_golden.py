#!/usr/bin/env python3
"""Writes casts_golden.txt: what NumPy and ml_dtypes make of every cast, as one hash a pair of dtypes.

    python -m venv /tmp/v && /tmp/v/bin/pip install numpy==2.4.6 ml_dtypes==0.6.0
    /tmp/v/bin/python tests/base/make_casts_golden.py > tests/base/casts_golden.txt

A line is `DST SRC COUNT HASH`: FNV-1a over the converted elements' bytes, each NaN replaced by all ones (NaN
payloads are restride's own rule, tested elsewhere). Sources of 8 and 16 bits run through all their codes;
wider ones through the pseudo-random stream of `codes`, which convert_test.cc repeats.

Where restride's semantics are not those libraries', the reference is spelled out here with exact integers:
float to integer saturates (NumPy: undefined), and double or 64-bit integers to narrow floats round once
(ml_dtypes 0.6 goes through float and rounds twice).
"""
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np

TYPES = {
    "bool": np.bool_, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
    "c64": np.complex64, "c128": np.complex128,
}
INTEGERS = [n for n in TYPES if n[0] in "ui"]
FLOATS = ["f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2"]
SMALL = ["f16", "bf16", "f8e4m3", "f8e5m2"]
STREAM = 1 << 14


def splitmix(index):
    """The index-th number of the SplitMix64 sequence (Steele, Lea and Flood, 2014), seed 0."""
    z = (index + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def codes(name):
    """Bit patterns of a source: all of them up to 16 bits, else a stream rich in ties and near ties."""
    size = np.dtype(TYPES[name]).itemsize
    if size <= 2:
        count = 2 if name == "bool" else 1 << (8 * size)
        return np.arange(count, dtype=np.uint64)
    i = np.arange(STREAM, dtype=np.uint64)
    a, b = splitmix(2 * i), splitmix(2 * i + np.uint64(1))
    u = np.uint64
    one = u(1)
    bit = lambda k: (b >> u(k)) & one == one
    cut = lambda v, places: np.where(bit(8), v & ~((one << ((b >> u(16)) % u(places))) - one), v)
    stick = lambda v: np.where(bit(9), v | one, v)
    if name in INTEGERS:
        width = 8 * size
        v = stick(cut((a >> u(64 - width)) >> (b % u(width)), width))
        v = np.where(bit(10), u(0) - v, v)
        return v & u((1 << width) - 1)
    mantissa, exponent = (23, 8) if name == "f32" else (52, 11)
    m = stick(cut(a & u((1 << mantissa) - 1), mantissa))
    field = b >> u(32)
    e = np.where(b & u(7) == 0, field & u((1 << exponent) - 1), u((1 << (exponent - 1)) - 31) + field % u(64))
    return (a >> u(63)) << u(mantissa + exponent) | e << u(mantissa) | m


def single_rounding(values, dst):
    """Exact numbers to a narrow float: the nearest code, ties to the even one."""
    table = np.arange(1 << (8 * np.dtype(TYPES[dst]).itemsize - 1), dtype=np.uint32)
    numbers = table.astype(f"u{np.dtype(TYPES[dst]).itemsize}").view(TYPES[dst]).astype(np.float64)
    finite = numbers[np.isfinite(numbers)]  # codes 0, 1, 2 ... in ascending order
    step = Fraction(finite[-1]) - Fraction(finite[-2])
    out = []
    for v in values:
        if isinstance(v, float) and (np.isnan(v) or np.isinf(v)):
            out.append(np.float64(v).astype(TYPES[dst]))
            continue
        x = abs(Fraction(v))
        if x >= Fraction(finite[-1]) + step:
            code = len(finite)
        else:
            lo = int(np.searchsorted(finite, float(x), side="right"))
            lo = max(0, min(lo, len(finite) - 1))
            while lo > 0 and Fraction(finite[lo]) > x:
                lo -= 1
            below = Fraction(finite[lo])
            above = Fraction(finite[lo + 1]) if lo + 1 < len(finite) else Fraction(finite[-1]) + step
            to_above, to_below = above - x, x - below
            code = lo + int(to_above < to_below or (to_above == to_below and lo % 2 == 1))
        negative = v < 0 or (isinstance(v, float) and np.signbit(v))
        kind = f"u{np.dtype(TYPES[dst]).itemsize}"
        sign = 1 << (8 * np.dtype(TYPES[dst]).itemsize - 1) if negative else 0
        out.append(np.array([code | sign], dtype=kind).view(TYPES[dst])[0])
    return np.array(out, dtype=TYPES[dst])


def saturated(values, dst):
    info = np.iinfo(TYPES[dst])
    def one(v):
        if np.isnan(v):
            return 0
        if np.isinf(v):
            return info.max if v > 0 else info.min
        return min(max(int(v), info.min), info.max)
    return np.array([one(float(v)) for v in values], dtype=TYPES[dst])


def convert(x, src, dst):
    if src in FLOATS and dst in INTEGERS:
        return saturated(x, dst)
    if dst in SMALL and src == "f64":
        return single_rounding([float(v) for v in x], dst)
    if dst in SMALL and src in ("i32", "u32", "i64", "u64"):
        return single_rounding([int(v) for v in x], dst)
    if dst in ("c64", "c128") and src not in ("c64", "c128"):
        return x.astype(TYPES["f32" if dst == "c64" else "f64"]).astype(TYPES[dst])
    return x.astype(TYPES[dst])


def fnv1a(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def main():
    np.seterr(all="ignore")
    print("# dst src count fnv1a; written by make_casts_golden.py with")
    print(f"# numpy {np.__version__}, ml_dtypes {ml_dtypes.__version__}, python {sys.version.split()[0]}")
    for src in TYPES:
        if src in ("c64", "c128"):
            continue  # each part is a cast of floats
        bits = codes(src)
        kind = f"u{np.dtype(TYPES[src]).itemsize}"
        x = bits.astype(kind).view(TYPES[src])
        for dst in TYPES:
            if dst == src:
                continue
            y = convert(x, src, dst)
            raw = y.view(f"u{y.dtype.itemsize}") if y.dtype.kind != "c" else y.view(f"u{y.dtype.itemsize // 2}")
            parts = y if y.dtype.kind != "c" else y.view(TYPES["f32" if dst == "c64" else "f64"])
            if dst not in INTEGERS and dst != "bool":
                raw = np.where(np.isnan(parts), np.iinfo(raw.dtype).max, raw)
            print(f"{dst} {src} {len(x)} {fnv1a(raw.tobytes()):016x}")


main()
