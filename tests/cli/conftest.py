"""What the end-to-end tests share: running the command, and arrays whose elements tell where they came from."""
import json
import os
import resource
import subprocess

import numpy as np
import pytest

RESTRIDE = os.environ["RESTRIDE"]


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self):
        return json.loads(self.out)


@pytest.fixture
def restride(tmp_path):
    """restride(args...) runs the command in tmp_path; it must succeed unless code= says otherwise."""

    def run(*args, code=0, memory_bytes=None, file_bytes=None, stack_bytes=None, env=None):
        def limit():
            if memory_bytes:
                resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
            if file_bytes:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
            if stack_bytes:
                resource.setrlimit(resource.RLIMIT_STACK, (stack_bytes, stack_bytes))

        command = [RESTRIDE, *map(str, args)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=limit,
                              env={**os.environ, **(env or {})}, timeout=120)
        assert done.returncode == code, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return Result(done)

    return run


@pytest.fixture
def numbered():
    """numbered(shape, dtype): element i holds i, as far as the dtype can."""
    return lambda shape, dtype="i4": np.arange(np.prod(shape, dtype=np.int64)).reshape(shape).astype(dtype)


@pytest.fixture
def array(tmp_path, numbered):
    """in.npy, a small array of three modes."""
    a = numbered((4, 5, 6), "f4")
    np.save(tmp_path / "in.npy", a)
    return a
