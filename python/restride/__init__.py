"""restride: copies of strided arrays at the speed of a plain copy.

Hand it the array you have: NumPy, PyTorch, CuPy, JAX, anything with DLPack or a buffer. What comes back is of the same
kind. docs/python.md is the tutorial; every function's docstring has shapes, strides, aliasing, streams, errors, cost.

>>> image = np.zeros((480, 640, 3), np.uint8)
>>> planes = restride.permute_copy(image, (2, 0, 1), dtype=np.float32)
>>> planes.shape, planes.dtype, planes.flags.c_contiguous
((3, 480, 640), dtype('float32'), True)
"""

from restride._bench import bench
from restride._copies import contiguous, flip_copy, permute_copy, rearrange, repeat
from restride._core import Layout, Plan, copy, layout, plan
from restride._info import __version__, get_include, get_library, info

__all__ = [
    "Layout",
    "Plan",
    "bench",
    "contiguous",
    "copy",
    "flip_copy",
    "get_include",
    "get_library",
    "info",
    "layout",
    "permute_copy",
    "plan",
    "rearrange",
    "repeat",
]
