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
    shutil.copy(ROOT / "scripts/setup.sh", root / "scripts")
    for path, text in (("build/dev/bin/restride", 'pwd; echo "$@"'), ("tools/cmake", "exit 0")):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"#!/bin/sh\n{text}\n")
        (root / path).chmod(0o755)

    def run(folder, *args):
        env = {**os.environ, "PATH": f"{root / 'tools'}:{os.environ['PATH']}"}
        return subprocess.run([root / "dev", *args], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout.splitlines()

    return run


def test_paths_behind_run_and_bench_are_the_callers(dev, tmp_path):
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    assert dev(elsewhere, "run", "copy", "in.npy") == [str(elsewhere), "copy in.npy"]
    assert dev(elsewhere, "bench", "--json", "out.json") == [str(elsewhere), "bench --json out.json"]
    assert dev(tmp_path / "root", "run", "info") == [str(tmp_path / "root"), "info"]
