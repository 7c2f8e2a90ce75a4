"""restride info FILE: what a file holds, without reading more than its headers."""
import json
import struct

import numpy as np
import pytest


def write_safetensors(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_info_lists_the_array_of_an_npy(restride, numbered, tmp_path):
    np.save(tmp_path / "a.npy", numbered((3, 4), "f4"))
    assert restride("info", "a.npy").out == "f32  (3,4)  48 bytes\n"
    assert restride("info", "a.npy", "--json").json() == {"file": "a.npy", "format": "npy", "arrays": [
        {"name": "", "dtype": "f32", "shape": [3, 4], "bytes": 48, "order": "C"}]}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_info_lists_the_members_of_an_npz(restride, numbered, tmp_path, save):
    save(tmp_path / "a.npz", weights=numbered((3, 4), "f4"), names=np.array(["ab", "c"]), scalar=np.int64(3),
         turned=np.asfortranarray(numbered((2, 3), "u1")), empty=np.zeros((0, 5)))
    assert restride("info", "a.npz").out.splitlines() == [
        "weights  f32  (3,4)  48 bytes", "names    b8   (2)    16 bytes, <U2 in NumPy", "scalar   i64  ()     8 bytes",
        "turned   u8   (2,3)  6 bytes, Fortran order", "empty    f64  (0,5)  0 bytes"]
    arrays = restride("info", "a.npz", "--json").json()["arrays"]
    assert [a["order"] for a in arrays] == ["C", "C", "C", "F", "C"] and arrays[1]["numpy_dtype"] == "<U2"
    for name in ("weights", "weights.npy"):
        assert restride("info", f"a.npz:{name}").out == "weights  f32  (3,4)  48 bytes\n"
    assert "holds no 'bias'; it has weights, names" in restride("info", "a.npz:bias", code=1).err


def test_info_lists_what_cannot_be_read_with_the_reason(restride, numbered, tmp_path):
    np.savez(tmp_path / "a.npz", good=numbered((2,), "f4"), objects=np.array([None]))
    lines = restride("info", "a.npz").out.splitlines()
    assert lines[0] == "good     f32  (2)  8 bytes" and lines[1].startswith("objects  cannot be read: ")
    row = restride("info", "a.npz", "--json").json()["arrays"][1]
    assert row["name"] == "objects" and row["problem"] and "shape" not in row


def test_info_lists_tensors_in_the_order_of_their_bytes(restride, tmp_path):
    write_safetensors(tmp_path / "m.safetensors", {
        "wte": {"dtype": "BF16", "shape": [4, 2], "data_offsets": [8, 24]},
        "bias": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "odd": {"dtype": "F3", "shape": [4], "data_offsets": [24, 26]}, "four": {"dtype": "F4", "shape": [2, 2], "data_offsets": [26, 28]},
        "__metadata__": {"format": "pt"}}, bytes(28))
    lines = restride("info", "m.safetensors").out.splitlines()
    assert lines[:2] == ["bias  f32   (2)    8 bytes", "wte   bf16  (4,2)  16 bytes"]
    assert lines[2].startswith("odd   cannot be read: ") and "F3" in lines[2]
    assert lines[3] == "four  F4    (2,2)  2 bytes"
    assert restride("info", "m.safetensors:wte").out == "wte  bf16  (4,2)  16 bytes\n"


def test_info_writes_no_names_as_commands_of_the_terminal(restride, tmp_path):
    write_safetensors(tmp_path / "m.safetensors", {"a\x1b[2J": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}, b"x")
    assert restride("info", "m.safetensors").out == "a\\x1b[2J  u8  (1)  1 bytes\n"


@pytest.mark.parametrize("name, words", [
    ("none.npy", "No such file"), ("a.bin", "nothing in it says what its bytes are"), ("bad.npy", "it is damaged"),
    ("a.npy:b", "leave out ':b'"),
])
def test_info_says_what_is_wrong_with_a_file(restride, numbered, tmp_path, name, words):
    np.save(tmp_path / "a.npy", numbered((3,)))
    (tmp_path / "a.bin").write_bytes(b"12345678")
    (tmp_path / "bad.npy").write_bytes(b"12345678")
    result = restride("info", name, code=1)
    assert words in result.err and result.out == ""
