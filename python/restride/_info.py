"""What is installed, and what an extension needs to build against it."""

from __future__ import annotations

import pathlib
from typing import Any

from restride import _core

__version__: str = _core._info()["version"]


class Info(dict[str, Any]):
    """What restride.info() tells: a dictionary that prints as lines."""

    def __str__(self) -> str:
        lines = [f"restride {self['version']}", f"library  {self['library']}", f"cpu      {self['cpu']}"]
        cuda = self["cuda"]
        if cuda["built"]:
            lines.append(f"gpu code {cuda['architectures']}, by CUDA {cuda['runtime_version'] / 1000:.1f}")
        for device in cuda["devices"]:
            memory = device["memory_bytes"] / 2**30
            lines.append(f"cuda:{device['index']}   {device['name']}, {memory:.0f} GiB")
        if cuda["reason"]:
            lines.append(f"no gpu   {cuda['reason']}")
        return "\n".join(lines)


def info() -> Info:
    """What this restride is and finds: version, library, CPU, GPU code, GPUs and why not. Copies nothing.

    Cost: the first call starts the CUDA driver where there is one.

    >>> restride.info()["version"] == restride.__version__
    True
    """
    said = Info(_core._info())
    said["library"] = get_library()
    # The machine as plans see it: the first words of explain's line `device`.
    explained = _core.plan("u8 (67108864)", "u8 (67108864)").explain()
    device = next(line for line in explained.splitlines() if line.startswith("device"))
    said["cpu"] = device.split(None, 1)[1]
    return said


def get_include() -> str:
    """The folder of restride/restride.h and the C++ headers, for extensions that link get_library(). Copies nothing."""
    return str(pathlib.Path(__file__).parent / "include")


def get_library() -> str:
    """The path of the shared library that this package runs on; its C functions are its ABI. Copies nothing.

    >>> pathlib.Path(restride.get_library()).exists()
    True
    """
    return str(next(pathlib.Path(__file__).parent.glob("librestride.so.*")))
