"""What the end-to-end tests share: running the command, and arrays whose elements tell where they came from."""
import ctypes
import errno
import json
import os
import platform
import resource
import struct
import subprocess

import numpy as np
import pytest

RESTRIDE = os.environ["RESTRIDE"]


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self):
        return json.loads(self.out)


def poor_file_system():
    """A preexec_fn: file systems have no nameless files, no hard links and no renames that replace nothing, as seen on
    FUSE mounts. The kernel's own filter of system calls (seccomp) does it, so nothing is mounted."""
    arch, calls = {
        "x86_64": (0xC000003E, {"link": 86, "linkat": 265, "renameat2": 316, "openat": 257}),
        "aarch64": (0xC00000B7, {"linkat": 37, "renameat2": 276, "openat": 56}),
    }.get(platform.machine(), (0, {}))
    if not calls:
        pytest.skip(f"no system calls' numbers for {platform.machine()}")
    load, jump_equal, jump_bits, answer = 0x20, 0x15, 0x45, 0x06
    allow, fail, nameless = 0x7FFF0000, 0x00050000, 0o20000000  # nameless: the bit of O_TMPFILE that no other flag has

    def refuse(number, reason):
        return [(jump_equal, 0, 1, number), (answer, 0, 0, fail | reason)]

    program = [(load, 0, 0, 4), (jump_equal, 1, 0, arch), (answer, 0, 0, allow), (load, 0, 0, 0)]
    for name, number in calls.items():
        if name != "openat":
            program += refuse(number, errno.EINVAL if name == "renameat2" else errno.EPERM)
    program += [(jump_equal, 0, 3, calls["openat"]), (load, 0, 0, 32), (jump_bits, 0, 1, nameless),
                (answer, 0, 0, fail | errno.EOPNOTSUPP), (answer, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def install(code=code):  # the code lives as long as this does
        no_new_privileges, set_filter, filter_mode = 38, 22, 2
        if prctl(no_new_privileges, 1, 0, 0, 0) != 0 or prctl(set_filter, filter_mode, header, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no filter of system calls")

    try:
        subprocess.run(["true"], preexec_fn=install, check=True)
    except subprocess.SubprocessError as e:
        pytest.skip(f"the kernel takes no filter of system calls: {e}")
    return install


@pytest.fixture
def restride(tmp_path):
    """restride(args...) runs the command in tmp_path; it must succeed unless code= says otherwise."""

    def run(*args, code=0, memory_bytes=None, file_bytes=None, stack_bytes=None, env=None, before=None):
        def limit():
            if before:
                before()
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
