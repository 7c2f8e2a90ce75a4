"""Compiles the kernel against the torch and the restride that are installed, and notes which they were."""
import importlib.metadata
import pathlib

import restride
import setuptools
import torch
from torch.utils import cpp_extension

HERE = pathlib.Path(__file__).resolve().parent
RESTRIDE = importlib.metadata.version("restride")
with_cuda = torch.version.cuda is not None and cpp_extension.CUDA_HOME is not None
libraries = pathlib.Path(restride.get_library())

(HERE / "restride_torch" / "_built.py").write_text(
    "# Written by setup.py: what the kernel was compiled against.\n"
    f'TORCH = "{torch.__version__}"\nCUDA = {torch.version.cuda if with_cuda else None!r}\nRESTRIDE = "{RESTRIDE}"\n'
)
try:
    includes = cpp_extension.include_paths("cuda" if with_cuda else "cpu")
except TypeError:  # before torch 2.6
    includes = cpp_extension.include_paths(with_cuda)
kernel = setuptools.Extension(
    "restride_torch._kernels",
    ["src/copies.cc", "src/kernels.cc"],
    depends=["src/copies.h"],
    include_dirs=[restride.get_include(), *includes],
    library_dirs=cpp_extension.library_paths("cuda" if with_cuda else "cpu"),
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
