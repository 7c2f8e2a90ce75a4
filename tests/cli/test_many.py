"""restride copy of many arrays at once: whole files and folders, with NumPy and safetensors as the judges."""
import json
import os
import signal
import struct
import subprocess
import time

import numpy as np
import pytest

from conftest import poor_file_system

RESTRIDE = os.environ["RESTRIDE"]


@pytest.fixture
def arrays(numbered):
    return {"layer.w": numbered((30, 40), "f4"), "layer.b": numbered((7,), "f8"), "ids": numbered((3, 5), "i8"),
            "sub/mask": numbered((4,), "?"), "scalar": np.float16(3), "empty": np.zeros((0, 3), "f4")}


@pytest.fixture
def model(tmp_path, arrays):
    """in.safetensors with metadata."""
    write_safetensors(tmp_path / "in.safetensors", arrays, {"format": "pt", "says": 'a "word" \u00e4'})
    return arrays


NAMES = {"f4": "F32", "f8": "F64", "i8": "I64", "b1": "BOOL", "f2": "F16"}


def write_safetensors(path, arrays, metadata=None):
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, a in arrays.items():
        a = np.asarray(a)
        header[name] = {"dtype": NAMES[a.dtype.str[1:]], "shape": a.shape, "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    write_raw_safetensors(path, header, b"".join(np.asarray(a).tobytes() for a in arrays.values()))


def write_raw_safetensors(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    """Header, and the bytes of each tensor; checks that each is aligned, as others need it."""
    whole = path.read_bytes()
    size = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8:8 + size])
    data = {k: whole[8 + size + v["data_offsets"][0]:8 + size + v["data_offsets"][1]] for k, v in header.items() if k != "__metadata__"}
    return header, data


def read_folder(path):
    return {str(f.relative_to(path))[:-4]: np.load(f) for f in path.rglob("*.npy")}


def same(a, b):
    assert sorted(a) == sorted(b)
    for name in a:
        assert a[name].dtype == b[name].dtype and a[name].shape == b[name].shape, name
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def test_a_safetensors_file_becomes_bf16_with_names_and_metadata(restride, tmp_path, model):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    done = restride("copy", "in.safetensors", "out.safetensors", "--dtype", "bf16")
    assert "6 arrays of in.safetensors, to bf16" in done.out and "kept as they were: ids (i64), sub/mask (bool)" in done.out
    header, data = read_safetensors(tmp_path / "out.safetensors")
    assert header["__metadata__"] == {"format": "pt", "says": 'a "word" \u00e4'}
    for name, a in model.items():
        a = np.asarray(a)
        assert header[name]["shape"] == list(a.shape)
        floats = a.dtype.kind == "f"
        assert header[name]["dtype"] == ("BF16" if floats else NAMES[a.dtype.str[1:]])
        assert data[name] == (a.astype(ml_dtypes.bfloat16) if floats else a).tobytes()
        assert header[name]["data_offsets"][0] % (2 if floats else a.dtype.itemsize) == 0 and len(data[name]) >= 0


def test_what_is_written_is_read_by_safetensors_itself(restride, tmp_path, model):
    safetensors = pytest.importorskip("safetensors")
    restride("copy", "in.safetensors", "out.safetensors", "--dtype", "f16")
    with safetensors.safe_open(tmp_path / "out.safetensors", "np") as f:
        assert f.metadata()["format"] == "pt" and sorted(f.keys()) == sorted(model)
        np.testing.assert_array_equal(f.get_tensor("layer.w"), model["layer.w"].astype("f2"))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_all_kinds_of_files_become_all_kinds(restride, tmp_path, arrays, save):
    save(tmp_path / "in.npz", **arrays)
    restride("copy", "in.npz", "folder/")
    same(read_folder(tmp_path / "folder"), arrays)
    restride("copy", "folder", "a.safetensors")
    restride("copy", "a.safetensors", "back.npz")
    with np.load(tmp_path / "back.npz") as back:
        same(dict(back), arrays)
    (tmp_path / "empty").mkdir()
    restride("copy", "back.npz", "empty")  # a folder without anything in it is as good as none
    same(read_folder(tmp_path / "empty"), arrays)
    import zipfile
    with zipfile.ZipFile(tmp_path / "back.npz") as z:
        assert z.testzip() is None


def test_globs_choose_among_the_arrays(restride, tmp_path, model):
    restride("copy", "in.safetensors", "out.npz", "--array", "layer.*", "--array", "scalar")
    assert sorted(np.load(tmp_path / "out.npz").files) == ["layer.b", "layer.w", "scalar"]
    restride("copy", "in.safetensors", "w.npy", "--array", "*.w", "--axes", "1,0")
    np.testing.assert_array_equal(np.load(tmp_path / "w.npy"), model["layer.w"].T)
    err = restride("copy", "in.safetensors", "x.npz", "--array", "layer.*", "--array", "bias*", code=1).err
    assert "--array 'bias*': in.safetensors holds none of such a name; it has layer.w, layer.b" in err
    err = restride("copy", "in.safetensors", "x.npy", "--array", "layer.*", code=1).err
    assert "in.safetensors has 2 arrays; name one, as in 'in.safetensors:layer.w', or end OUT in" in err
    assert "leave one of them out" in restride("copy", "in.safetensors:ids", "x.npy", "--array", "ids", code=2).err
    assert not (tmp_path / "x.npz").exists() and not (tmp_path / "x.npy").exists()


def test_views_are_for_each_array(restride, numbered, tmp_path):
    np.savez(tmp_path / "in.npz", a=numbered((3, 4)), b=numbered((5, 6), "f8"))
    restride("copy", "in.npz", "out.npz", "--axes", "1,0", "--flip", "0")
    out = np.load(tmp_path / "out.npz")
    np.testing.assert_array_equal(out["a"], numbered((3, 4)).T[::-1])
    np.testing.assert_array_equal(out["b"], numbered((5, 6), "f8").T[::-1])
    restride("copy", "in.npz", "f.npz", "--order", "F")
    assert np.load(tmp_path / "f.npz")["a"].flags.f_contiguous
    np.savez(tmp_path / "in.npz", a=numbered((3, 4)), c=numbered((5,)))
    assert "in.npz: 'c': " in restride("copy", "in.npz", "no.npz", "--axes", "1,0", code=1).err
    assert "'a': only .npy and .npz can say" in restride("copy", "in.npz", "no.safetensors", "--order", "F", code=1).err
    assert not (tmp_path / "no.npz").exists()


def test_a_cast_meant_for_no_array_is_refused(restride, numbered, tmp_path):
    np.savez(tmp_path / "in.npz", a=numbered((3, 4), "u1"), b=numbered((3,), "?"))
    err = restride("copy", "in.npz", "out.npz", "--dtype", "f32", code=1).err
    assert "nothing that is floating point" in err and "'in.npz:a'" in err
    restride("copy", "in.npz", "out.npz", "--dtype", "i32")  # an integer is asked for in words
    assert np.load(tmp_path / "out.npz")["a"].dtype == "i4" and np.load(tmp_path / "out.npz")["b"].dtype == "i4"


def test_reports_of_many(restride, tmp_path, model):
    report = restride("copy", "in.safetensors", "out.npz", "--json").json()
    assert [a["name"] for a in report["arrays"]] == list(model)
    assert report["arrays"][0]["output_layout"] == "f32 (30,40):(40,1)" and report["arrays"][0]["family"]
    assert report["bytes"] == 2 * sum(np.asarray(a).nbytes for a in model.values()) and report["pieces"] == 5
    assert restride("copy", "in.safetensors", "quiet.npz", "-q").out == ""


def test_many_arrays_replace_only_themselves(restride, numbered, tmp_path, model):
    restride("copy", "in.safetensors", "out.npz")
    assert "--force" in restride("copy", "in.safetensors", "out.npz", code=1).err
    restride("copy", "in.safetensors", "out.npz", "-f")
    err = restride("copy", "in.safetensors", "out.npz", "-f", "--array", "ids", code=1).err
    assert "out.npz holds" in err and "layer.w.npy" in err and "would be lost" in err
    assert len(np.load(tmp_path / "out.npz").files) == 6
    restride("copy", "in.safetensors", "folder/")
    for force in ([], ["-f"]):
        assert "folders are never replaced" in restride("copy", "in.safetensors", "folder", *force, code=1).err
    assert "is the file that is read" in restride("copy", "in.safetensors", "in.safetensors", "-f", code=1).err
    assert "is the file that is read" in restride("copy", "folder", "folder/ids.npy", "-f", "--array", "ids", code=1).err
    (tmp_path / "file").write_text("")
    assert "is no folder" in restride("copy", "in.safetensors", "file/", code=1).err
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "in.safetensors", "out.npz"]


@pytest.mark.parametrize("name, words", [("../up", "outside its archive"), ("/abs", "outside"), ("a//b", "part of it")])
def test_names_that_lead_out_of_a_folder_are_refused(restride, tmp_path, name, words):
    write_safetensors(tmp_path / "in.safetensors", {"good": np.zeros(3, "f4"), name: np.zeros(3, "f4")})
    for out in ("out/", "out.npz"):
        assert words in restride("copy", "in.safetensors", out, code=1).err
    assert os.listdir(tmp_path) == ["in.safetensors"]


def test_a_name_that_is_a_file_and_a_folder_leaves_nothing(restride, tmp_path):
    write_safetensors(tmp_path / "in.safetensors", {"a.npy": np.zeros(3, "f4"), "a.npy/b": np.zeros(3, "f4")})
    restride("copy", "in.safetensors", "out/", code=1)
    write_safetensors(tmp_path / "in.safetensors", {"a": np.zeros(3, "f4"), "a.npy": np.zeros(3, "f4")})
    for out in ("out/", "out.npz"):
        assert "names must differ" in restride("copy", "in.safetensors", out, code=1).err
    assert os.listdir(tmp_path) == ["in.safetensors"]


def test_one_array_that_cannot_be_read_leaves_nothing(restride, numbered, tmp_path):
    np.savez(tmp_path / "in.npz", good=numbered((3,)), objects=np.array([None]))
    err = restride("copy", "in.npz", "out.npz", code=1).err
    assert "member 'objects.npy'" in err and os.listdir(tmp_path) == ["in.npz"]
    restride("copy", "in.npz", "out.npz", "--array", "good")
    (tmp_path / "folder").mkdir()
    assert "a folder without .npy files" in restride("copy", "folder", "x.npz", code=1).err


def test_many_in_little_memory(restride, numbered, tmp_path):
    a = {f"w{i}": numbered((1024, 1024), "f8") for i in range(8)}  # 64 MiB
    np.savez(tmp_path / "in.npz", **a)
    if os.environ.get("RESTRIDE_SANITIZE"):
        pytest.skip("sanitizers need memory of their own")
    report = restride("copy", "in.npz", "out.safetensors", "--dtype", "f32", "--axes", "1,0", "--buffer-mib", 2, "--json",
                      "--threads", 1, memory_bytes=120 << 20, env={"OMP_NUM_THREADS": "1"}).json()
    assert report["buffer_bytes"] <= 2 << 20 and report["pieces"] == 16
    data = read_safetensors(tmp_path / "out.safetensors")[1]
    assert data["w7"] == a["w7"].T.astype("f4").tobytes()


@pytest.mark.parametrize("out", ["out/", "out.npz", "out.safetensors"])
@pytest.mark.parametrize("poor", [False, True])
def test_a_signal_in_the_middle_of_many_leaves_nothing(tmp_path, out, poor):
    (tmp_path / "in").mkdir()
    for name in ("first", "sub"):
        with open(tmp_path / "in" / f"{name}.npy", "wb") as f:
            header = np.lib.format.header_data_from_array_1_0(np.zeros((1,), "u1")) | {"shape": (30_000, 60_000)}
            np.lib.format.write_array_header_1_0(f, header)
            f.truncate(f.tell() + 30_000 * 60_000)
    filters = poor_file_system() if poor else None
    child = subprocess.Popen([RESTRIDE, "copy", "in", out, "--axes", "1,0", "--threads", "1", "--family", "gather"], cwd=tmp_path,
                             preexec_fn=filters)
    for _ in range(1000):
        open_files = []
        for fd in os.listdir(f"/proc/{child.pid}/fd"):
            try:
                open_files.append(os.readlink(f"/proc/{child.pid}/fd/{fd}"))
            except FileNotFoundError:
                pass
        if any(f.startswith(str(tmp_path)) and ("(deleted)" in f or ".restride-" in f) for f in open_files):
            break
        time.sleep(0.01)
    child.send_signal(signal.SIGTERM)
    assert child.wait(120 if os.environ.get("RESTRIDE_SANITIZE") else 20) == -signal.SIGTERM
    assert os.listdir(tmp_path) == ["in"]


# Elements that the format names and restride moves: F4 has two in a byte, F6 four in three bytes.
PACKED = {"w": {"dtype": "F4", "shape": [4, 6], "data_offsets": [0, 12]},
          "s": {"dtype": "F8_E8M0", "shape": [4], "data_offsets": [12, 16]},
          "six": {"dtype": "F6_E2M3", "shape": [2, 3, 8], "data_offsets": [16, 52]},
          "fn": {"dtype": "F8_E4M3FNUZ", "shape": [2, 2], "data_offsets": [52, 56]},
          "odd": {"dtype": "F4", "shape": [2, 3], "data_offsets": [56, 59]}}


@pytest.fixture
def packed(tmp_path):
    data = bytes(range(59))
    write_raw_safetensors(tmp_path / "in.safetensors", PACKED, data)
    return {k: np.frombuffer(data[slice(*v["data_offsets"])], "u1") for k, v in PACKED.items()}


def test_packed_elements_keep_their_dtype(restride, tmp_path, packed):
    restride("copy", "in.safetensors", "out.safetensors")
    header, data = read_safetensors(tmp_path / "out.safetensors")
    for name, bytes_ in packed.items():
        assert header[name]["dtype"] == PACKED[name]["dtype"] and header[name]["shape"] == PACKED[name]["shape"]
        assert data[name] == bytes_.tobytes()
    restride("copy", "in.safetensors:s", "s.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "s.npy").view("u1"), packed["s"])
    restride("copy", "in.safetensors:fn", "fn.npy", "--in-dtype", "u8", "--dtype", "f32", "--axes", "1,0")
    np.testing.assert_array_equal(np.load(tmp_path / "fn.npy"), packed["fn"].reshape(2, 2).T.astype("f4"))
    restride("copy", "in.safetensors:w", "w.raw")
    assert (tmp_path / "w.raw").read_bytes() == packed["w"].tobytes()


@pytest.mark.parametrize("name, words, shape, expected", [
    ("w", ["--flip", "0"], [4, 6], lambda a: a.reshape(4, 3)[::-1]),
    ("w", ["--slice", "1:3,2:6"], [2, 4], lambda a: a.reshape(4, 3)[1:3, 1:]),
    ("w", ["--slice", "::2"], [2, 6], lambda a: a.reshape(4, 3)[::2]),
    ("w", ["--reshape", "2,12"], [2, 12], lambda a: a),
    ("w", ["--rearrange", "(a b) c -> b a c", "--size", "b=2"], [2, 2, 6], lambda a: a.reshape(2, 2, 3).transpose(1, 0, 2)),
    ("six", ["--axes", "1,0,2"], [3, 2, 8], lambda a: a.reshape(2, 3, 2, 3).transpose(1, 0, 2, 3)),
    ("six", ["--slice", "1,:,4:"], [3, 4], lambda a: a.reshape(2, 3, 2, 3)[1, :, 1:]),
    ("odd", ["--reshape", "6"], [6], lambda a: a),
    ("w", ["--slice", "0:0"], [0, 6], lambda a: a[:0]),
])
def test_packed_elements_move_in_whole_bytes(restride, tmp_path, packed, name, words, shape, expected):
    restride("copy", f"in.safetensors:{name}", "out.safetensors", *words)
    header, data = read_safetensors(tmp_path / "out.safetensors")
    assert header["tensor"]["dtype"] == PACKED[name]["dtype"] and header["tensor"]["shape"] == shape
    assert data["tensor"] == expected(packed[name]).tobytes()


@pytest.mark.parametrize("name, words, said", [
    ("w", ["--axes", "1,0"], "F4 has 2 elements in 1 byte, and this copy would cut them apart"), ("w", ["--flip", "1"], "cut them apart"),
    ("w", ["--slice", ":,1:5"], "cut them apart"), ("w", ["--slice", ":,:3"], "cut them apart"), ("odd", ["--slice", "1:"], "cut them apart"),
    ("six", ["--slice", ":,:,:6"], "F6_E2M3 has 4 elements in 3 bytes"), ("w", ["--order", "F"], "cut them apart"),
    ("w", ["--dtype", "bf16"], "F4 cannot become bf16: restride moves such elements and converts none; leave out --dtype"),
    ("s", ["--dtype", "f32"], "F8_E8M0 cannot become f32: restride moves such elements and converts none; leave out --dtype, or take their bits with --in-dtype u8"),
    ("w", ["--in-dtype", "u8"], "F4 has 4 bits an element"),
])
def test_what_packed_elements_cannot_do_is_said(restride, tmp_path, packed, name, words, said):
    assert said in restride("copy", f"in.safetensors:{name}", "out.safetensors", *words, code=1).err
    assert os.listdir(tmp_path) == ["in.safetensors"]


def test_packed_elements_have_no_place_in_numpys_files(restride, tmp_path, packed):
    assert "NumPy has no elements of 4 bits" in restride("copy", "in.safetensors:w", "out.npy", code=1).err
    assert "'w': NumPy has no elements of 4 bits" in restride("copy", "in.safetensors", "out.npz", code=1).err
    assert "'w': F4 cannot become bf16" in restride("copy", "in.safetensors", "o.safetensors", "--dtype", "bf16", code=1).err
    assert "cut them apart" in restride("explain", "in.safetensors:w", "--axes", "1,0", code=1).err
    assert os.listdir(tmp_path) == ["in.safetensors"]
