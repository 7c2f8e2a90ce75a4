"""restride copy: what an output may replace, be called and lie on; whatever fails leaves what was there."""
import json
import os
import struct
import subprocess

import numpy as np
import pytest

from conftest import poor_file_system


def test_nothing_is_overwritten_without_force(restride, tmp_path, array):
    (tmp_path / "out.npy").write_text("precious")
    assert "--force" in restride("copy", "in.npy", "out.npy", code=1).err
    assert (tmp_path / "out.npy").read_text() == "precious"
    restride("copy", "in.npy", "out.npy", "--force")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), array)


@pytest.mark.parametrize("ending, member, others", [("npz", "wte", "lm_head.npy, wpe.npy"), ("npz", "wte.npy", "lm_head.npy, wpe.npy"),
                                                    ("npz", None, "lm_head.npy, wpe.npy, wte.npy"),
                                                    ("safetensors", "wte", "lm_head, wpe"), ("safetensors", None, "lm_head, wpe, wte")])
def test_force_never_takes_the_other_arrays_of_a_file(restride, tmp_path, array, ending, member, others):
    names = ["lm_head", "wpe", "wte"]
    path = tmp_path / f"k.{ending}"
    if ending == "npz":
        np.savez(path, **{name: array for name in names})
    else:
        header = json.dumps({name: {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i, name in enumerate(names)}).encode()
        path.write_bytes(struct.pack("<Q", len(header)) + header + b"abc")
    before = path.read_bytes()
    out = path.name + (f":{member}" if member else "")
    err = restride("copy", "in.npy", out, "--force", code=1).err
    assert f"holds {others}, which would be lost" in err and "another file" in err
    assert path.read_bytes() == before and sorted(os.listdir(tmp_path)) == ["in.npy", path.name]


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_force_replaces_the_only_array_of_a_file_and_what_is_no_archive(restride, tmp_path, array, ending):
    (tmp_path / f"k.{ending}").write_text("precious")
    for _ in range(2):
        restride("copy", "in.npy", f"k.{ending}:a.b", "--force")
        restride("copy", f"k.{ending}:a.b", "back.npy", "--force")
        np.testing.assert_array_equal(np.load(tmp_path / "back.npy"), array)
    restride("copy", "in.npy", f"k.{ending}", "--force")  # whatever the only one is called
    restride("copy", f"k.{ending}", "back.npy", "--force")
    np.testing.assert_array_equal(np.load(tmp_path / "back.npy"), array)
    restride("copy", "in.npy", f"k.{ending}:a.b", "--force", code=1)


def test_a_failed_copy_leaves_the_file_it_would_have_replaced(restride, tmp_path, array):
    (tmp_path / "out.npy").write_text("precious")
    restride("copy", "in.npy", "out.npy", "--force", "--axes", "9", code=1)
    restride("copy", "in.npy", "out.npy", "--force", code=1, file_bytes=200)
    assert (tmp_path / "out.npy").read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


def test_the_input_is_never_the_output(restride, tmp_path, array):
    os.link(tmp_path / "in.npy", tmp_path / "same.npy")
    for name in ("in.npy", "./in.npy", "same.npy"):
        assert "is the file that is read" in restride("copy", "in.npy", name, "--force", code=1).err
    np.testing.assert_array_equal(np.load(tmp_path / "in.npy"), array)


@pytest.mark.parametrize("out, words", [
    ("no/such/out.npy", "No such file"), (".", "directory"), ("/dev/null", "regular file"), ("/dev/full", "regular file"),
    ("/proc/out.npy", "cannot write"),
])
def test_targets_that_cannot_be_written(restride, tmp_path, array, out, words):
    assert words in restride("copy", "in.npy", out, "--force", code=1).err
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("out, words", [("out.txt", ".safetensors"), ("out", ".npy"), ("out.npy:member", "without a name")])
def test_targets_whose_name_says_that_they_cannot_be_written(restride, tmp_path, array, out, words):
    assert words in restride("copy", "in.npy", out, "--force", code=2).err
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("exists", [False, True])
def test_a_link_is_written_through_whether_its_file_exists_or_not(restride, tmp_path, array, exists):
    if exists:
        (tmp_path / "real.npy").write_text("old")
    (tmp_path / "link.npy").symlink_to("real.npy")
    restride("copy", "in.npy", "link.npy", "--force")
    assert (tmp_path / "link.npy").is_symlink()
    np.testing.assert_array_equal(np.load(tmp_path / "real.npy"), array)


def test_a_dangling_link_is_written_through_with_force_alone(restride, tmp_path, array):
    (tmp_path / "link.npy").symlink_to("real.npy")
    err = restride("copy", "in.npy", "link.npy", code=1).err
    assert "link.npy: it is a symbolic link to real.npy, which does not exist" in err and "remove the link" in err
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "link.npy"]


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_an_output_appears_where_files_have_neither_links_nor_renames_that_replace_nothing(restride, tmp_path, array, force):
    before = poor_file_system()
    restride("copy", "in.npy", "out.npy", *force, before=before)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), array)
    assert "--force" in restride("copy", "in.npy", "out.npy", before=before, code=1).err
    restride("copy", "in.npy", "out.npy", "--force", "--axes", "2,1,0", before=before)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), array.T)
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


def test_a_failed_copy_takes_the_claim_of_its_name_with_it(restride, tmp_path, numbered):
    np.save(tmp_path / "in.npy", numbered((1024, 1024)))
    restride("copy", "in.npy", "out.npy", file_bytes=1 << 20, before=poor_file_system(), code=1)
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("bits", [0o4755, 0o2755, 0o1755, 0o6777])
def test_a_replaced_file_leaves_permissions_alone_behind(restride, tmp_path, array, bits):
    (tmp_path / "out.npy").write_text("old")
    (tmp_path / "out.npy").chmod(bits)
    restride("copy", "in.npy", "out.npy", "--force")
    assert (tmp_path / "out.npy").stat().st_mode & 0o7777 == bits & 0o777, "no right to run as somebody else"


@pytest.mark.parametrize("path", ["no/such/m.json", "pipe"])
def test_measurements_that_cannot_be_kept_leave_no_output(restride, tmp_path, array, path):
    os.mkfifo(tmp_path / "pipe")
    assert "cannot write" in restride("copy", "in.npy", "out.npy", "--measure", "--measurements", path, code=1).err
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "pipe"]
    restride("copy", "in.npy", "out.npy", "--axes", "2,1,0", "--measure", "--measurements", "m.json")
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "m.json", "out.npy", "pipe"]


@pytest.mark.parametrize("path", ["pipe", "/dev/zero", "."])
def test_measurements_that_are_no_regular_file_are_refused(restride, tmp_path, array, path):
    os.mkfifo(tmp_path / "pipe")  # nobody writes into it
    for command in (["copy", "in.npy", "out.npy"], ["explain", "f32 (64,64) -> (1,0)"]):
        assert "it is no regular file" in restride(*command, "--measurements", path, code=1).err
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "pipe"]


def test_a_file_size_limit_is_an_error_not_a_crash(restride, tmp_path, array):
    for size in (300, 100):  # found out by reserving the room, and by writing the header
        err = restride("copy", "in.npy", "out.npy", code=1, file_bytes=size).err
        assert "File too large" in err and f"limited to {size} bytes" in err and "ulimit -f" in err and "space" not in err
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_is_an_error_and_leaves_nothing(restride, tmp_path, numbered):
    np.save(tmp_path / "in.npy", numbered((1024, 1024)))
    (tmp_path / "disk").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", tmp_path / "disk"]).returncode != 0:
        pytest.skip("cannot mount here")
    try:
        for name in ("out.npy", "out.npz", "out.safetensors", "out.raw"):
            assert "No space left" in restride("copy", "in.npy", f"disk/{name}", code=1).err
            assert os.listdir(tmp_path / "disk") == []
    finally:
        subprocess.run(["umount", tmp_path / "disk"], check=True)


@pytest.mark.parametrize("member", ["../x", "a/../../x", "/etc/x", "a\\..\\x", "..", "...npy"])
def test_a_member_that_would_be_unpacked_outside_its_archive_is_refused(restride, tmp_path, array, member):
    result = restride("copy", "in.npy", f"out.npz:{member}", code=2)
    assert "outside its archive" in result.err and "relative path" in result.err
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("member", [".npy", ".", "./a", "a/.npy", "a/./b", "a//b", "a/"])
def test_a_member_without_a_name_is_refused(restride, tmp_path, array, member):
    assert "is empty or '.'" in restride("copy", "in.npy", f"out.npz:{member}", code=2).err
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("out", [b"out.npz:\xff", b"out.safetensors:\xff"])
def test_a_member_whose_name_is_no_utf8_is_refused(restride, tmp_path, array, out):
    assert "no valid UTF-8" in restride("copy", "in.npy", os.fsdecode(out), code=2).err
    assert os.listdir(tmp_path) == ["in.npy"]


def test_the_longest_file_name_can_be_written_and_replaced(restride, tmp_path, array):
    name = "x" * 251 + ".npy"
    for _ in range(2):
        restride("copy", "in.npy", name, "--force")
    np.testing.assert_array_equal(np.load(tmp_path / name), array)
    assert sorted(os.listdir(tmp_path)) == ["in.npy", name]


def test_a_file_name_that_is_too_long_is_refused_before_the_copy(restride, tmp_path, array):
    result = restride("copy", "in.npy", "x" * 300 + ".npy", code=1)
    assert "too long" in result.err.lower()
    assert os.listdir(tmp_path) == ["in.npy"]
