"""restride copy: what the options do, with NumPy as the judge."""
import numpy as np
import pytest

VIEWS = [
    (["--axes", "0,3,1,2"], lambda a: a.transpose(0, 3, 1, 2)),
    (["--axes", "-1,0,1,2"], lambda a: a.transpose(3, 0, 1, 2)),
    (["--rearrange", "b h w c -> b c h w"], lambda a: a.transpose(0, 3, 1, 2)),
    (["--rearrange", "b (h p) w c -> (b p) h (w c)", "--size", "p=2"],
     lambda a: a.reshape(3, 2, 2, 5, 2).transpose(0, 2, 1, 3, 4).reshape(6, 2, 10)),
    (["--rearrange", "b h w c -> (h 2) c n (w b)", "--size", "n=3"],
     lambda a: np.repeat(a, 2, 1).transpose(1, 3, 2, 0).reshape(2 * a.shape[1], a.shape[3], 1, -1).repeat(3, 2)),
    (["--rearrange", "b ... c -> c (b ...)"], lambda a: a.transpose(3, 0, 1, 2).reshape(2, -1)),
    (["--rearrange", "a b c d ... -> (d ...) a b c"], lambda a: a.transpose(3, 0, 1, 2)),
    (["--slice", "1:,::-1"], lambda a: a[1:, ::-1]),
    (["--slice", ":,1,::2"], lambda a: a[:, 1, ::2]),
    (["--slice", "-2:,:,3:0:-1"], lambda a: a[-2:, :, 3:0:-1]),
    (["--axes", "0, 3, 1, 2"], lambda a: a.transpose(0, 3, 1, 2)),
    (["--flip", "0,-1"], lambda a: a[::-1, :, :, ::-1]),
    (["--reshape", "6,-1"], lambda a: a.reshape(6, -1)),
    (["--slice", ":1", "--broadcast", "7,4,5,2"], lambda a: np.broadcast_to(a[:1], (7, 4, 5, 2))),
    (["--slice", "::2", "--flip", "1", "--axes", "3,2,1,0", "--reshape", "10,8"],
     lambda a: a[::2, ::-1].transpose(3, 2, 1, 0).reshape(10, 8)),
    (["--slice", "0:0"], lambda a: a[0:0]),
]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("options, expected", VIEWS, ids=[" ".join(v[0]) for v in VIEWS])
def test_views_are_numpys(restride, numbered, tmp_path, options, expected, order):
    a = numbered((3, 4, 5, 2))
    np.save(tmp_path / "in.npy", a)
    restride("copy", "in.npy", "out.npy", *options, "--order", order)
    out = np.load(tmp_path / "out.npy")
    np.testing.assert_array_equal(out, expected(a))
    assert out.flags[f"{order}_CONTIGUOUS"]


@pytest.mark.parametrize("to", ["u1", "i2", "i8", "f2", "f8", "c8", "?"])
def test_dtypes_convert_on_the_way(restride, numbered, tmp_path, to):
    names = {"u1": "u8", "i2": "i16", "i8": "i64", "f2": "f16", "f8": "f64", "c8": "c64", "?": "bool"}
    a = numbered((9, 7), "f4")
    np.save(tmp_path / "in.npy", a)
    restride("copy", "in.npy", "out.npy", "--dtype", names[to], "--axes", "1,0")
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.dtype(to)
    np.testing.assert_array_equal(out, a.T.astype(to))


def test_the_report_is_json_for_programs_and_silence_when_quiet(restride, numbered, tmp_path):
    np.save(tmp_path / "in.npy", numbered((64, 32), "f4"))
    report = restride("copy", "in.npy", "out.npy", "--axes", "1,0", "--json").json()
    assert report["output_layout"] == "f32 (32,64):(64,1)"
    assert report["bytes"] == 2 * 64 * 32 * 4
    assert report["device"] == "cpu" and report["threads"] >= 1 and report["seconds"] > 0
    quiet = restride("copy", "in.npy", "out.npy", "-fq")
    assert quiet.out == "" and quiet.err == ""


def test_a_speed_is_told_only_where_moving_takes_the_time(restride, numbered, tmp_path):
    np.save(tmp_path / "small.npy", numbered((64, 32), "f4"))
    np.save(tmp_path / "large.npy", numbered((4096, 4096), "f4"))
    small = restride("copy", "small.npy", "out.npy").out
    assert "16384 bytes read and written" in small and "GB/s" not in small
    assert restride("copy", "small.npy", "out.npy", "-f", "--json").json()["gbps"] is None
    report = restride("copy", "large.npy", "out.npy", "-f", "--json").json()
    assert report["gbps"] > 0 and 0 < report["opening_seconds"] < report["seconds"]
    assert "GB/s" in restride("copy", "large.npy", "out.npy", "-f").out


def test_threads_change_nothing_but_speed(restride, numbered, tmp_path):
    a = numbered((2048, 1000), "f4")
    np.save(tmp_path / "in.npy", a)
    for threads in (1, 2):
        restride("copy", "in.npy", f"{threads}.npy", "--axes", "1,0", "--threads", threads)
        np.testing.assert_array_equal(np.load(tmp_path / f"{threads}.npy"), a.T)


@pytest.mark.parametrize("how", ["off", "advise", "prefault"])
@pytest.mark.parametrize("options, expected", [
    (["--axes", "1,0"], lambda a: a.T), (["--dtype", "f64"], lambda a: a.astype("f8")),
], ids=["transpose", "cast"])
def test_pages_asked_for_in_advance_change_no_byte(restride, numbered, tmp_path, how, options, expected):
    a = numbered((768, 1024), "i4")
    np.save(tmp_path / "in.npy", a)
    report = restride("copy", "in.npy", "out.npy", *options, "--fresh-destination", how, "--threads", 2,
                      "--buffer-mib", 1, "--no-sync", "--json").json()
    assert report["pieces"] > 1
    assert (tmp_path / "out.npy").read_bytes()[-expected(a).nbytes:] == expected(a).tobytes()


@pytest.mark.parametrize("args, words", [
    (["--fresh-destination", "huge"], "--fresh-destination: huge not in {off,advise,prefault}"),
    (["--fresh-destination"], "nothing stands behind --fresh-destination"),
])
def test_no_other_way_of_asking_for_pages_is_taken(restride, array, tmp_path, args, words):
    result = restride("copy", "in.npy", "out.npy", *args, code=2)
    assert words in result.err and result.out == "" and not (tmp_path / "out.npy").exists()
