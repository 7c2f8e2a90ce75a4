"""./dev, where it stands for the command: in a copy of its own, with a stand-in for the build."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def dev(tmp_path):
    """dev(folder, args...) runs ./dev from a folder; its restride prints where it runs, and its arguments."""
    root = tmp_path / "root"
    (root / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "dev", root)
    (root / "cmake").mkdir()
    for path in ("scripts/setup.sh", "scripts/packages.txt", "cmake/RestrideCuda.cmake"):
        shutil.copy(ROOT / path, root / path)
    for path, text in (("build/dev/bin/restride", 'pwd; echo "$@"'), ("tools/cmake", "exit 0")):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"#!/bin/sh\n{text}\n")
        (root / path).chmod(0o755)

    def run(folder, *args, nvcc=None):
        env = {**os.environ, "PATH": f"{root / 'tools'}:{os.environ['PATH']}", "RESTRIDE_NO_INSTALL": "1"}
        if nvcc is not None:
            env = {name: value for name, value in env.items() if name not in ("CUDACXX", "RESTRIDE_CUDA")}
            (root / "tools/nvcc").write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {nvcc}, V{nvcc}.99'\n")
            (root / "tools/nvcc").chmod(0o755)
            return subprocess.run([root / "dev", *args], cwd=folder, env=env, capture_output=True, text=True).stdout
        return subprocess.run([root / "dev", *args], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout.splitlines()

    return run


@pytest.mark.parametrize("release, used", [("11.8", False), ("12.0", False), ("12.4", True), ("12.10", True), ("13.0", True)])
def test_an_nvcc_on_the_path_is_used_when_it_is_new_enough(dev, tmp_path, release, used):
    out = dev(tmp_path, "build", nvcc=release)
    assert (f"nvcc is not used: it is of CUDA {release}, and 12.4 is the oldest" not in out) == used
    assert ("no CUDA compiler to use" in out) <= (not used)  # a machine with a GPU would take one from PyPI now
    assert ("configure dev" in out) or not used


def test_a_compiler_from_pypi_gets_the_names_that_its_wheels_leave_out(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libcudart.so.13").touch()
    for _ in range(2):  # again where it is done already
        subprocess.run(["bash", "-ec", f". scripts/setup.sh; complete_private_cuda {tmp_path}"], cwd=ROOT, check=True)
    for name in ("libcudart.so", "libcudart.so.13"):
        assert (tmp_path / "lib64" / name).exists()


def test_paths_behind_run_and_bench_are_the_callers(dev, tmp_path):
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    assert dev(elsewhere, "run", "copy", "in.npy") == [str(elsewhere), "copy in.npy"]
    assert dev(elsewhere, "bench", "--json", "out.json") == [str(elsewhere), "bench --json out.json"]
    assert dev(tmp_path / "root", "run", "info") == [str(tmp_path / "root"), "info"]
