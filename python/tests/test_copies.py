"""contiguous, permute_copy, flip_copy, rearrange and repeat against NumPy and einops."""
import einops
import numpy as np
import pytest
import torch

import restride

X = np.arange(2 * 3 * 4).reshape(2, 3, 4)
T = torch.from_numpy(X)


def same(got, expected):
    assert type(got) is type(expected) and got.dtype == expected.dtype and tuple(got.shape) == tuple(expected.shape)
    assert np.array_equal(np.asarray(got), np.asarray(expected))


@pytest.mark.parametrize("order", ["C", "F"])
def test_contiguous_is_contiguous_in_its_order(order):
    view = X[:, ::-1].T
    y = restride.contiguous(view, order=order)
    same(y, np.array(view, order=order))
    assert y.flags[f"{order}_CONTIGUOUS"]
    t = restride.contiguous(T.permute(2, 0, 1), order=order)
    same(t, T.permute(2, 0, 1))
    assert (t if order == "C" else t.permute(2, 1, 0)).is_contiguous()


def test_contiguous_is_always_a_copy():
    y = restride.contiguous(X)
    y[...] = 0
    assert X.any()


@pytest.mark.parametrize("dtype", [np.float32, "float32", np.dtype("u1"), bool])
def test_contiguous_converts(dtype):
    same(restride.contiguous(X.T, dtype), X.T.astype(dtype))


def test_dtypes_are_named_in_the_framework_s_words():
    assert restride.contiguous(T, "bfloat16").dtype == torch.bfloat16
    assert restride.contiguous(T, torch.float8_e4m3fn).dtype == torch.float8_e4m3fn
    assert restride.contiguous(X, "u8").dtype == np.uint64  # eight bytes, as NumPy has it
    with pytest.raises(TypeError, match="torch.float32"):
        restride.contiguous(T, "f32")
    with pytest.raises(TypeError, match="not understood; write np.float32"):
        restride.contiguous(X, "f32")
    with pytest.raises(TypeError, match="torch.float32 is no dtype of NumPy"):
        restride.contiguous(X, torch.float32)
    with pytest.raises(TypeError, match="no dtype of NumPy.*give ml_dtypes.float8_e3m7"):
        restride.contiguous(X, "float8_e3m7")


def test_out_takes_the_result():
    out = np.zeros((4, 3, 2), X.dtype)[:, ::-1]
    assert restride.contiguous(X.T, out=out) is out
    same(np.array(out), np.array(X.T))
    with pytest.raises(ValueError, match=r"out has shape \(4, 3, 2\), the result \(2, 3, 4\)"):
        restride.contiguous(X, out=out)
    for function, x, floats in (
        (restride.contiguous, X.T, np.zeros((4, 3, 2), "f4")),
        (lambda x, **out: restride.permute_copy(x, (2, 1, 0), **out), X, np.zeros((4, 3, 2), "f4")),
        (lambda x, **out: restride.rearrange(x, "a b c -> c b a", **out), T, torch.zeros(4, 3, 2)),
        (restride.contiguous, T.permute(2, 1, 0), np.zeros((4, 3, 2), "f4")),
        (restride.contiguous, X[0, 0], memoryview(bytearray(16)).cast("f")),
    ):
        with pytest.raises(TypeError, match="^out is float32 and x int64: give dtype='float32' to convert in the same pass"):
            function(x, out=floats)
        function(x, out=floats, dtype="float32")  # as it says
        assert np.array_equal(np.asarray(floats), np.asarray(x).T if x.shape == (2, 3, 4) else x)
    with pytest.raises(TypeError, match="move between equal dtypes only"):
        restride.contiguous(X.astype("M8[s]"), out=X.copy())
    with pytest.raises(TypeError, match="out is float32 and dtype says float64"):
        restride.contiguous(X.T, "f8", out=np.zeros((4, 3, 2), "f4"))
    same(restride.contiguous(X.T, "f4", out=np.zeros((4, 3, 2), "f4")), np.array(X.T, "f4"))
    with pytest.raises(ValueError, match="overlaps"):
        restride.contiguous(X, out=X[:, ::-1])


def test_order_is_c_or_f():
    with pytest.raises(ValueError, match="order 'K'"):
        restride.contiguous(X, order="K")


def test_permute_copy():
    same(restride.permute_copy(X, (2, 0, 1)), np.array(X.transpose(2, 0, 1)))
    same(restride.permute_copy(T, (-1, 0, 1), dtype=torch.float32), T.permute(2, 0, 1).float())
    with pytest.raises(ValueError, match="axes"):
        restride.permute_copy(X, (0, 1))
    with pytest.raises(ValueError, match="twice"):
        restride.permute_copy(X, (0, 1, 1))
    same(restride.permute_copy(X, np.array([2, 0, 1])), np.array(X.transpose(2, 0, 1)))
    with pytest.raises(TypeError, match="axes is a str; give a tuple of ints"):
        restride.permute_copy(X, "201")
    with pytest.raises(TypeError, match=r"axes\[1\] is a float; give an int"):
        restride.permute_copy(X, (2, 0.5, 1))


@pytest.mark.parametrize("axes", [0, -1, (0, 2), ()])
def test_flip_copy(axes):
    same(restride.flip_copy(X, axes), np.array(np.flip(X, axes)))
    same(restride.flip_copy(X, np.array(axes, int)), np.array(np.flip(X, axes)))
    same(restride.flip_copy(T, axes), T.flip([axes] if isinstance(axes, int) else axes))


def test_results_are_of_the_caller_s_kind():
    assert type(restride.permute_copy(torch.nn.Parameter(T.float(), requires_grad=False), (1, 0, 2))) is torch.Tensor
    assert type(restride.flip_copy(X.view(np.recarray), 0)) is np.ndarray


# ---- einops' grammar: the patterns of its documentation and tests

REARRANGE = [
    ((2, 3, 4, 5), "b h w c -> b h w c", {}),
    ((2, 3, 4, 5), "b h w c -> (b h) w c", {}),
    ((2, 3, 4, 5), "b h w c -> h (b w) c", {}),
    ((2, 3, 4, 5), "b h w c -> b c h w", {}),
    ((2, 3, 4, 5), "b h w c -> b (c h w)", {}),
    ((2, 4, 6, 5), "b (h1 h2) (w1 w2) c -> (b h1 w1) h2 w2 c", {"h1": 2, "w1": 2}),
    ((2, 4, 6, 5), "b (h h2) (w w2) c -> b h w (c h2 w2)", {"h2": 2, "w2": 2}),
    ((6, 4, 5, 3), "(b1 b2) h w c -> (b1 h) (b2 w) c", {"b1": 2}),
    ((6, 4, 5, 3), "(b1 b2) h w c -> (h b1) (w b2) c", {"b1": 2}),
    ((2, 4, 6, 3), "b (h1 h2) w c -> h2 (b h1 w) c", {"h2": 2}),
    ((2, 12, 4, 5), "b (c h2 w2) h w -> b c (h h2) (w w2)", {"h2": 2, "w2": 3}),
    ((2, 3, 4, 5), "a b c d -> d c b a", {}),
    ((2, 3, 4, 5), "... c -> c ...", {}),
    ((2, 3, 4, 5), "b ... -> b (...)", {}),
    ((2, 3, 4, 5), "b ... c -> b c ...", {}),
    ((2, 3, 4, 5), "... -> (...)", {}),
    ((2, 3, 4, 5), "a ... b -> (a b) ...", {}),
    ((5,), "a -> 1 a 1", {}),
    ((5,), "a -> () a", {}),
    ((1, 5, 1), "1 a 1 -> a", {}),
    ((1, 5), "() a -> a", {}),
    ((6,), "(a b) -> b a", {"a": 2}),
    ((24,), "(a b c) -> c (b a)", {"a": 2, "b": 3}),
    ((2, 3), "  a   b->b a ", {}),
    ((), "->", {}),
    ((), "-> 1 1", {}),
    ((0, 3), "a b -> b a", {}),
    ((8, 12), "(x p) (y q) -> (x y) p q", {"p": 4, "q": 3}),
    ((2, 8, 3, 5), "b t (h d) s -> (b h) t d s", {"h": 3}),
]
REPEAT = [
    ((3, 4), "h w -> h w c", {"c": 3}),
    ((3, 4), "h w -> (repeat h) w", {"repeat": 2}),
    ((3, 4), "h w -> h (repeat w)", {"repeat": 3}),
    ((3, 4), "h w -> (h h2) (w w2)", {"h2": 2, "w2": 2}),
    ((3, 4), "h w -> (h 2) (w 2)", {}),
    ((3, 4), "h w -> 2 h 3 w 1", {}),
    ((3, 4, 2), "a b c -> (c copy a b)", {"copy": 2, "a": 3, "b": 4, "c": 2}),
    ((3, 4), "... d -> ... 4 d", {}),
    ((3, 4), "... -> ... n", {"n": 2}),
    ((6,), "(h w) -> w (h 2)", {"w": 3}),
    ((1, 5), "() w -> r w", {"r": 3}),
    ((1, 5), "1 w -> 2 w", {}),
    ((), "-> n", {"n": 4}),
    ((3,), "a -> b a", {"b": 0}),
    ((2, 3), "a b -> b a", {}),
]


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x[::-1] if x.ndim else x, torch.from_numpy], ids=["np", "view", "torch"])
@pytest.mark.parametrize("shape, pattern, sizes", REARRANGE)
def test_rearranges_as_einops_does(shape, pattern, sizes, make):
    x = make(np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape))
    same(restride.rearrange(x, pattern, **sizes), einops.rearrange(x, pattern, **sizes))


@pytest.mark.parametrize("make", [lambda x: x, torch.from_numpy], ids=["np", "torch"])
@pytest.mark.parametrize("shape, pattern, sizes", REPEAT)
def test_repeats_as_einops_does(shape, pattern, sizes, make):
    x = make(np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape))
    same(restride.repeat(x, pattern, **sizes), einops.repeat(x, pattern, **sizes))


@pytest.mark.parametrize("words", ["u8 (2,3)", restride.layout("u8 (2,3)"), "abc"])
def test_words_hold_no_elements(words):
    for function in (restride.contiguous, lambda x: restride.permute_copy(x, (1, 0)), lambda x: restride.rearrange(x, "a b -> b a")):
        with pytest.raises(TypeError, match="holds no elements; give an array"):
            function(words)


def test_lists_are_stacked():
    images = [X[k] for k in range(2)]
    same(restride.rearrange(images, "b h w -> h (b w)"), einops.rearrange(images, "b h w -> h (b w)"))
    with pytest.raises(ValueError, match="empty list"):
        restride.rearrange([], "b -> b")


def test_rearranging_converts_in_the_same_pass():
    same(restride.rearrange(X, "a b c -> c (a b)", dtype="f4"), einops.rearrange(X, "a b c -> c (a b)").astype("f4"))
    out = np.zeros((6, 4), X.dtype)[:, ::-1]
    assert restride.rearrange(X, "a b c -> (a b) c", out=out) is out
    assert np.array_equal(out, X.reshape(6, 4))


@pytest.mark.parametrize(
    "pattern, sizes, message",
    [
        ("a b -> b a", {}, "left side names 2 modes"),
        ("a b c -> a b", {}, "'c' is on the left but not on the right"),
        ("a b c -> a b c d", {}, "'d' is on the right but not on the left"),
        ("(a1 a2) b c -> a1 a2 b c", {}, "give all but one a size"),
        ("(a1 a2) b c -> a1 a2 b c", {"a1": 5}, r"mode 0 of i64 \(2,3,4\)"),
        ("a b c", {}, "no '->'"),
        ("a b c -> (a (b c))", {}, "parenthesis inside a parenthesis"),
        ("a a c -> a c", {}, "'a' twice"),
        ("a b c -> c b a", {"z": 3}, "z=3 names nothing"),
        ("a b c -> a b c + 1", {}, r"'\+' is no part"),
    ],
)
def test_patterns_that_do_not_fit_are_explained(pattern, sizes, message):
    with pytest.raises(ValueError, match=message):
        restride.rearrange(X, pattern, **sizes)
    with pytest.raises((einops.EinopsError, ValueError)):
        einops.rearrange(X, pattern, **sizes)


@pytest.mark.parametrize("function", [restride.rearrange, restride.repeat])
def test_a_pattern_is_text(function):
    with pytest.raises(TypeError, match="^pattern is a int; give a str"):
        function(X, 5)
    with pytest.raises(TypeError, match="^pattern is a NoneType; give a str"):
        function(X, None)


def test_a_repeat_without_its_size_is_explained():
    with pytest.raises(ValueError, match="^pattern 'a b c -> a b c d': 'd' is on the right but.*to repeat along it, give its size"):
        restride.repeat(X, "a b c -> a b c d")


def test_bench_tells_times():
    bench = restride.bench(np.zeros((4, 3, 2), X.dtype), X.T, seconds=0.005)
    assert [row.name for row in bench.rows] == ["restride", "numpy", "plain copy"]
    assert all(row.seconds > 0 and row.gbps > 0 for row in bench.rows)
    assert "of a plain copy" in repr(bench) and "i64 (4,3,2)" in repr(bench)
    bench = restride.bench("bf16 (8,8)", "bf16 (8,8):(-1,8)@7", seconds=0.005)
    assert bench.plan.dst.dtype == "bfloat16"
    assert restride.bench(torch.zeros(4, 4), torch.zeros(4, 4).T, seconds=0.005).rows[1].name == "torch"
    for seconds in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"^seconds = {seconds}; give a finite number, 0 or more"):
            restride.bench("u8 (4)", "u8 (4)", seconds=seconds)
    with pytest.raises(TypeError, match="^seconds is a str; give a number"):
        restride.bench("u8 (4)", "u8 (4)", seconds="1")
