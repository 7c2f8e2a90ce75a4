"""Compiles the kernel against the torch and the restride that are installed, and notes which they were."""
import importlib.metadata
import pathlib
import warnings

import restride
import setuptools
import torch
from torch.utils import cpp_extension

HERE = pathlib.Path(__file__).resolve().parent
RESTRIDE = importlib.metadata.version("restride")


def cuda_headers():
    """The folder of CUDA's headers: of the toolkit, else of the wheels that torch came with; None without CUDA."""
    if torch.version.cuda is None:
        return None
    wheels = pathlib.Path(torch.__file__).resolve().parents[1] / "nvidia"
    places = [wheels / f"cu{torch.version.cuda.split('.')[0]}", wheels / "cuda_runtime"]
    if cpp_extension.CUDA_HOME is not None:
        places.insert(0, pathlib.Path(cpp_extension.CUDA_HOME))
    for place in places:
        if all((place / "include" / name).is_file() for name in ("cuda_runtime_api.h", "crt/host_defines.h")):
            return place / "include"
    warnings.warn(
        f"torch has CUDA {torch.version.cuda}, but no headers of it were found: copies on GPUs are left to torch. Set "
        "CUDA_HOME to a toolkit, or install nvidia-cuda-runtime and nvidia-cuda-crt from PyPI, and build again"
    )
    return None


headers = cuda_headers()
with_cuda = headers is not None
libraries = pathlib.Path(restride.get_library())

(HERE / "restride_torch" / "_built.py").write_text(
    "# Written by setup.py: what the kernel was compiled against.\n"
    f'TORCH = "{torch.__version__}"\nCUDA = {torch.version.cuda if with_cuda else None!r}\nRESTRIDE = "{RESTRIDE}"\n'
)
kernel = setuptools.Extension(
    "restride_torch._kernels",
    ["src/copies.cc", "src/kernels.cc"],
    depends=["src/copies.h"],
    include_dirs=[restride.get_include(), *cpp_extension.include_paths(), *([str(headers)] if with_cuda else [])],
    library_dirs=cpp_extension.library_paths(),
    libraries=["torch_cpu", "c10", *(["c10_cuda"] if with_cuda else [])],
    extra_objects=[str(libraries)],
    # OpenMP without its library: torch's own threads are to be used, by the library that torch has loaded.
    extra_compile_args=["-std=c++20", "-O2", "-g0", "-fopenmp", "-fvisibility=hidden", "-Wall",
                        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
                        *(["-DRESTRIDE_TORCH_CUDA"] if with_cuda else [])],  # fmt: skip
    language="c++",
)
setuptools.setup(
    version=RESTRIDE,
    install_requires=[f"restride=={RESTRIDE}", "torch"],
    ext_modules=[kernel],
)
