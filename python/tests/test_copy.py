"""restride.copy and plans on NumPy arrays: what is copied, what is refused, and that nothing is written then."""
import threading

import numpy as np
import pytest

import restride


def test_copies_a_transposed_view():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = np.zeros((4, 3), np.float32)
    assert restride.copy(y, x.T) is None
    assert np.array_equal(y, x.T)


def test_writes_only_the_elements_of_dst():
    memory = np.full((6, 8), 7, np.int16)
    restride.copy(memory[1::2, ::-2], np.arange(12, dtype=np.int16).reshape(3, 4))
    expected = np.full((6, 8), 7, np.int16)
    expected[1::2, ::-2] = np.arange(12).reshape(3, 4)
    assert np.array_equal(memory, expected)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 1, 1)])
def test_copies_arrays_of_rank_0_and_without_elements(shape):
    x = np.ones(shape)
    y = np.zeros(shape)
    restride.copy(y, x)
    assert np.array_equal(x, y)


def test_copies_onto_itself_without_doing_anything():
    x = np.arange(4.0)
    restride.copy(x, x)
    assert x.tolist() == [0, 1, 2, 3]


def test_copies_up_to_64_axes():
    x = np.arange(2.0).reshape((1,) * 63 + (2,))
    y = np.empty_like(x)
    restride.copy(y, x)
    assert np.array_equal(x, y)


@pytest.mark.parametrize(
    "dtype", ["S3", "U2", "V5", "M8[s]", "m8[us]", "longdouble", [("a", "u1"), ("b", "<f4")], ("f4", (2,))], ids=str
)
def test_moves_dtypes_that_it_does_not_know_between_equal_ones(dtype):
    dtype = np.dtype(dtype)
    x = np.frombuffer(np.random.default_rng(1).bytes(6 * dtype.itemsize), np.uint8).view(dtype.base)
    x = x.reshape((2, 3) + dtype.shape)
    y = np.zeros((3, 2) + dtype.shape, dtype.base)
    restride.copy(y, x.swapaxes(0, 1))
    assert y.tobytes() == np.ascontiguousarray(x.swapaxes(0, 1)).tobytes()


def test_copies_a_field_of_records():
    pixels = np.zeros(5, [("rgb", "u1", 3), ("depth", "f4")])
    restride.copy(pixels["depth"], np.arange(5, dtype="f4"))
    restride.copy(pixels["rgb"], np.arange(15, dtype="u1").reshape(5, 3))
    assert pixels["depth"].tolist() == [0, 1, 2, 3, 4]
    assert pixels["rgb"].tolist() == np.arange(15).reshape(5, 3).tolist()


A = np.arange(12, dtype=np.float32).reshape(3, 4)


def strided(x, shape, strides):
    return np.lib.stride_tricks.as_strided(x, shape, strides)


REFUSED = {
    "other axes": (lambda d: (d((4, 3)), A), ValueError, r"\(4, 3\).*\(3, 4\).*src.transpose\(1, 0\)"),
    "broadcast": (lambda d: (d((2, 3, 4)), A), ValueError, "broadcast_to"),
    "reshape": (lambda d: (d((12,)), A), ValueError, r"src.reshape\(dst.shape\)"),
    "shape": (lambda d: (d((5,)), A), ValueError, r"\(5,\)"),
    "dtypes": (lambda d: (d((3, 4), "u1"), A), TypeError, "uint8 and src float32.*cast=True"),
    "dates": (lambda d: (d(3, "M8[s]"), np.zeros(3, "M8[ms]")), TypeError, r"datetime64\[s\] and src datetime64\[ms\]"),
    "records": (lambda d: (d(3, "i4,i4"), np.zeros(3, "i8")), TypeError, "equal dtypes only"),
    "objects": (lambda d: (d(3), np.array([1, 2, 3], object)), TypeError, "Python objects"),
    "objects in dst": (lambda d: (np.array([None] * 3), np.zeros(3)), TypeError, "dst has dtype object"),
    "big-endian src": (lambda d: (d(3, "f4"), np.zeros(3, ">f4")), TypeError, r"src has dtype >f4.*newbyteorder"),
    "big-endian dst": (lambda d: (d(3, ">i2"), np.zeros(3, "i2")), TypeError, r"dst has dtype >i2"),
    "big-endian both": (lambda d: (d(3, ">i2"), np.zeros(3, ">i2")), TypeError, "byte order"),
    "masked": (lambda d: (d((3, 4), "f4"), np.ma.masked_array(A)), TypeError, "src is a masked array"),
    "read-only": (lambda d: (np.broadcast_to(np.float32(0), (3, 4)), A), ValueError, "dst .*read-only"),
    "bytes": (lambda d: (b"abc", b"def"), ValueError, "dst .bytes. is read-only"),
    "overlap": (lambda d: (A[1:], A[:-1]), ValueError, "overlaps src"),
    "twice": (lambda d: (strided(d(9, "f4"), (3, 4), (4, 4)), A), ValueError, "twice"),
    "no array": (lambda d: (d((3, 4), "f4"), 3), TypeError, "src is of type int"),
    "a list": (lambda d: ([1], A), TypeError, "dst is of type list"),
    "zero bytes": (lambda d: (d(3, "S0"), np.zeros(3, "V0")), TypeError, "no bytes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses_before_a_byte_is_written(case):
    made = []

    def dst(shape, dtype="f8"):
        made.append(np.zeros(shape, dtype))
        return made[-1]

    arguments, error, message = REFUSED[case]
    before = A.copy()
    to, source = arguments(dst)
    with pytest.raises(error, match=f"(?s){message}"):
        restride.copy(to, source)
    assert np.array_equal(A, before)
    assert all(not d.tobytes().strip(b"\0") for d in made)


def test_arguments_are_checked_by_name():
    y = np.empty(3)
    with pytest.raises(TypeError, match="needs 'src'"):
        restride.copy(y)
    for none_is_given, name in (
        (lambda: restride.copy(y, None), "src"),
        (lambda: restride.copy(dst=None, src=y), "dst"),
        (lambda: restride.plan(y, None), "src"),
        (lambda: restride.plan(y, y.copy()).run(None, y), "dst"),
    ):
        with pytest.raises(TypeError, match=f"^{name} is None; give an array"):
            none_is_given()
    with pytest.raises(TypeError, match="takes 2 positional arguments, not 3"):
        restride.copy(y, y, True)
    with pytest.raises(TypeError, match="no argument 'out'"):
        restride.copy(y, y, out=y)
    with pytest.raises(TypeError, match="'src' by position and by name"):
        restride.copy(y, y, src=y)
    with pytest.raises(ValueError, match="threads = -1"):
        restride.copy(y, y, threads=-1)
    with pytest.raises(TypeError, match="stream is a str"):
        restride.copy(y, y, stream="0")
    with pytest.raises(TypeError, match="^kernel is a int; give a str"):
        restride.plan(y, y.copy(), kernel=5)


def test_casts_when_told_to():
    y = np.empty((4, 3), np.float64)
    restride.copy(y, A.T, cast=True)
    assert np.array_equal(y, A.T)
    with pytest.raises(TypeError, match="complex to real"):
        restride.copy(np.empty(3), np.zeros(3, complex), cast=True)


class TestPlan:
    def test_runs_on_arrays_like_those_it_was_made_for(self):
        y = np.empty((4, 3), np.float32)
        plan = restride.plan(y, A.T)
        for k in range(3):
            plan.run(y, (A + k).T)
            assert np.array_equal(y, (A + k).T)

    def test_is_made_from_words_and_layouts(self):
        plan = restride.plan("f32 (3,480,640)", restride.layout("u8 (3,480,640):(1,1920,3)"), cast=True, threads=1)
        assert plan.dst.shape == (3, 480, 640) and plan.src.dtype == "uint8"
        assert plan.threads == 1 and plan.device == "cpu"
        assert repr(plan) == (
            "<restride.Plan u8 (3,480,640):(1,1920,3) -> f32 (3,480,640):(307200,640,1) by "
            f"{plan.kernel} on cpu>"
        )

    def test_explains_a_gpu_that_is_not_there(self):
        plan = restride.plan("f32 (64,64)", "f32 (64,64):(1,64)", device="cuda:model")
        assert plan.device == "cuda:model" and "chosen" in plan.explain()
        assert plan.to_json().startswith("{")

    def test_takes_a_kernel_by_name(self):
        assert restride.plan("f32 (8,8)", "f32 (8,8):(1,8)", kernel="gather").kernel.startswith("gather/")
        with pytest.raises(ValueError, match="no family"):
            restride.plan("f32 (8,8)", "f32 (8,8):(1,8)", kernel="nosuch")

    def test_refuses_what_it_was_not_made_for(self):
        y = np.empty((4, 3), np.float32)
        plan = restride.plan(y, A.T)
        with pytest.raises(ValueError, match=r"src is f32 \(4,3\):\(3,1\), the plan is for f32 \(4,3\):\(1,4\)"):
            plan.run(y, np.zeros((4, 3), np.float32))
        with pytest.raises(TypeError, match="dst is float64, the plan is for float32"):
            plan.run(np.empty((4, 3)), A.T)
        with pytest.raises(ValueError, match="read-only"):
            y.flags.writeable = False
            plan.run(y, A.T)

    def test_refuses_to_overlap(self):
        x = np.arange(10.0)
        plan = restride.plan(x[1:], x[:-1])
        with pytest.raises(ValueError, match="overlaps"):
            plan.run(x[1:], x[:-1])
        assert x.tolist() == list(range(10))
        # Interleaved memory is not overlapping memory.
        plan = restride.plan(x[::2], x[1::2])
        plan.run(x[::2], x[1::2])
        assert x.tolist() == [1, 1, 3, 3, 5, 5, 7, 7, 9, 9]

    def test_refuses_what_copy_refuses(self):
        with pytest.raises(ValueError, match="src.transpose"):
            restride.plan("f32 (4,3)", "f32 (3,4)")
        with pytest.raises(TypeError, match="cast=True"):
            restride.plan("f32 (4)", "u8 (4)")
        with pytest.raises(ValueError, match="write 'cpu'"):
            restride.plan("u8 (4)", "u8 (4)", device="gpu")
        with pytest.raises(ValueError, match="device is what the arrays say"):
            restride.plan(A, A, device="cpu")

    def test_of_nothing_runs(self):
        plan = restride.plan("f32 (0,3)", "f32 (0,3)")
        plan.run(np.empty((0, 3), "f4"), np.empty((0, 3), "f4"))

    def test_does_not_mind_strides_of_axes_of_extent_1(self):
        plan = restride.plan("f32 (1,3):(99,1)", "f32 (1,3)")
        y = np.empty((1, 3), "f4")
        plan.run(y, np.ones((3, 1), "f4").T)
        assert y.sum() == 3


class TestLayout:
    def test_of_an_array(self):
        layout = restride.layout(A[::-1, 1:].T)
        assert str(layout) == "f32 (3,3):(1,-4)"
        assert (layout.shape, layout.strides_bytes, layout.ndim, layout.size) == ((3, 3), (4, -16), 2, 9)
        assert (layout.dtype, layout.itemsize, layout.nbytes, layout.offset_bytes) == ("float32", 4, 36, 0)

    def test_leading_axes_of_extent_1_make_no_difference(self):
        y = np.zeros((1, 1, 3, 4), np.float32)
        restride.copy(y, A)
        assert np.array_equal(y[0, 0], A)

    def test_of_words(self):
        assert restride.layout("f32 (2,3)") == restride.layout(np.zeros((2, 3), "f4"))
        assert hash(restride.layout("f32 (2,3)")) == hash(restride.layout("f32 (2,3):(3,1)"))
        assert restride.layout("f32 (2,3)") != restride.layout("f32 (3,2)") and restride.layout("u8 (1)") != "u8 (1)"
        with pytest.raises(ValueError, match="column"):
            restride.layout("f32 (2,")

    def test_views_name_the_axis(self):
        with pytest.raises(ValueError, match="5"):
            restride.layout(A).permute((0, 5))
        with pytest.raises(ValueError, match="named twice"):
            restride.layout(A).flip((0, -2))
        with pytest.raises(ValueError, match="7"):
            restride.layout(A).flip(7)
        with pytest.raises(TypeError, match="tuple of ints"):
            restride.layout(A).reshape(2.5)

    def test_is_not_made_by_hand(self):
        with pytest.raises(TypeError):
            restride.Layout()


def test_other_threads_run_while_a_large_copy_does():
    x = np.ones((3000, 3000))
    y = np.empty_like(x)
    seen = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            seen.append(1)

    thread = threading.Thread(target=count)
    thread.start()
    for _ in range(5):
        restride.copy(y, x.T)
    stop.set()
    thread.join()
    assert seen and np.array_equal(y, x.T)


def test_many_threads_copy_at_once():
    def work(k, failures):
        rng = np.random.default_rng(k)
        for _ in range(300):
            x = rng.integers(0, 99, rng.integers(1, 40, 3))
            y = np.empty(x.shape[::-1], x.dtype)
            restride.copy(y, x.T)
            if not np.array_equal(y, x.T):
                failures.append(x.shape)

    failures = []
    threads = [threading.Thread(target=work, args=(k, failures)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_no_references_are_lost():
    import sys

    x, y = np.ones((8, 8)), np.empty((8, 8))
    plan = restride.plan(y, x.T)
    before = [sys.getrefcount(o) for o in (x, y, x.dtype, plan, None)]
    for _ in range(1000):
        restride.copy(y, x.T)
        plan.run(y, x.T)
        with pytest.raises(TypeError):
            restride.copy(y, x.astype("f4"))
    after = [sys.getrefcount(o) for o in (x, y, x.dtype, plan, None)]
    assert max(abs(a - b) for a, b in zip(after, before)) < 50
