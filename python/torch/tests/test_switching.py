"""On and off, what stats tell, whole programs, and the source distribution."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import pytest
import torch

import restride.torch

pytest.importorskip("restride_torch")


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment})


STATE = "import torch, restride.torch, json; x = torch.rand(64, 64)\n"


def test_off_until_it_is_enabled_and_off_again():
    code = STATE + (
        "def taken(): restride.torch.stats(reset=True); x.T.contiguous(); return restride.torch.stats().seen\n"
        "a = taken(); restride.torch.enable(min_bytes=0); b = taken(); restride.torch.enable(); c = taken()\n"
        "restride.torch.disable(); d = taken(); restride.torch.disable()\n"
        "print(json.dumps([a, b, c, d]))"
    )
    ran = run(code)
    assert json.loads(ran.stdout) == [0, 1, 1, 0]
    assert ran.stderr.count("\n") == 1 and "copies by restride" in ran.stderr and "Warning" not in ran.stderr


def test_a_variable_turns_it_on():
    code = "import torch; x = torch.rand(128, 128).T.contiguous(); import restride._drop_in as d; print(d._on and d._on[1], d.stats().taken if d._on else 0)"
    assert run(code, RESTRIDE_TORCH="1").stdout.split() == ["16384", "1"]
    assert run(code, RESTRIDE_TORCH="0").stdout.split() == ["None", "0"]
    quiet = run(code, RESTRIDE_TORCH="1", RESTRIDE_QUIET="1")
    assert quiet.stderr == ""


def test_another_s_kernel_is_named_and_left_alone():
    code = STATE + (
        "library = torch.library.Library('aten', 'IMPL')\n"
        "def mine(self, src, non_blocking=False): print('mine'); return self\n"
        "library.impl('copy_', mine, 'CPU')\n"
        "try: restride.torch.enable()\n"
        "except RuntimeError as error: print(error)\n"
        "torch.zeros(2).copy_(torch.ones(2))"
    )
    ran = run(code)
    assert "aten::copy_ has another kernel for CPU already, registered at" in ran.stdout
    assert ran.stdout.rstrip().endswith("mine")


def test_a_torch_that_it_was_not_built_for_is_left_alone():
    code = (
        "import restride_torch._built as b; b.TORCH = '1.2.3'\n"
        "import torch, restride_torch; restride_torch.autoload(); print(torch.ones(2, 2).T.contiguous().sum().item())"
    )
    ran = run("import os, sys; sys.modules.pop('torch', None)\n" + code, RESTRIDE_TORCH="1", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert "torch is left alone: restride-torch was built for torch 1.2.3" in ran.stderr and ran.stdout == "4.0\n"


def test_what_was_on_stays_on_where_another_s_kernel_is_in_the_way():
    code = STATE + (
        "restride.torch.enable(('copy_',), 0)\n"
        "library = torch.library.Library('aten', 'IMPL')\n"
        "library.impl('roll', lambda self, shifts, dims=(): self.clone(), 'CPU')\n"
        "try: restride.torch.enable(('copy_', 'roll'), 0)\n"
        "except RuntimeError as error: print(error)\n"
        "restride.torch.stats(reset=True); x.T.contiguous(); x.roll(1, 0)\n"
        "print(restride.torch.stats().operators['copy_'], restride.torch.stats().operators['roll'])\n"
        "restride.torch.disable(); print(torch.equal(x.T.contiguous(), x.T))"
    )
    lines = run(code).stdout.splitlines()
    assert "aten::roll has another kernel for CPU already" in lines[0]
    assert lines[1] in ("(1, 1) (0, 0)", "(2, 1) (0, 0)") and lines[2] == "True"


def test_arguments():
    with pytest.raises(ValueError, match="give some of"):
        restride.torch.enable(ops=("add",))
    with pytest.raises(ValueError, match="min_bytes"):
        restride.torch.enable(min_bytes=-1)
    with pytest.raises(TypeError, match=r"^min_bytes is a str; give an int"):
        restride.torch.enable(min_bytes="x")
    with pytest.raises(TypeError, match=r"^ops is 'copy_'; give a list, \['copy_'\]"):
        restride.torch.enable("copy_")
    for wrong in ("nope", 5):
        with pytest.raises(TypeError, match=rf"^ops is {wrong!r}; give a list, some of \['copy_', 'cat'"):
            restride.torch.enable(ops=wrong)


def test_stats_name_where_time_went():
    x = torch.randn(1024, 1024)
    restride.torch.stats(reset=True)
    for _ in range(3):
        x.T.contiguous()
    stats = restride.torch.stats()
    assert stats.taken == 3 and stats.bytes == 3 * 4 * 1024**2 and stats.nanoseconds > 0
    assert stats.most[0].copy == "f32 (1024,1024):(1,1024) -> f32 (1024,1024):(1024,1)" and stats.most[0].calls == 3
    assert "f32 (1024,1024)" in str(stats) and "3 by restride" in str(stats)


def test_programs_compute_the_same_bits():
    programs = pathlib.Path(__file__).parent.parent / "bench" / "programs.py"
    command = [sys.executable, programs, "--seconds", "0", "--scale", "0.13"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == 7 and sum(not line.endswith(" 0 copies by restride") for line in lines) >= 5, ran.stdout


def test_the_source_distribution_holds_what_a_build_needs(tmp_path):
    folder = shutil.copytree(pathlib.Path(__file__).parents[1], tmp_path / "torch", ignore=shutil.ignore_patterns("build", "*.egg-info", "_built.py"))  # fmt: skip
    code = f"from setuptools.build_meta import build_sdist; build_sdist({str(tmp_path)!r})"
    ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    (archive,) = tmp_path.glob("restride_torch-*.tar.gz")
    names = {name.partition("/")[2] for name in tarfile.open(archive).getnames()}
    assert {"setup.py", "pyproject.toml", "README.md", "restride_torch/__init__.py"} <= names
    assert {f"src/{file.name}" for file in (folder / "src").iterdir()} <= names
