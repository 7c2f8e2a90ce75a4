"""The C ABI of restride/distributed.h, and its errors as exceptions."""

from __future__ import annotations

import ctypes
import math
import pathlib
from typing import Any

from restride._info import get_library


class AgreementError(RuntimeError):
    """Ranks called with different arguments, or one of them could not take part; the message names them."""


class DeadlineError(TimeoutError):
    """A rank did not come before the deadline; the message names it. The communicator says whether it is usable."""


class Tensor(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
        ("extents", ctypes.POINTER(ctypes.c_int64)), ("strides_bytes", ctypes.POINTER(ctypes.c_int64)),
        ("element_bytes", ctypes.c_int64), ("offset_bytes", ctypes.c_int64), ("align_bytes", ctypes.c_int64),
    ]  # fmt: skip


class Side(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("distribution", ctypes.c_char_p), ("dtype", ctypes.c_int32),
        ("regions", ctypes.c_int32), ("element_bytes", ctypes.c_int64), ("local", ctypes.POINTER(Tensor)),
    ]  # fmt: skip


class Options(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("deadline_ms", ctypes.c_int64), ("method", ctypes.c_int32),
        ("check_runs", ctypes.c_int32), ("threads", ctypes.c_int32), ("check_pairs", ctypes.c_int32),
        ("most_workspace_bytes", ctypes.c_int64), ("device", ctypes.c_int32), ("cuda_device", ctypes.c_int32),
    ]  # fmt: skip


class Message(ctypes.Structure):
    _fields_ = [("peer", ctypes.c_int64), ("data", ctypes.c_void_p), ("bytes", ctypes.c_int64)]


_WHY = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_size_t]  # what for, milliseconds; the error's words
Allgather = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, *_WHY)
Exchange = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Message), ctypes.c_int32, ctypes.POINTER(Message), ctypes.c_int32,
    *_WHY,
)  # fmt: skip
Abort = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class Functions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("user", ctypes.c_void_p), ("rank", ctypes.c_int32), ("size", ctypes.c_int32),
        ("engine", ctypes.c_char_p), ("allgather", Allgather), ("exchange", Exchange), ("abort", Abort),
    ]  # fmt: skip


librestride = ctypes.CDLL(get_library())
lib = ctypes.CDLL(str(next(pathlib.Path(get_library()).parent.glob("librestride_distributed.so.*"))))
lib.restride_distributed_last_error.restype = ctypes.c_char_p
lib.restride_comm_destroy.restype = lib.restride_exchange_destroy.restype = None

_ERRORS: dict[int, type[Exception]] = {
    4: TypeError, 7: RuntimeError, 8: MemoryError, 9: OSError, 10: RuntimeError, 11: RuntimeError, 12: AgreementError,
    13: DeadlineError,
}  # fmt: skip
METHODS = {None: 0, "direct": 1, "messages": 2, "alltoallv": 3, "alltoallw": 4}


def check(status: int) -> None:
    if status != 0:
        raise _ERRORS.get(status, ValueError)(lib.restride_distributed_last_error().decode())


def text_of(function: Any, *arguments: Any) -> str:
    length = ctypes.c_size_t()
    check(function(*arguments, None, ctypes.c_size_t(0), ctypes.byref(length)))
    buffer = ctypes.create_string_buffer(length.value + 1)
    check(function(*arguments, buffer, ctypes.c_size_t(len(buffer)), None))
    return buffer.value.decode()


def milliseconds(deadline: float) -> ctypes.c_int64:
    return ctypes.c_int64(math.ceil(min(deadline * 1000, 2**53)) if deadline > 0 else 0)
