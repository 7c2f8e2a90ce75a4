"""restride copy while it runs: signals, an input that changes, and its progress."""
import os
import resource
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import poor_file_system

RESTRIDE = os.environ["RESTRIDE"]


def start_slow_copy(tmp_path, *options, before=lambda: None):
    """A copy that is still running when this returns, its output open but without a name."""
    if not (tmp_path / "slow.npy").exists():
        with open(tmp_path / "slow.npy", "wb") as f:
            header = np.lib.format.header_data_from_array_1_0(np.zeros((1,), "u1")) | {"shape": (60_000, 60_000)}
            np.lib.format.write_array_header_1_0(f, header)
            f.truncate(f.tell() + 60_000 * 60_000)

    def in_child():
        before()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # SIGQUIT would leave one
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):  # a script in the background, or nohup, ignores them
            signal.signal(number, signal.SIG_DFL)

    child = subprocess.Popen([RESTRIDE, "copy", "slow.npy", "out.npy", "--axes", "1,0", "--threads", "1", "--family", "gather", *options],
                             cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=in_child)
    for _ in range(1000):  # until the output is open
        names = []
        for fd in os.listdir(f"/proc/{child.pid}/fd"):
            try:
                names.append(os.readlink(f"/proc/{child.pid}/fd/{fd}"))
            except FileNotFoundError:
                pass
        if any(n.startswith(str(tmp_path)) and ("(deleted)" in n or ".restride-" in n) for n in names):
            return child
        assert child.poll() is None, child.stderr.read()
        time.sleep(0.01)
    raise AssertionError("no output was opened")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE,
                                    signal.SIGALRM, signal.SIGXCPU, signal.SIGUSR1, signal.SIGUSR2, signal.SIGKILL])
def test_a_signal_in_the_middle_leaves_nothing(tmp_path, number):
    child = start_slow_copy(tmp_path)
    child.send_signal(number)
    # ThreadSanitizer holds signals back until the program next calls into the system.
    assert child.wait(120 if os.environ.get("RESTRIDE_SANITIZE") else 20) == -number, "a shell sees 128 + the signal's number"
    assert os.listdir(tmp_path) == ["slow.npy"]


def test_a_signal_takes_the_claim_of_a_name_with_it(tmp_path):
    child = start_slow_copy(tmp_path, before=poor_file_system())
    for _ in range(1000):
        if (tmp_path / "out.npy").exists():
            break
        time.sleep(0.01)
    assert (tmp_path / "out.npy").stat().st_size == 0 and len(os.listdir(tmp_path)) == 3
    child.send_signal(signal.SIGTERM)
    assert child.wait(120 if os.environ.get("RESTRIDE_SANITIZE") else 20) == -signal.SIGTERM
    assert os.listdir(tmp_path) == ["slow.npy"]


def test_an_input_cut_short_meanwhile_is_an_error(tmp_path):
    child = start_slow_copy(tmp_path)
    os.truncate(tmp_path / "slow.npy", 4096)
    assert child.wait(20) == 1
    assert child.stderr.read().startswith("restride: error: slow.npy became shorter")
    assert os.listdir(tmp_path) == ["slow.npy"]


@pytest.fixture
def terminal():
    """Both ends of one: what is read here, and the standard error of a child."""
    try:
        ours, theirs = pytest.importorskip("pty").openpty()
    except OSError as e:  # a bare chroot, where /dev/pts is not mounted
        pytest.skip(f"no terminal can be made here: {e}")
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def test_the_progress_bar_is_for_terminals(tmp_path, terminal):
    ours, theirs = terminal
    child = start_slow_copy(tmp_path)
    time.sleep(1.5)
    child.kill()
    assert child.stderr.read() == "", "no bar into a pipe"
    child = subprocess.Popen([RESTRIDE, "copy", "slow.npy", "out.npy", "--axes", "1,0", "--buffer-mib", "1"], cwd=tmp_path, stderr=theirs)
    try:
        seen = b""
        while b"GB/s" not in seen:
            seen += os.read(ours, 4096)
        assert b"%" in seen
    finally:
        child.kill()
        child.wait()
