"""The compiled half of restride.torch.enable(). Programs use restride.torch; this loads the kernel and starts it on request.

Built for one minor release of torch, and for one of restride: load() refuses others.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import sys

__all__ = ["autoload", "load"]

_library: ctypes.CDLL | None = None


def _minor(version: str) -> str:
    return ".".join(version.split("+")[0].split(".")[:2])


def load() -> ctypes.CDLL:
    """The kernel's functions. Raises RuntimeError where it was built for another torch or restride."""
    global _library
    if _library is not None:
        return _library
    import restride  # brings librestride.so, which the kernel is linked to
    import torch

    from restride_torch import _built

    again = "pip install --no-build-isolation --force-reinstall --no-deps restride-torch"
    cuda = torch.version.cuda if _built.CUDA is not None else None
    if _minor(torch.__version__) != _minor(_built.TORCH) or cuda != _built.CUDA:
        raise RuntimeError(f"restride-torch was built for torch {_built.TORCH}, this is {torch.__version__}; {again}")
    if _minor(restride.__version__) != _minor(_built.RESTRIDE):
        raise RuntimeError(
            f"restride-torch was built for restride {_built.RESTRIDE}, this is {restride.__version__}; {again}"
        )
    (file,) = pathlib.Path(__file__).parent.glob("_kernels*.so")
    try:
        library = ctypes.CDLL(str(file))
    except OSError as error:
        raise RuntimeError(f"restride-torch cannot be loaded: {error}; {again}") from None
    library.restride_torch_enable.restype = ctypes.c_char_p
    library.restride_torch_enable.argtypes = [ctypes.c_int64, ctypes.c_char_p]
    library.restride_torch_stats.restype = ctypes.c_char_p
    library.restride_torch_stats.argtypes = [ctypes.c_int]
    _library = library
    return library


def autoload() -> None:
    """Called by torch when it has been imported: RESTRIDE_TORCH=1 turns restride on, and never breaks a program."""
    if os.environ.get("RESTRIDE_TORCH", "") not in ("1", "on"):
        return
    try:
        from restride import _drop_in

        _drop_in.enable()
    except Exception as error:  # the program runs without it
        print(f"restride: torch is left alone: {error}", file=sys.stderr)
