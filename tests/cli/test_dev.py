"""./dev, where it stands for the command: in a copy of its own, with a stand-in for the build."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def root(tmp_path):
    """A copy of ./dev on a machine without a GPU, whose cmake writes down what it is called with."""
    root = tmp_path / "root"
    (root / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "dev", root)
    (root / "cmake").mkdir()
    for path in ("scripts/setup.sh", "scripts/packages.txt", "cmake/RestrideCuda.cmake"):
        shutil.copy(ROOT / path, root / path)
    setup = (root / "scripts/setup.sh").read_text()
    assert "/dev/nvidiactl" in setup
    (root / "scripts/setup.sh").write_text(setup.replace("/dev/nvidiactl", str(root / "gpu")))
    for path, text in (("build/dev/bin/restride", 'pwd; echo "$@"'), ("tools/cmake", f'echo "$@" >>"{root}/cmake.log"'),
                       (".venv/bin/python", "exit 0")):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"#!/bin/sh\n{text}\n")
        (root / path).chmod(0o755)
    return root


@pytest.fixture
def dev(root):
    """dev(folder, args...) runs ./dev from a folder; its restride prints where it runs, and its arguments."""

    def run(folder, *args, nvcc=None, cuda=None):
        env = {**os.environ, "PATH": f"{root / 'tools'}:{os.environ['PATH']}", "RESTRIDE_NO_INSTALL": "1"}
        if nvcc is not None:
            env = {name: value for name, value in env.items() if name not in ("CUDACXX", "RESTRIDE_CUDA")}
            env |= {"RESTRIDE_CUDA": cuda} if cuda else {}
            (root / "tools/nvcc").write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {nvcc}, V{nvcc}.99'\n")
            (root / "tools/nvcc").chmod(0o755)
            return subprocess.run([root / "dev", *args], cwd=folder, env=env, capture_output=True, text=True).stdout
        return subprocess.run([root / "dev", *args], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout.splitlines()

    return run


@pytest.fixture
def configured(root, dev):
    """configured(args...): RESTRIDE_CUDA as ./dev hands it to CMake where there is an nvcc; None where it does not."""

    def run(*args, cuda=None):
        (root / "cmake.log").unlink(missing_ok=True)
        (root / "build/dev/bin/restride").unlink(missing_ok=True)  # so that run and bench build
        dev(root, *args, nvcc="13.0", cuda=cuda)
        words = [line for line in (root / "cmake.log").read_text().splitlines() if "--preset" in line][0].split()
        return next((word.removeprefix("-DRESTRIDE_CUDA=") for word in words if "RESTRIDE_CUDA" in word), None)

    return run


@pytest.mark.parametrize("command", ["demo", "build", "run", "bench"])
def test_the_command_alone_has_kernels_only_where_a_gpu_is_or_they_are_asked_for(root, configured, command):
    assert configured(command) == "OFF"
    assert configured(command, cuda="ON") == "ON"
    (root / "gpu").touch()
    assert configured(command) == "AUTO"
    assert configured(command, cuda="OFF") == "OFF"


@pytest.mark.parametrize("command", ["test", "gpu-test"])
def test_the_tests_have_kernels_wherever_they_compile(configured, command):
    assert configured(command) == "AUTO"
    assert configured(command, cuda="OFF") == "OFF"


def test_a_build_folder_with_kernels_keeps_them(root, configured):
    cache = root / "build/dev/CMakeCache.txt"
    compiler = "CMAKE_CUDA_COMPILER:FILEPATH=/usr/local/cuda/bin/nvcc\n"
    cache.write_text(compiler + "RESTRIDE_CUDA:STRING=AUTO\n")
    assert configured("demo") == "AUTO"
    for without in (compiler + "RESTRIDE_CUDA:STRING=OFF\n", "RESTRIDE_CUDA:STRING=AUTO\n",
                    "CMAKE_CUDA_COMPILER:FILEPATH=CMAKE_CUDA_COMPILER-NOTFOUND\nRESTRIDE_CUDA:STRING=AUTO\n"):
        cache.write_text(without)
        assert configured("demo") == "OFF"
        assert configured("test") == "AUTO"


def test_sanitizers_build_what_their_preset_says(configured):
    assert configured("asan") is None


@pytest.mark.parametrize("release, used", [("11.8", False), ("12.0", False), ("12.4", True), ("12.10", True), ("13.0", True)])
def test_an_nvcc_on_the_path_is_used_when_it_is_new_enough(dev, tmp_path, release, used):
    out = dev(tmp_path, "gpu-test", nvcc=release)
    assert (f"nvcc is not used: it is of CUDA {release}, and 12.4 is the oldest" not in out) == used
    assert ("no CUDA compiler to use" not in out) == used
    assert "configure dev" in out


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


def test_every_package_that_is_missing_is_named_with_its_purpose():
    lacking = ". scripts/setup.sh; dpkg-query() { return 1; }; provided() { return 1; }; installed() { return 1; }; need build"
    done = subprocess.run(["bash", "-c", lacking], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "RESTRIDE_NO_INSTALL": "1"})
    wanted = [line for line in (ROOT / "scripts/packages.txt").read_text().splitlines() if "build," in line]
    assert done.returncode == 1 and done.stdout.splitlines()[1:] == wanted
    assert "g++" in done.stderr


def test_clang_has_a_build_folder_of_its_own(root, dev):
    (root / "tools/clang").write_text("#!/bin/sh\n")
    (root / "tools/clang").chmod(0o755)
    dev(root, "clang", nvcc="13.0")
    configure, build = (root / "cmake.log").read_text().splitlines()[:2]
    assert configure.startswith("--preset clang") and "RESTRIDE_CUDA" not in configure
    assert build.startswith("--build --preset clang")


def test_lint_reads_how_each_source_would_be_compiled_and_compiles_none(root, dev):
    for path, text in (("tools/dpkg-query", "echo install ok installed"), ("scripts/lint.sh", 'echo "lint.sh $*" >>cmake.log')):
        (root / path).write_text(f"#!/bin/sh\n{text}\n")
        (root / path).chmod(0o755)
    dev(root, "lint", nvcc="13.0")
    steps = (root / "cmake.log").read_text().splitlines()
    assert [step.split(" -")[0] for step in steps] == ["lint.sh has-format", "--preset lint", "--build", "lint.sh all"]
    assert "--target restride_bench_commit" in steps[2]  # a header of tools/bench
    presets = {preset["name"]: preset for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
    assert presets["lint"]["cacheVariables"] == {"RESTRIDE_GROUPED": "OFF"} and presets["lint"]["inherits"] == "dev"
