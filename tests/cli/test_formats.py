"""restride copy: every file format that it reads and writes, made and checked by the formats' own libraries."""
import json
import os

import numpy as np
import pytest


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">i2", ">c16", "|u1", "<u8", "?"])
def test_npy_versions_orders_and_byte_orders(restride, numbered, tmp_path, version, order, dtype):
    a = np.asarray(numbered((5, 6, 7)).astype(dtype), order=order)
    with open(tmp_path / "in.npy", "wb") as f:
        np.lib.format.write_array(f, a, version=version)
    restride("copy", "in.npy", "out.npy", "--axes", "2,0,1")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), a.transpose(2, 0, 1))


@pytest.mark.parametrize("to, name, values", [("u1", "u8", 256), ("f2", "f16", 2048)])
def test_big_endian_words_are_swapped_and_converted_piece_by_piece(restride, numbered, tmp_path, to, name, values):
    a = (numbered((1000, 700)) % values).astype(">f8")  # 5.6 MB that become less: staging takes more than the output
    np.save(tmp_path / "in.npy", a)
    report = restride("copy", "in.npy", "out.npy", "--axes", "1,0", "--dtype", name, "--buffer-mib", 1, "--json").json()
    assert report["pieces"] > 4
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), a.T.astype(to))


def test_big_endian_words_are_swapped_before_they_are_converted(restride, numbered, tmp_path):
    a = numbered((300, 7), ">f8")
    np.save(tmp_path / "in.npy", a)
    restride("copy", "in.npy", "out.npy", "--axes", "1,0", "--dtype", "f32")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), a.T.astype("f4"))


@pytest.mark.parametrize("dtype", ["<U5", ">U5", "|S7", "<M8[ns]", ">m8[s]", "|V3", "g"])
def test_dtypes_that_only_move_keep_their_name(restride, tmp_path, dtype):
    a = np.arange(24).astype("S3").view("V3").reshape(4, 6) if dtype == "|V3" else np.arange(24).reshape(4, 6).astype(dtype)
    np.save(tmp_path / "in.npy", a)
    restride("copy", "in.npy", "out.npy", "--axes", "1,0")
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == a.dtype and out.tobytes() == a.T.tobytes()


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("dtype, name", [("M8[ns]", "i64"), ("m8[s]", "i64"), ("U1", "u32")])
def test_dates_and_text_are_numbers_of_either_byte_order(restride, tmp_path, order, dtype, name):
    little = np.arange(65, 89, dtype="<i8" if name == "i64" else "<u4").reshape(4, 6)
    np.save(tmp_path / "in.npy", little.view("<" + dtype).astype(order + dtype))
    restride("copy", "in.npy", "out.npy", "--in-dtype", name, "--axes", "1,0")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), little.T)
    restride("copy", "in.npy", "wide.npy", "--in-dtype", name, "--dtype", "f64")
    np.testing.assert_array_equal(np.load(tmp_path / "wide.npy"), little.astype("f8"))


def test_big_endian_words_of_another_size_than_the_elements_are_refused(restride, tmp_path):
    np.save(tmp_path / "in.npy", np.array(["ab", "cd"]).astype(">U2"))
    message = restride("copy", "in.npy", "out.npy", "--in-dtype", "i64", code=1).err
    assert "big-endian words of 4 bytes" in message and "i64" in message


def test_scalars_and_empty_arrays(restride, tmp_path):
    for a in (np.array(3.5), np.zeros((0, 3)), np.zeros((2, 0, 4), "u1")):
        np.save(tmp_path / "in.npy", a)
        restride("copy", "in.npy", "out.npy", "--force")
        out = np.load(tmp_path / "out.npy")
        assert out.shape == a.shape and out.dtype == a.dtype and out.tobytes() == a.tobytes()


def test_an_empty_array_may_have_any_other_extents(restride, tmp_path):
    shape = (0, 2**63 - 1, 2**63 - 1)  # NumPy itself makes none such
    with open(tmp_path / "in.npy", "wb") as f:
        np.lib.format.write_array_header_1_0(f, {"descr": "<f4", "fortran_order": False, "shape": shape})
    for out in ("out.npy", "out.safetensors"):
        restride("copy", "in.npy", out, "--axes", "1,0,2", "--dtype", "f16")
        restride("copy", out, "back.npy", "--force", "--axes", "1,0,2")
        with open(tmp_path / "back.npy", "rb") as f:
            np.lib.format.read_magic(f)
            assert np.lib.format.read_array_header_1_0(f)[0] == shape and f.read() == b""


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_members_stored_and_deflated(restride, numbered, tmp_path, save):
    a, b = numbered((30, 40)), numbered((3, 5), "f8")
    save(tmp_path / "in.npz", a=a, b=b)
    restride("copy", "in.npz:b", "b.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), b)
    restride("copy", "in.npz/a", "out.npz:T", "--axes", "1,0")
    with np.load(tmp_path / "out.npz") as out:
        assert out.files == ["T"]
        np.testing.assert_array_equal(out["T"], a.T)
    assert "name one" in restride("copy", "in.npz", "c.npy", code=1).err
    assert "it has a, b\n" in restride("copy", "in.npz:c", "c.npy", code=1).err
    assert "as in 'in.npz:a'" in restride("explain", "in.npz", code=1).err


def test_folders_and_notes_in_an_npz_are_no_arrays(restride, numbered, tmp_path):
    import zipfile
    a = numbered((30, 40))
    np.save(tmp_path / "a.npy", a)
    with zipfile.ZipFile(tmp_path / "mix.npz", "w") as z:
        z.writestr("data/", "")
        z.writestr("data/notes.txt", "text")
        z.write(tmp_path / "a.npy", "data/a.npy")
    restride("copy", "mix.npz", "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), a)
    assert "it has data/a\n" in restride("copy", "mix.npz:b", "b.npy", code=1).err
    assert "member 'data/notes.txt'" in restride("copy", "mix.npz:data/notes.txt", "b.npy", code=1).err


def test_an_npz_that_would_fill_the_disk_behind_a_small_header_is_refused_unpacked(restride, tmp_path):
    import zipfile
    np.save(tmp_path / "one.npy", np.zeros(1, "u1"))
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("x.npy", (tmp_path / "one.npy").read_bytes() + bytes(64 << 20))
    (tmp_path / "scratch").mkdir()
    # A file of 1 MiB is more than this may write: an error of size would show that it was unpacked.
    err = restride("copy", "bomb.npz", "out.npy", env={"TMPDIR": str(tmp_path / "scratch")}, file_bytes=1 << 20, code=1).err
    assert "bomb.npz: member 'x.npy': it unpacks to 67108993 bytes, of which its header accounts for 129" in err
    assert sorted(os.listdir(tmp_path)) == ["bomb.npz", "one.npy", "scratch"] and os.listdir(tmp_path / "scratch") == []


def test_a_stored_member_ends_in_front_of_the_directory(restride, tmp_path):
    import struct
    import zipfile
    np.save(tmp_path / "five.npy", np.arange(5, dtype="u1"))
    with zipfile.ZipFile(tmp_path / "in.npz", "w") as z:
        z.writestr("x.npy", (tmp_path / "five.npy").read_bytes()[:-1])
    whole = bytearray((tmp_path / "in.npz").read_bytes())
    for sizes in (18, whole.index(b"PK\1\2") + 20):  # of the header and the directory
        whole[sizes:sizes + 8] = struct.pack("<II", 133, 133)
    (tmp_path / "in.npz").write_bytes(whole)
    assert "but the archive's directory begins at" in restride("copy", "in.npz", "out.npy", code=1).err


def test_npz_is_a_zip_that_other_tools_accept(restride, numbered, tmp_path):
    import zipfile
    np.save(tmp_path / "in.npy", numbered((30, 40)))
    restride("copy", "in.npy", "out.npz")
    with zipfile.ZipFile(tmp_path / "out.npz") as z:
        assert z.testzip() is None and z.namelist() == ["arr_0.npy"]


def test_safetensors_both_ways(restride, numbered, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    a, b = numbered((30, 40), "f4"), numbered((7,), "i8")
    safetensors.save_file({"layer.a": a, "layer.b": b}, tmp_path / "in.safetensors", metadata={"format": "np"})
    restride("copy", "in.safetensors:layer.a", "out.safetensors:a.T", "--axes", "1,0", "--dtype", "f16")
    out = safetensors.load_file(tmp_path / "out.safetensors")
    np.testing.assert_array_equal(out["a.T"], a.T.astype("f2"))
    message = restride("copy", "in.safetensors", "x.npy", code=1).err
    assert "layer.a" in message and "layer.b" in message  # in the order of their bytes, which the writer chooses


def test_bf16_and_f8_through_numpys_nameless_types(restride, tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = np.linspace(-3, 3, 48, dtype="f4").reshape(6, 8)
    np.save(tmp_path / "f32.npy", a)
    for name, dtype in (("bf16", ml_dtypes.bfloat16), ("f8e4m3", ml_dtypes.float8_e4m3fn), ("f8e5m2", ml_dtypes.float8_e5m2)):
        np.save(tmp_path / "in.npy", a.astype(dtype))
        restride("copy", "in.npy", "wide.npy", "-f", "--in-dtype", name, "--dtype", "f32")
        np.testing.assert_array_equal(np.load(tmp_path / "wide.npy"), a.astype(dtype).astype("f4"))
        restride("copy", "f32.npy", "out.npy", "-f", "--dtype", name)
        out = np.load(tmp_path / "out.npy")  # np.save's own f8e5m2 ("<f1") is one that np.load refuses
        assert out.dtype.kind == "V"
        np.testing.assert_array_equal(out.view(dtype), a.astype(dtype))


def test_raw_bytes_with_a_layout(restride, numbered, tmp_path):
    a = numbered((6, 8), "u2")
    (tmp_path / "in.bin").write_bytes(b"header!!" + a.tobytes())
    restride("copy", "in.bin", "out.npy", "--in-layout", "u16 (6,5):(8,1)", "--in-offset", "8")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), a[:, :5])
    restride("copy", "out.npy", "out.raw", "--axes", "1,0")
    assert (tmp_path / "out.raw").read_bytes() == a[:, :5].T.tobytes()
    assert "--in-layout" in restride("copy", "in.bin", "x.npy", code=1).err


def test_a_layout_of_a_file_that_has_its_own_needs_an_offset(restride, numbered, tmp_path):
    a = numbered((3, 5), "u2")
    np.save(tmp_path / "in.npy", a)
    np.savez(tmp_path / "in.npz", a=a)
    header = json.dumps({"a": {"dtype": "U16", "shape": [3, 5], "data_offsets": [0, 30]}}).encode()
    (tmp_path / "in.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + a.tobytes())
    before = sorted(os.listdir(tmp_path))
    for name in before:
        for command in (("copy", name, "out.npy"), ("explain", name)):
            err = restride(*command, "--in-layout", "u8 (3)", code=1).err
            assert f"{name} says itself how its elements lie; leave out --in-layout" in err and "--in-offset" in err
    assert sorted(os.listdir(tmp_path)) == before
    for name in ("in.npy", "in.safetensors"):
        offset = os.path.getsize(tmp_path / name) - a.nbytes
        restride("copy", name, "out.npy", "-f", "--in-layout", "u16 (15)", "--in-offset", offset)
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), a.ravel())
    restride("copy", "in.npy", "magic.raw", "--in-layout", "u8 (6)", "--in-offset", 0)
    assert (tmp_path / "magic.raw").read_bytes() == b"\x93NUMPY"
    (tmp_path / "bare.npy").write_bytes(a.tobytes())  # what it holds tells, not its name
    restride("copy", "bare.npy", "out.npy", "-f", "--in-layout", "u16 (15)")


def test_a_members_name_may_hold_folders_and_dots(restride, numbered, tmp_path):
    np.save(tmp_path / "in.npy", numbered((3, 4)))
    restride("copy", "in.npy", "out.npz:layers/0..1/w.a")
    assert np.load(tmp_path / "out.npz").files == ["layers/0..1/w.a"]


def test_what_is_written_without_a_name_has_the_one_that_the_help_says(restride, tmp_path, array):
    restride("copy", "in.npy", "in.safetensors:weights")
    restride("copy", "in.npy", "out.npz")
    restride("copy", "in.safetensors:weights", "out.safetensors")
    with np.load(tmp_path / "out.npz") as members:
        assert list(members) == ["arr_0"]
    assert (tmp_path / "out.safetensors").read_bytes()[8:].startswith(b'{"tensor":')
    assert "An array alone is written as arr_0 or tensor" in " ".join(restride("copy", "--help").out.split())
