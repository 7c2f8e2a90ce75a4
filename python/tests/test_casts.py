"""Casts against NumPy and ml_dtypes, every pair, with the differences that docs/casts.md lists."""
import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest

import restride

REAL = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]  # fmt: skip
COMPLEX = ["c8", "c16"]


def values_of(dtype):
    """Every bit pattern of one and two bytes; random, small and special values of wider ones."""
    dtype = np.dtype(dtype)
    if dtype == bool:
        return np.array([False, True] * 5)
    if dtype.itemsize <= 2:
        return np.arange(256**dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype)
    rng = np.random.default_rng(3)
    bits = np.frombuffer(rng.bytes(3000 * dtype.itemsize), dtype)
    small = np.arange(-300, 300).astype(dtype)
    if dtype.kind in "iu":
        ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
        return np.concatenate([bits, small, ends, ends // 2])
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 1.5, 448, 464, 57344, 65504, 65520, 1e-7, 1e38, -1])
    return np.concatenate([bits, small, special.astype(dtype), (rng.standard_normal(3000) * 100).astype(dtype)])


def is_float(dtype):
    return dtype.kind in "fV"


def compare(got, expected, which):
    assert got.dtype == expected.dtype
    bits = f"u{got.dtype.itemsize}" if got.dtype.kind != "c" else f"u{got.dtype.itemsize // 2}"
    nan = np.isnan(expected.astype("c16")) if got.dtype.kind in "fVc" else np.zeros(len(got), bool)
    assert np.array_equal(np.isnan(got.astype("c16"))[which], nan[which]) if nan.any() else True
    keep = which & ~nan
    assert got[keep].view(bits).tolist() == expected[keep].view(bits).tolist()


@pytest.mark.parametrize("to,of", list(itertools.product(REAL + COMPLEX, REAL + COMPLEX)), ids=str)
@pytest.mark.filterwarnings("ignore")
def test_casts_as_numpy_does(to, of):
    to, of = np.dtype(to), np.dtype(of)
    x = values_of(of)
    y = np.zeros(x.shape, to)
    if of.kind == "c" and to.kind != "c" and to != of:
        with pytest.raises(TypeError, match="complex to real"):
            restride.copy(y, x, cast=True)
        return
    restride.copy(y, x, cast=True)
    if to == of:
        assert y.tobytes() == x.tobytes()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide = x.astype("f8") if is_float(of) else x  # exact
        expected = wide.astype(to)
    which = np.ones(x.shape, bool)
    if is_float(of) and to.kind in "iu":
        # Documented: float to integer saturates and NaN gives 0. In C, and so in NumPy, it is undefined outside.
        ends = np.iinfo(to)
        inside = (wide > float(ends.min) - 1) & (wide < float(ends.max) + (1 if to.itemsize < 8 else 0))
        assert (y[wide >= float(ends.max)] == ends.max).all()
        assert (y[wide <= float(ends.min)] == ends.min).all()
        assert (y[np.isnan(wide)] == 0).all()
        which = inside
        expected = np.trunc(np.where(inside, wide, 0)).astype(to)
    elif of.kind in "iu" and of.itemsize == 8 and to.itemsize <= 2 and is_float(to):
        # Documented: rounded once. NumPy and ml_dtypes go through a wider float.
        which = np.abs(x.astype("f8")) < 2**24
    compare(y, expected, which)
