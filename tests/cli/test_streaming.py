"""restride copy: files larger than the memory it may use."""
import os
import subprocess
import time

import numpy as np
import pytest

MIB = 1 << 20
needs_plain_build = pytest.mark.skipif(bool(os.environ.get("RESTRIDE_SANITIZE")), reason="sanitizers need memory of their own")


@pytest.fixture
def big(tmp_path):
    a = np.arange(96 * MIB // 4, dtype="i4").reshape(6144, 4096)
    np.save(tmp_path / "in.npy", a)
    return a


@needs_plain_build
@pytest.mark.parametrize("options, expected", [
    (["--axes", "1,0"], lambda a: a.T),
    (["--flip", "0,1"], lambda a: a[::-1, ::-1]),
    (["--rearrange", "(a b) c -> b c a", "--size", "b=3"], lambda a: a.reshape(2048, 3, 4096).transpose(1, 2, 0)),
    (["--dtype", "f64", "--order", "F"], lambda a: a.astype("f8")),
], ids=["transpose", "flip", "split", "cast"])
def test_address_space_smaller_than_the_file(restride, tmp_path, big, options, expected):
    # 120 MiB of address space, of which the program itself takes some 20, hold no file and output of 96 MiB each.
    report = restride("copy", "in.npy", "out.npy", *options, "--json", "--no-sync", "--threads", 1, memory_bytes=120 * MIB, env={"OMP_NUM_THREADS": "1"}).json()
    assert report["buffer_bytes"] < 64 * MIB and report["pieces"] > 1
    out = np.load(tmp_path / "out.npy", mmap_mode="r")
    np.testing.assert_array_equal(out, expected(big))


@needs_plain_build
def test_resident_memory_stays_within_a_few_buffers(tmp_path, big):
    command = [os.environ["RESTRIDE"], "copy", "in.npy", "out.npy", "--axes", "1,0", "--buffer-mib", "8", "--no-sync", "-q"]
    child = subprocess.Popen(command, cwd=tmp_path)
    peak_kib = 0
    while child.poll() is None:  # rusage would count the parent's pages too
        with open(f"/proc/{child.pid}/status") as status:
            peak_kib = max([peak_kib] + [int(line.split()[1]) for line in status if line.startswith("VmHWM")])
        time.sleep(0.002)
    assert child.returncode == 0
    assert 8 * 1024 < peak_kib < 48 * 1024, "pages of the mapped file included"
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy", mmap_mode="r"), big.T)


@pytest.mark.parametrize("limits", [
    {"stack_bytes": 128 << 10}, {"stack_bytes": 256 << 10},
], ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_small_stack_is_made_up_for(restride, numbered, tmp_path, limits, threads):
    a = numbered((3001, 3003), "u1")  # odd rows of bytes take the most
    np.save(tmp_path / "in.npy", a)
    restride("copy", "in.npy", "out.npy", "--axes", "1,0", "--threads", threads, "-q", "--no-sync", **limits)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), a.T)


def test_a_small_stack_changes_no_exit_status(restride, array):
    assert restride("copy", "in.npy", "out.npy", "--axes", "0", stack_bytes=128 << 10, code=1).err.count("\n") == 1
    assert restride("nonsense", stack_bytes=128 << 10, code=2).err.count("\n") == 1
    assert "Usage" in restride("copy", "--help", stack_bytes=128 << 10).out


def test_a_sparse_file_of_many_gigabytes_is_sliced_at_once(restride, tmp_path):
    with open(tmp_path / "in.npy", "wb") as f:
        header = np.lib.format.header_data_from_array_1_0(np.zeros((1,), "u1")) | {"shape": (40_000, 1_000_000)}
        np.lib.format.write_array_header_1_0(f, header)
        f.truncate(f.tell() + 40_000 * 1_000_000)
    report = restride("copy", "in.npy", "out.npy", "--slice", "::4000,::1000", "--json").json()
    assert report["seconds"] < 30
    assert np.load(tmp_path / "out.npy").shape == (10, 1000)


def test_deflated_members_are_unpacked_where_tmpdir_says(restride, numbered, tmp_path):
    a = numbered((512, 512))
    np.savez_compressed(tmp_path / "in.npz", a=a)
    (tmp_path / "scratch").mkdir()
    restride("copy", "in.npz", "out.npy", env={"TMPDIR": str(tmp_path / "scratch")})
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), a)
    assert list((tmp_path / "scratch").iterdir()) == []
    restride("copy", "in.npz", "out.npy", "--force", env={"TMPDIR": ""})
    err = restride("copy", "in.npz", "out.npy", "--force", env={"TMPDIR": str(tmp_path / "missing")}, code=1).err
    assert f"{tmp_path}/missing: No such file" in err and "set TMPDIR" in err
