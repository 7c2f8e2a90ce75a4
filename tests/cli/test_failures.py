"""restride copy: bad input gets a clear message, the right exit code and no output."""
import ctypes
import json
import os
import resource
import shlex
import struct
import subprocess

import numpy as np
import pytest

RESTRIDE = os.environ["RESTRIDE"]


@pytest.mark.parametrize("args, words", [
    (["--axes", "0,1"], ["axes", "(4,5,6)"]),
    (["--axes", "0,1,-2"], ["twice"]),
    (["--axes", "0,1,3"], ["3"]),
    (["--slice", "1,2,3,4"], ["slice"]),
    (["--slice", "9"], ["9"]),
    (["--flip", "3"], ["modes -3 to 2"]),
    (["--flip", "0,-3"], ["(0,-3)", "mode 0 twice"]),
    (["--reshape", "7,-1"], ["(7,-1)", "120 elements"]),
    (["--reshape", "9223372036854775807,2"], ["120 elements"]),
    (["--broadcast", "3,5,6"], ["3"]),
    (["--rearrange", "a b -> b a"], ["a b"]),
    (["--rearrange", "a (b c) d -> a b c d"], ["b"]),
    (["--rearrange", "a (b c) d -> a b c d", "--size", "c=2"], ["'a (b c) d -> a b c d'", "mode 1"]),
    (["--in-dtype", "f16"], ["size"]),
    (["--family", "run", "--axes", "2,1,0"], ["run"]),
])
def test_what_does_not_fit_the_array_is_named(restride, tmp_path, array, args, words):
    result = restride("copy", "in.npy", "out.npy", *args, code=1)
    assert result.err.startswith("restride: error: ") and result.err.count("\n") == 1
    for word in words:
        assert word in result.err
    assert os.listdir(tmp_path) == ["in.npy"]


def test_a_scalar_has_no_modes_to_flip(restride, tmp_path):
    np.save(tmp_path / "scalar.npy", np.float32(3))
    for mode in ("0", "-1"):
        assert "has no modes" in restride("copy", "scalar.npy", "out.npy", "--flip", mode, code=1).err


@pytest.mark.parametrize("args", [
    [], ["copy"], ["copy", "in.npy"], ["nonsense"], ["copy", "in.npy", "out.npy", "--nonsense"],
    ["copy", "in.npy", "out.npy", "--axes", "a,b"], ["copy", "in.npy", "out.npy", "--axes", "0,1,2", "--rearrange", "a b c -> a b c"],
    ["copy", "in.npy", "out.npy", "--dtype", "float99"], ["copy", "in.npy", "out.npy", "--threads", "-1"],
    ["copy", "in.npy", "out.npy", "--device", "tpu"], ["copy", "in.npy", "out.npy", "--rearrange", "a b c -> c a b", "--size", "b"],
    ["copy", "in.npy", "out.npy", "--axes", "2,1,0,"], ["copy", "in.npy", "out.npy", "--flip", ""],
    ["copy", "in.npy", "out.npy", "--flip", "1.5"], ["copy", "in.npy", "out.npy", "--reshape", "99999999999999999999"],
    ["copy", "in.npy", "out.npy", "--in-offset", "8"],
    ["copy", "in.npy", "out.npy", "--in-layout", "u8 (8)", "--in-offset", "99999999999999999999"],
    ["copy", "in.npy", "out.npy", "--rearrange", "a b c -> c a b", "--size", "b=99999999999999999999"],
    ["completion", "tcsh"], ["explain", "f32 (2,3) -> f16", "--axes", "1,0"],
])
def test_a_wrong_command_line_exits_with_2(restride, tmp_path, array, args):
    result = restride(*args, code=2)
    assert "restride: error: " in result.err and result.out == ""
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("args, words", [
    (["--slice", "a"], ["slice 'a'"]), (["--slice", "1,,2"], ["--slice '1,,2': entry 2 is empty", "':'"]),
    (["--axes", "2,1,0,"], ["--axes '2,1,0,': entry 4 is empty"]), (["--flip", "1, x"], ["--flip '1, x': 'x' is no whole number"]),
    (["--reshape", "99999999999999999999"], ["--reshape", "does not fit 63 bits"]),
    (["--slice", "::0"], ["step"]),
    (["--axes", "0,1,1"], ["axes (0,1,1)", "mode 1 twice"]),
    (["--flip", "0,0"], ["--flip", "(0,0)", "mode 0 twice"]), (["--flip", "-1,1,-1"], ["mode -1 twice"]),
    (["--broadcast", "5,-1,3,4"], ["(5,-1,3,4)", "0 or more"]),
    (["--rearrange", "ä b c -> b c ä"], ["'ä' is no part"]),
    (["--reshape", "0,-1"], ["-1", "write it out"]),
    (["--reshape", "-5,-24"], ["non-negative"]),
    (["--rearrange", "(a x) b c -> a b c x", "--size", "x=2", "--size", "x=4"], ["'x'", "twice"]),
    (["--rearrange", "a b c"], ["->"]),
    (["--rearrange", "a b c -> c a b", "--size", "bb=5"], ["bb=5"]),
    (["--rearrange", "a b c -> c a b", "--size", "=5"], ["--size '=5': write NAME=NUMBER"]),
    (["--rearrange", "(a x) b c -> a b c x", "--size", "x=99999999999999999999"], ["x=9", "does not fit 63 bits"]),
    (["--axis", "2,1,0"], ["there is no option '--axis'; did you mean --axes?"]), (["--Axes=2,1,0"], ["no option '--Axes'; did you mean --axes?"]),
    (["-axes", "2,1,0"], ["no option '-axes'; did you mean --axes?"]), (["--nonsense", "3"], ["there is no option '--nonsense'\n"]),
    (["--to=bf16"], ["no option '--to'; did you mean --dtype?"]), (["--rotate90=1"], ["no option '--rotate90'; did you mean --rot90?"]),
    (["--crop", "1:2"], ["no option '--crop'; did you mean --slice?"]), (["--transpose=1,0"], ["did you mean --axes?"]),
    (["more"], ["'more' is one word too many"]), (["--axes", "2,1,0", "--axes", "0,1,2"], ["--axes is given 2 times"]),
    (["--dtype"], ["nothing stands behind --dtype"]),
    (["--family", "nonsense"], ["nonsense", "run, rows", "gather"]), (["--family", "noop"], ["no family 'noop'"]),
    (["--in-layout", "f32 (4,5"], ["column"]),
    (["--in-layout", "f32 (4)", "--in-offset", "-1"], ["--in-offset"]),
    (["--in-dtype", "f99"], ["f99", "bf16"]),
    (["--threads", "1.5"], ["--threads", "'1.5' is no whole number from 0 to 4096"]), (["--threads", "4097"], ["from 0 to 4096"]),
    (["--buffer-mib", "0.5"], ["'0.5' is no whole number from 1"]),
    (["--in-layout", "f32 (4)", "--in-offset", "1.5"], ["--in-offset", "whole number"]),
])
def test_text_that_cannot_be_read_exits_with_2_whatever_the_data(restride, tmp_path, array, args, words):
    err = restride("copy", "in.npy", "out.npy", *args, code=2).err
    assert err.startswith("restride: error: ")
    for word in words:
        assert word in err
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("option, entry", [("--threads", 1), ("--dtype", "u8")])
def test_an_empty_entry_of_a_list_is_named(restride, option, entry):
    for value, place in ((f"{entry},", 2), (f",{entry}", 1), (f"{entry},,{entry}", 2), (",", 1), (f"{entry}, ", 2)):
        for words in ([option, value], [f"{option}={value}"]):
            err = restride("bench", "--list", "--only", "transpose", *words, code=2).err
            assert f"{option} '{value}': entry {place} is empty" in err
    for words in ([option, f"{entry}, {entry}"], [option, entry, entry], [option, entry, option, entry]):
        restride("bench", "--list", *words, "--only", "transpose")


VALUED = ["slice", "flip", "broadcast", "axes", "rearrange", "size", "reshape", "dtype", "order", "in-layout", "in-offset", "in-dtype",
          "threads", "device", "family", "measurements", "buffer-mib"]


@pytest.mark.parametrize("option", VALUED)
def test_an_empty_value_is_refused_not_passed_over(restride, tmp_path, array, option):
    for words in ([f"--{option}", ""], [f"--{option}="]):
        err = restride("copy", *words, "in.npy", "out.npy", code=2).err
        assert f"--{option}" in err and "unset" in err
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("args", [["copy", "", "out.npy"], ["explain", ""], ["bench", "--json", ""], ["lab", "--rung", ""], [""]])
def test_an_empty_word_is_refused_everywhere(restride, args):
    assert "is empty" in restride(*args, code=2).err


@pytest.mark.parametrize("args", [["--bogus"], ["--threads", "2", "copy", "in.npy", "out.npy"], ["--bogus=3"], ["-x"]])
def test_an_option_in_front_of_the_command_is_named(restride, args):
    err = restride(*args, code=2).err
    assert f"'{args[0]}'" in err and "behind" in err


@pytest.mark.parametrize("name", ["in.npy", "in.safetensors"])
def test_a_shape_that_no_memory_holds_is_refused_with_the_files_name(restride, tmp_path, name):
    shape = (1 << 62, 4)
    npy = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    tensors = json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}).encode()
    (tmp_path / "in.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(npy)) + npy)
    (tmp_path / "in.safetensors").write_bytes(struct.pack("<Q", len(tensors)) + tensors)
    err = restride("copy", name, "out.npy", code=1).err
    assert f"{name}: its header claims extents (4611686018427387904,4)" in err and "use smaller extents" not in err


@pytest.mark.parametrize("word, remedy", [
    ("rot90", "--rot90 is an option (of copy, explain): restride copy IN OUT --rot90 K"),
    ("rotate", "--rot90 is an option (of copy, explain): restride copy IN OUT --rot90 K"),
    ("crop", "--slice is an option (of copy, explain): restride copy IN OUT --slice SLICES"),
    ("transpose", "--axes is an option (of copy, explain): restride copy IN OUT --axes AXES"),
    ("reshape", "--reshape is an option (of copy, explain): restride copy IN OUT --reshape EXTENTS"),
    ("force", "--force is an option (of copy, reshard): restride copy IN OUT --force; "),
    ("only", "--only is an option (of bench): restride bench ... --only PATTERN"),
    ("convert", "did you mean copy?"),
    ("explian", "did you mean explain?"),
    ("help", "restride --help lists them"),
    ("x.npy", "restride copy x.npy OUT"),
    ("f32 (2,3) -> (1,0)", "restride explain 'f32 (2,3) -> (1,0)'"),
])
def test_a_word_that_is_no_command_is_told_where_it_belongs(restride, word, remedy):
    error = restride(word, code=2).err
    assert remedy in error and "there are copy, reshard, explain" in error, error


def test_a_word_that_is_nothing_gets_the_commands(restride):
    assert "there is no command 'zzz'; there are copy," in restride("zzz", code=2).err


def test_without_a_command_the_commands_are_listed(restride):
    err = restride(code=2).err
    assert err.startswith("restride: error: ")
    for command in ["copy", "explain", "bench", "lab", "tune", "info", "completion"]:
        assert f"\n  {command} " in err


@pytest.mark.parametrize("command", ["bench", "lab"])
def test_results_go_to_no_file_called_dash(restride, tmp_path, command):
    result = restride(command, "--json", "-", code=2)
    assert "/dev/stdout" in result.err and result.out == ""
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("value", ["two", "0", "-1", "2x", "4097", "99999999999999999999"])
def test_a_senseless_number_of_threads_in_the_environment_is_refused(restride, tmp_path, array, value):
    err = restride("copy", "in.npy", "out.npy", code=2, env={"RESTRIDE_NUM_THREADS": value}).err
    assert "RESTRIDE_NUM_THREADS" in err and value in err
    for words in (["--help"], ["--version"], ["copy", "in.npy", "one.npy", "--threads", 1]):  # nobody asks it
        restride(*words, env={"RESTRIDE_NUM_THREADS": value})
    restride("copy", "in.npy", "out.npy", env={"RESTRIDE_NUM_THREADS": ""})


@pytest.mark.parametrize("args", [["copy", "in.npy", "out.npy", "--json"], ["info"], ["--help"], ["copy", "--help"], ["--version"],
                                  ["completion", "bash"]])
@pytest.mark.parametrize("stdout", ["full", "closed"])
def test_a_report_that_cannot_be_written_is_a_failure(tmp_path, array, args, stdout):
    command = [RESTRIDE, *args]
    if stdout == "closed":
        command = ["sh", "-c", 'exec "$@" <&- >&-', "sh", *command]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "standard output" in done.stderr
    if args[-1] == "--json":
        assert "out.npy is complete" in done.stderr
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), array, "the report is not written into the output")


@pytest.mark.parametrize("head", [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"GIF89a", b"BM", b"RIFF1234WEBP"])
def test_a_picture_is_no_array_and_the_way_to_one_is_told(restride, tmp_path, head):
    (tmp_path / "photo.png").write_bytes(head + bytes(100))
    err = restride("copy", "photo.png", "out.npy", code=1).err
    assert "photo.png is a picture, whose pixels are packed" in err and "np.save('photo.npy', np.asarray(PIL.Image.open('photo.png')))" in err
    np.save(tmp_path / "in.npy", np.zeros((3, 4, 3), "u1"))
    assert "out.jpg: restride writes arrays, not pictures" in restride("copy", "in.npy", "out.jpg", code=2).err
    assert "out.ppm: restride writes arrays, not pictures" in restride("copy", "in.npy", "out.ppm", code=2).err


@pytest.mark.parametrize("head, shape, options", [
    (b"P6\n5 4\n255\n", (4, 5, 3), "--in-layout 'u8 (4,5,3)' --in-offset 11"),
    (b"P5 # of a camera\n 5\t4 # rows\n200 ", (4, 5), "--in-layout 'u8 (4,5)' --in-offset 33"),
])
def test_a_picture_of_bare_pixels_is_read_as_the_message_says(restride, tmp_path, head, shape, options):
    pixels = np.arange(np.prod(shape), dtype="u1").reshape(shape)
    (tmp_path / "photo.ppm").write_bytes(head + pixels.tobytes())
    for command in (("copy", "photo.ppm", "out.npy"), ("explain", "photo.ppm"), ("info", "photo.ppm")):
        assert options in restride(*command, code=1).err
    restride("copy", "photo.ppm", "out.npy", "--rot90", "1", *shlex.split(options))
    assert (np.load(tmp_path / "out.npy") == np.rot90(pixels)).all()


@pytest.mark.parametrize("head", [b"P6\n5 4\n65535\n", b"P6\n5 4\n255", b"P6\n5 x\n255\n", b"P6", b"P3\n5 4\n255\n", b"P6\n99999999999999999999 4\n255\n"])
def test_a_picture_of_other_pixels_is_not_guessed_at(restride, tmp_path, head):
    (tmp_path / "photo.ppm").write_bytes(head)
    assert "is no .npy" in restride("copy", "photo.ppm", "out.npy", code=1).err


def test_casts_that_do_not_exist_are_refused(restride, tmp_path):
    np.save(tmp_path / "in.npy", np.zeros(4, "c8"))
    assert "c64 cannot become f32" in restride("copy", "in.npy", "out.npy", "--dtype", "f32", code=1).err
    np.save(tmp_path / "in.npy", np.array(["text"]))
    assert "cannot become" in restride("copy", "in.npy", "out.npy", "--dtype", "f32", code=1).err


def test_structured_and_object_arrays_are_refused_with_the_remedy(restride, tmp_path):
    np.save(tmp_path / "in.npy", np.zeros(4, [("x", "f4"), ("y", "f4")]))
    err = restride("copy", "in.npy", "out.npy", code=1).err
    assert "a['field']" in err and "a.view('V8')" in err
    np.save(tmp_path / "in.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    assert "Python objects" in restride("copy", "in.npy", "out.npy", code=1).err


def test_truncated_files_are_refused_at_every_length(restride, tmp_path, array):
    whole = (tmp_path / "in.npy").read_bytes()
    for length in [0, 1, 5, 6, 7, 8, 9, 10, 11, 64, 127, 128, 129, len(whole) - 1]:
        (tmp_path / "cut.npy").write_bytes(whole[:length])
        assert "cut.npy" in restride("copy", "cut.npy", "out.npy", code=1).err
    assert not (tmp_path / "out.npy").exists()


def test_cuda_copies_or_says_why_it_cannot(restride, tmp_path, array):
    cuda = restride("info", "--json").json()["cuda"]
    if cuda["devices"]:
        restride("copy", "in.npy", "out.npy", "--device", "cuda", "--axes", "2,0,1")
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), array.transpose(2, 0, 1))
        return
    assert cuda["reason"] in restride("copy", "in.npy", "out.npy", "--device", "cuda", code=1).err
    assert os.listdir(tmp_path) == ["in.npy"]


def test_a_path_that_is_no_utf8_is_reported_and_printed(restride, tmp_path, array):
    name = os.fsdecode(b"caf\xe9.npy")
    report = restride("copy", "in.npy", name, "--json").json()
    assert report["output"] == "caf\ufffd.npy" and (tmp_path / name).exists()
    assert "caf\\xe9.npy exists" in restride("copy", "in.npy", name, code=1).err


@pytest.mark.parametrize("file", ["in.npy", "other.npy", "other.raw"])
def test_a_file_that_is_named_as_a_folder_is_no_folder(restride, tmp_path, array, file):
    np.save(tmp_path / "other.npy", array)
    (tmp_path / "other.raw").write_bytes(b"raw")
    for force in ([], ["--force"]):
        err = restride("copy", "in.npy", f"{file}/x.npy", *force, code=1).err
        assert f"{file} is no directory" in err and "is the file that is read" not in err
    assert "leave out '/x.npy'" in restride("copy", "in.npy/x.npy", "out.npy", code=1).err
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "other.npy", "other.raw"]


def test_a_file_without_anything_in_it_is_empty(restride, tmp_path):
    for name in ("in.npy", "in.npz"):
        (tmp_path / name).touch()
        assert f"{name}: it is empty" in restride("copy", name, "out.npy", code=1).err


def test_a_folder_of_a_folder_that_cannot_be_read_is_named(restride, tmp_path, array):
    def as_anybody():  # root reads what it has no right to; without these two capabilities it does not
        for capability in (1, 2):
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)

    (tmp_path / "in" / "closed").mkdir(parents=True)
    np.save(tmp_path / "in" / "a.npy", array)
    (tmp_path / "in" / "closed").chmod(0)
    err = restride("copy", "in", "out/", code=1, before=as_anybody).err
    assert "cannot read the folder in/closed: Permission denied; make it readable, or name a folder without it" in err
    (tmp_path / "in" / "closed").chmod(0o700)
    restride("copy", "in", "out/")


def test_inputs_that_cannot_be_read(restride, tmp_path, array):
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "folder").mkdir()
    for name, words in (("none.npy", "No such file"), ("folder", "without .npy files"), ("pipe.npy", "pipe"), ("/dev/zero", "regular file")):
        assert words in restride("copy", name, "out.npy", code=1).err


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize("out, records", [("new.npy", "new.npy"), ("new.npy", "./new.npy"), ("old.npy", "link"), ("new.npy", "in.npy")])
def test_measurements_share_no_file_with_the_arrays(restride, tmp_path, array, out, records, force):
    np.save(tmp_path / "old.npy", array)
    (tmp_path / "link").symlink_to("old.npy")
    before = {name: (tmp_path / name).read_bytes() for name in sorted(os.listdir(tmp_path))}
    result = restride("copy", "in.npy", out, *force, "--measure", "--measurements", records, code=2)
    assert f"--measurements {records} is IN or OUT" in result.err
    assert {name: (tmp_path / name).read_bytes() for name in sorted(os.listdir(tmp_path))} == before


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.skipif(bool({"ASAN_OPTIONS", "TSAN_OPTIONS"} & set(os.environ)), reason="the sanitizers themselves need /proc")
def test_an_output_appears_where_there_is_no_proc(tmp_path, array):
    hidden = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
        pytest.skip("cannot mount here")
    for force in ([], ["--force"]):
        done = subprocess.run([*hidden, RESTRIDE, "copy", "in.npy", "out.npy", *force], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert (np.load(tmp_path / "out.npy") == array).all()
        assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


def run_within(memory_bytes, cwd, *args):
    return subprocess.run([RESTRIDE, *args], cwd=cwd, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes)))


@pytest.mark.skipif(bool(os.environ.get("RESTRIDE_SANITIZE")), reason="sanitizers need memory of their own")
@pytest.mark.parametrize("args", [["copy", "many.safetensors:t7", "out.npy", "--threads", "1"],
                                  ["bench", "--cases", "many.json", "--only", "c1", "--reps", "1", "--threads", "1"],
                                  ["bench", "--cases", "one.json", "--json", "results.json", "--reps", "1", "--threads", "1"]])
def test_json_that_there_is_no_memory_for_ends_in_a_message(tmp_path, args):
    n = 40_000
    tensors = json.dumps({f"t{i}": {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in range(n)}).encode()
    (tmp_path / "many.safetensors").write_bytes(struct.pack("<Q", len(tensors)) + tensors + bytes(n))
    cases = [{"name": f"c{i}", "shape": [4, 5], "axes": [1, 0]} for i in range(5000)]
    (tmp_path / "many.json").write_text(json.dumps({"cases": cases}))
    (tmp_path / "one.json").write_text(json.dumps({"cases": cases[:1]}))
    run = {"device": "cpu", "machine": {"cpu": "another"}, "cases": [{"name": f"c{i}", "median_ns": 1.5} for i in range(2000)]}
    (tmp_path / "results.json").write_text(json.dumps({"runs": [{"threads": k, **run} for k in range(6)]}))
    least = next(kib for kib in range(4096, 1 << 20, 64) if run_within(kib << 10, tmp_path, "--version").returncode == 0)
    lacked = 0
    for kib in range(least, least + 16384, 200):
        done = run_within(kib << 10, tmp_path, *args)
        assert done.returncode in (0, 1), f"{kib} KiB: {done.returncode} {done.stderr}"
        assert done.returncode == 0 or done.stderr.startswith("restride: error: "), f"{kib} KiB: {done.stderr}"
        if "memory" not in done.stderr:
            break
        lacked += 1
    assert lacked > 5
