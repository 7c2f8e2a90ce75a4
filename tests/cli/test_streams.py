"""restride copy from standard input and to standard output, and what it times apart."""
import io
import os
import subprocess

import numpy as np
import pytest

RESTRIDE = os.environ["RESTRIDE"]


def run(tmp_path, args, given=b"", code=0, **options):
    done = subprocess.run([RESTRIDE, *map(str, args)], cwd=tmp_path, input=given, capture_output=True, timeout=120, **options)
    assert done.returncode == code, done.stderr
    return done


def npy(a):
    out = io.BytesIO()
    np.save(out, a)
    return out.getvalue()


def test_arrays_go_through_pipes(tmp_path, numbered):
    a = numbered((300, 200), "f4")
    done = run(tmp_path, ["copy", "-", "-", "--axes", "1,0", "--dtype", "f64"], npy(a))
    out = np.load(io.BytesIO(done.stdout))
    assert out.dtype == "f8"
    np.testing.assert_array_equal(out, a.T)
    assert done.stderr.startswith(b"-: f32 (300,200)"), "the report leaves standard output to the array"
    assert run(tmp_path, ["copy", "-", "-", "-q"], npy(a)).stderr == b"" and os.listdir(tmp_path) == []


def test_standard_input_may_hold_whole_files(tmp_path, numbered):
    np.savez(tmp_path / "in.npz", a=numbered((3, 4)), b=numbered((5,), "f4"))
    whole = (tmp_path / "in.npz").read_bytes()
    run(tmp_path, ["copy", "-", "out.safetensors"], whole)
    run(tmp_path, ["copy", "-", "a.npy", "--array", "a", "--flip", "0"], whole)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), numbered((3, 4))[::-1])
    out = run(tmp_path, ["copy", "-", "-", "--array", "b"], (tmp_path / "out.safetensors").read_bytes()).stdout
    np.testing.assert_array_equal(np.load(io.BytesIO(out)), numbered((5,), "f4"))
    listing = run(tmp_path, ["info", "-"], whole).stdout
    assert listing == run(tmp_path, ["info", "in.npz"]).stdout
    raw = numbered((6, 4), "u2")
    done = run(tmp_path, ["copy", "-", "-", "--in-layout", "u16 (6,3):(4,1)", "--format", "raw"], raw.tobytes())
    assert done.stdout == raw[:, :3].tobytes()


def test_a_redirected_file_is_read_where_it_lies(tmp_path, numbered):
    a = numbered((30, 20))
    np.save(tmp_path / "in.npy", a)
    with open(tmp_path / "in.npy", "rb") as given:
        done = subprocess.run([RESTRIDE, "copy", "-", "out.npy", "--axes", "1,0"], cwd=tmp_path, stdin=given,
                              env={**os.environ, "TMPDIR": "/nowhere"}, capture_output=True)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), a.T)
    with open(tmp_path / "in.npy", "rb") as given:
        done = subprocess.run([RESTRIDE, "copy", "-", "in.npy", "--force"], cwd=tmp_path, stdin=given, capture_output=True, text=True)
    assert done.returncode == 1 and "is the file that is read" in done.stderr


@pytest.mark.parametrize("name, head", [("npy", b"\x93NUMPY"), ("raw", b"\0\0\0\0\1\0"), ("safetensors", b'@\0\0\0\0\0\0\0{"tensor"')])
def test_what_goes_to_standard_output_can_be_chosen(tmp_path, numbered, name, head):
    np.save(tmp_path / "in.npy", numbered((3, 4)))
    assert run(tmp_path, ["copy", "in.npy", "-", "--format", name]).stdout.startswith(head)
    assert b"whose ending says it" in run(tmp_path, ["copy", "in.npy", "o.npy", "--format", "raw"], code=2).stderr
    assert b"--format" in run(tmp_path, ["copy", "in.npy", "-", "--format", "npz"], code=2).stderr


def test_arrays_without_elements_are_their_head(tmp_path):
    out = run(tmp_path, ["copy", "-", "-"], npy(np.zeros((0, 3), "f4"))).stdout
    assert np.load(io.BytesIO(out)).shape == (0, 3)


def test_pieces_come_in_order(tmp_path, numbered):
    a = numbered((3000, 1000), "i4")
    done = run(tmp_path, ["copy", "-", "-", "--axes", "1,0", "--buffer-mib", 1, "--json"], npy(a))
    assert b'"pieces": 1' in done.stderr and b'"pieces": 1,' not in done.stderr  # 12 MB in pieces of 1 MiB
    np.testing.assert_array_equal(np.load(io.BytesIO(done.stdout)), a.T)


def test_streams_that_are_none_are_refused(tmp_path, numbered):
    np.save(tmp_path / "in.npy", numbered((3, 4)))
    assert b"is no .npy" in run(tmp_path, ["copy", "-", "out.npy"], b"text", code=1).stderr
    assert b"standard input" in run(tmp_path, ["copy", "-", "out.npy"], b"\x93NUMPY", code=1).stderr
    full = subprocess.run([RESTRIDE, "copy", "in.npy", "-"], cwd=tmp_path, stdout=open("/dev/full", "w"), stderr=subprocess.PIPE)
    assert full.returncode == 1 and b"cannot write standard output" in full.stderr
    try:
        ours, theirs = pytest.importorskip("pty").openpty()
    except OSError as e:
        pytest.skip(f"no terminal can be made here: {e}")
    done = subprocess.run([RESTRIDE, "copy", "in.npy", "-"], cwd=tmp_path, stdout=theirs, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b"standard output is a terminal" in done.stderr
    done = subprocess.run([RESTRIDE, "copy", "-", "out.npy"], cwd=tmp_path, stdin=theirs, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b"standard input is a terminal" in done.stderr
    os.close(ours), os.close(theirs)
    assert os.listdir(tmp_path) == ["in.npy"]


def test_a_fifo_is_told_how(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert b"give - as the name and it as standard input" in run(tmp_path, ["copy", "pipe", "out.npy"], code=1).stderr


def test_measuring_is_timed_apart_and_kept_when_asked(restride, tmp_path, numbered):
    np.save(tmp_path / "in.npy", numbered((1024, 768), "f4"))
    words = ["copy", "in.npy", "out.npy", "-f", "--axes", "1,0", "--measurements", "kept.json"]
    report = restride(*words, "--measure", "--json").json()
    assert report["measure_seconds"] > 0 and report["copy_seconds"] > 0 and report["seconds"] > report["copy_seconds"]
    assert "records" in (tmp_path / "kept.json").read_text()
    assert restride(*words, "--json").json()["measure_seconds"] == 0, "it is planned by what was kept"
    assert restride(*words, "--measure", "--json").json()["measure_seconds"] < report["measure_seconds"]
    assert "measured for " in restride("copy", "in.npy", "out.npy", "-f", "--axes", "1,0", "--measure").out
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "kept.json", "out.npy"]


def test_waiting_for_the_device_is_named_and_timed(tmp_path, restride, numbered):
    np.save(tmp_path / "in.npy", numbered((100, 100)))
    assert restride("copy", "in.npy", "out.npy", "--json").json()["sync_seconds"] >= 0
    try:
        ours, theirs = pytest.importorskip("pty").openpty()
    except OSError as e:
        pytest.skip(f"no terminal can be made here: {e}")
    for words, named in (["-f"], True), (["-f", "--no-sync"], False), (["-f", "-q"], False):
        subprocess.run([RESTRIDE, "copy", "in.npy", "out.npy", *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, check=True)
        os.write(theirs, b"end")
        seen = b""
        while not seen.endswith(b"end"):
            seen += os.read(ours, 4096)
        assert (b"waiting until the device has the data" in seen) == named
    os.close(ours), os.close(theirs)
