"""Ways into restride: DLPack of every version, buffers, array interfaces; what each of them may not be used for."""
import array
import ctypes
import mmap

import ml_dtypes
import numpy as np
import pytest

import restride

# ---- a producer of DLPack capsules, as odd as the format allows


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", DLTensor),
    ]  # fmt: skip


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Producer:
    """An array of floats behind __dlpack__."""

    def __init__(self, values, *, versioned=True, strides=True, offset=0, flags=0, device=(1, 0), code=(2, 32, 1), major=1):
        self.array = np.asarray(values, np.float32)
        self.versioned, self.offset, self.device, self.flags, self.major = versioned, offset, device, flags, major
        self.code, self.with_strides = code, strides
        self.deleted = 0
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **asked):
        if not self.versioned and "max_version" in asked:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.asked.append(asked)
        a = self.array
        self.shape = (ctypes.c_int64 * max(a.ndim, 1))(*a.shape)
        self.strides = (ctypes.c_int64 * max(a.ndim, 1))(*(s // 4 for s in a.strides))
        address = a.ctypes.data - self.offset if a.size else None
        tensor = DLTensor(address, *self.device, a.ndim, *self.code, self.shape,
                          self.strides if self.with_strides else None, self.offset)  # fmt: skip

        def delete(_):
            self.deleted += 1

        self.keep = DELETER(delete)
        deleter = ctypes.cast(self.keep, ctypes.c_void_p).value
        if self.versioned:
            self.managed = Versioned(self.major, 0, None, deleter, self.flags, tensor)
            return new_capsule(ctypes.addressof(self.managed), b"dltensor_versioned", None)
        self.managed = Managed(tensor, None, deleter)
        return new_capsule(ctypes.addressof(self.managed), b"dltensor", None)


class Old(Producer):
    """Of before DLPack 1.0: takes nothing but stream."""

    def __dlpack__(self, stream=None):
        return super().__dlpack__()


X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("offset", [0, 20])
def test_dlpack_capsules_are_read_and_given_back(versioned, offset):
    producer = Producer(X[:, ::2], versioned=versioned, offset=offset)
    y = np.zeros((3, 2), np.float32)
    restride.copy(y, producer)
    assert np.array_equal(y, X[:, ::2]) and producer.deleted == 1
    assert producer.asked[-1].get("max_version", (1, 3)) == (1, 3) and "stream" not in producer.asked[-1]


def test_old_producers_are_asked_without_a_version():
    y = np.zeros((3, 4), np.float32)
    old = Old(X, versioned=False)
    restride.copy(y, old)
    assert np.array_equal(y, X) and old.deleted == 1


def test_a_capsule_without_a_version_is_no_destination():
    # It cannot say that it is read-only; NumPy takes it as that, too.
    for producer in (Producer(np.zeros((3, 4)), versioned=False), Old(np.zeros((3, 4)), versioned=False)):
        assert not np.from_dlpack(producer).flags.writeable
        for write in (
            lambda: restride.copy(producer, X),
            lambda: restride.plan(X.copy(), X).run(producer, X),
            lambda: restride.contiguous(X, out=producer),
            lambda: restride.permute_copy(X.T, (1, 0), out=producer),
        ):
            with pytest.raises(ValueError, match="DLPack capsule without a version.*give torch.from_dlpack"):
                write()
        assert not producer.array.any()


def test_a_capsule_without_a_version_is_written_to_where_its_array_interface_allows_it():
    for read_only in (False, True):
        producer = Old(np.zeros((3, 4)), versioned=False)
        producer.__array_interface__ = {"data": (0, read_only)}  # asked for nothing else
        if read_only:
            with pytest.raises(ValueError, match="without a version"):
                restride.copy(producer, X)
        else:
            restride.copy(producer, X)
        assert np.array_equal(producer.array, np.zeros((3, 4)) if read_only else X) and producer.deleted == 1


def test_torch_vouches_for_a_capsule_without_a_version():
    torch = pytest.importorskip("torch")
    producer = Old(np.zeros((3, 4)), versioned=False)
    restride.copy(torch.from_dlpack(producer), X)
    assert np.array_equal(producer.array, X)


def test_dlpack_without_strides_is_dense():
    y = np.zeros((3, 4), np.float32)
    restride.copy(y, Producer(X, strides=False))
    assert np.array_equal(y, X)


def test_dlpack_is_written_to():
    producer = Producer(np.zeros((4, 3), np.float32))
    restride.copy(producer, X.T)
    assert np.array_equal(producer.array, X.T) and producer.deleted == 1


@pytest.mark.parametrize("shape", [(), (0,), (2, 0)])
def test_dlpack_of_size_0_and_rank_0(shape):
    producer = Producer(np.ones(shape, np.float32))
    y = np.zeros(shape, np.float32)
    restride.copy(y, producer)
    assert np.array_equal(y, producer.array) and producer.deleted == 1


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"flags": 1}, ValueError, "read-only"),
        ({"flags": 2}, BufferError, "copied by its own __dlpack__"),
        ({"major": 2}, BufferError, "DLPack 2"),
        ({"code": (2, 32, 4)}, TypeError, "dst is b16"),
        ({"code": (17, 4, 1)}, TypeError, "4 bits"),
        ({"code": (1, 1, 1)}, TypeError, "1 bits"),
        ({"device": (8, 0)}, BufferError, "metal:0"),
        ({"device": (2, 3)}, RuntimeError, "dst is on cuda:3 and src on the CPU.*bring one side over"),
    ],
)
def test_dlpack_that_is_no_destination(options, error, message):
    producer = Producer(np.zeros((3, 4), np.float32), **options)
    with pytest.raises(error, match=message):
        restride.copy(producer, X)
    assert producer.deleted == 1 and not producer.array.any()


def test_read_only_dlpack_is_a_source():
    y = np.zeros((3, 4), np.float32)
    restride.copy(y, Producer(X, flags=1))
    assert np.array_equal(y, X)


def test_a_stream_is_told_to_the_producer():
    # No GPU is touched: the devices are looked at after both arrays have been opened, and differ.
    for asked, told in [(None, None), (7, -1)]:
        producer = Producer(X, device=(2, 0))
        with pytest.raises(RuntimeError, match="src on cuda:0"):
            restride.copy(np.zeros((3, 4), np.float32), producer, stream=asked)
        assert producer.asked[-1]["stream"] == (1 if told is None else told)


def test_a_capsule_is_not_taken_twice():
    class Twice(Producer):
        def __dlpack__(self, **asked):
            if not self.asked:
                self.capsule = super().__dlpack__(**asked)
            return self.capsule

    producer = Twice(X)
    y = np.zeros((3, 4), np.float32)
    restride.copy(y, producer)
    with pytest.raises(BufferError, match="no fresh DLPack capsule"):
        restride.copy(y, producer)
    assert producer.deleted == 1


def test_errors_of_a_producer_arrive():
    class Broken(Producer):
        def __dlpack__(self, **asked):
            raise BufferError("this one shares nothing")

    with pytest.raises(BufferError, match="src .*Broken.* this one shares nothing"):
        restride.copy(np.zeros((3, 4), np.float32), Broken(X))


# ---- buffers


@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_arrays_of_the_standard_library(code):
    x, y = array.array(code, [1, 2, 3]), array.array(code, [0, 0, 0])
    restride.copy(y, x)
    assert y == x
    restride.copy(memoryview(y)[::-1], x)
    assert y.tolist() == [3, 2, 1]


def test_bytes_bytearrays_and_mappings():
    y = bytearray(6)
    restride.copy(y, b"abcdef")
    assert y == b"abcdef"
    with mmap.mmap(-1, 6) as mapped:
        restride.copy(mapped, y)
        assert mapped[:] == b"abcdef"
    with pytest.raises(ValueError, match="read-only"):
        restride.copy(b"abcdef", y)


def test_ctypes_arrays():
    x = ((ctypes.c_int16 * 3) * 2)((1, 2, 3), (4, 5, 6))
    y = np.zeros((2, 3), np.int16)
    restride.copy(y, x)
    assert y.tolist() == [[1, 2, 3], [4, 5, 6]]
    big = (ctypes.c_uint16.__ctype_be__ * 2)(1, 2)
    with pytest.raises(TypeError, match="byte order"):
        restride.copy(np.zeros(2, "u2"), big)


def test_a_released_buffer_is_refused():
    view = memoryview(bytearray(4))
    view.release()
    with pytest.raises(ValueError, match="released"):
        restride.copy(np.zeros(4, "u1"), view)


def test_a_buffer_is_released_again():
    y = bytearray(4)
    restride.copy(y, b"abcd")
    y.append(1)  # BufferError while somebody holds it


def test_results_without_any_framework_are_memoryviews():
    y = restride.contiguous(memoryview(b"abcdef")[::-2])
    assert isinstance(y, memoryview) and bytes(y) == b"fdb"
    y = restride.permute_copy(memoryview(bytes(range(6))).cast("B", (2, 3)), (1, 0), dtype="float32")
    assert y.tolist() == [[0, 3], [1, 4], [2, 5]] and y.format == "f"
    assert restride.contiguous(memoryview(array.array("d", [1.5]))).tolist() == [1.5]


# ---- array interfaces


class Interface:
    def __init__(self, **interface):
        self.__array_interface__ = {"version": 3, **interface}


def test_array_interface():
    x = X.T
    i = x.__array_interface__
    y = np.zeros(x.shape, np.float32)
    restride.copy(y, Interface(shape=i["shape"], typestr=i["typestr"], data=i["data"], strides=i["strides"]))
    assert np.array_equal(y, x)
    y[...] = 0
    restride.copy(Interface(shape=y.shape, typestr="<f4", data=(y.ctypes.data, False), strides=None), x)
    assert np.array_equal(y, x)


@pytest.mark.parametrize(
    "interface, error, message",
    [
        ({"data": (0, True)}, ValueError, "read-only"),
        ({"typestr": ">f4"}, TypeError, "byte order"),
        ({"typestr": "|O8"}, TypeError, "Python objects"),
        ({"mask": X}, TypeError, "masked"),
        ({"data": None}, TypeError, "data"),
        ({"strides": (4,)}, TypeError, "different lengths"),
        ({"data": (0, False)}, ValueError, "null"),
    ],
)
def test_array_interfaces_that_will_not_do(interface, error, message):
    good = {"shape": (3, 4), "typestr": "<f4", "data": (X.copy().ctypes.data, False), "strides": None}
    with pytest.raises(error, match=message):
        restride.copy(Interface(**{**good, **interface}), X)


class OnCuda:
    def __init__(self, stream):
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (3, 4), "typestr": "<f4", "data": (4096, False), "strides": None, "stream": stream,
        }  # fmt: skip


def test_cuda_array_interface_is_of_a_gpu():
    with pytest.raises(RuntimeError, match="dst is on the CPU and src on cuda"):
        restride.copy(np.zeros((3, 4), "f4"), OnCuda(None))
    assert restride.layout(OnCuda(5)).shape == (3, 4)


# ---- NumPy's own


def test_subclasses_and_scalars_of_numpy():
    y = np.zeros((2, 2))
    restride.copy(y, np.array([[1.0, 2], [3, 4]]).view(type("Mine", (np.ndarray,), {})))
    assert y.tolist() == [[1, 2], [3, 4]]
    one = np.zeros(())
    restride.copy(one, np.float64(5))
    assert one == 5


def test_memory_mapped_files(tmp_path):
    x = np.memmap(tmp_path / "x", np.float32, "w+", shape=(3, 4))
    restride.copy(x, X)
    x.flush()
    assert np.array_equal(np.fromfile(tmp_path / "x", np.float32).reshape(3, 4), X)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "int4"])
def test_ml_dtypes(name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    x = np.arange(6).astype(dtype).reshape(2, 3)
    y = np.zeros((3, 2), dtype)
    restride.copy(y, x.T)
    assert y.tobytes() == np.ascontiguousarray(x.T).tobytes()
    if restride.layout(x).dtype[0] == "b" and name != "bfloat16":
        with pytest.raises(TypeError, match=f"dst is float32 and src {name}"):
            restride.copy(np.zeros((3, 2), "f4"), x.T, cast=True)


def test_another_layout_of_numpy_arrays_would_be_noticed():
    # Arrays by __array_interface__, which serves where NumPy's fields lie elsewhere, give the same layouts.
    class Wrapped:
        def __init__(self, x):
            self.__array_interface__, self.dtype = x.__array_interface__, x.dtype

    for x in (X.T[::2], np.zeros((2, 0)), np.zeros(3, "M8[s]"), np.ones(4, ml_dtypes.bfloat16)[::-1]):
        assert restride.layout(Wrapped(x)) == restride.layout(x) or x.size == 0
