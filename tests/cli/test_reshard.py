"""restride reshard: files of one distribution into files of another."""
import numpy as np
import pytest

ROWS = "(37,20) as (block[0],*) over (3)"
COLUMNS = "(37,20) as (*,ceil[0]) over (4)"


def write(tmp_path, whole, name="in-{}.npy"):
    for rank, part in enumerate(np.array_split(whole, 3)):
        np.save(tmp_path / name.format(rank), part)


def test_reshard_rows_into_columns(restride, numbered, tmp_path):
    whole = numbered((37, 20), "f4")
    write(tmp_path, whole)
    text = restride("reshard", "in-{rank}.npy", "out-{rank}.npy", "--from", ROWS, "--to", COLUMNS).out
    assert "4 files, 2960 bytes" in text and "of 256 MiB allowed" in text
    got = [np.load(tmp_path / f"out-{rank}.npy") for rank in range(4)]
    assert [g.shape for g in got] == [(37, 5)] * 4
    np.testing.assert_array_equal(np.concatenate(got, axis=1), whole)


def test_reshard_converts_and_deals_cyclic_blocks_on_a_grid(restride, tmp_path):
    whole = np.arange(37 * 20, dtype="i4").reshape(37, 20)
    write(tmp_path, np.asfortranarray(whole))
    to = "(37,20) as (cyclic:4[0],cyclic:3[1]) over (2,2):(1,2)"
    restride("reshard", "in-{rank}.npy", "out-{rank}.npy", "--from", ROWS, "--to", to, "--dtype", "f64", "--quiet")
    for rank in range(4):
        rows = [i for i in range(37) if i // 4 % 2 == rank % 2]
        columns = [i for i in range(20) if i // 3 % 2 == rank // 2]
        got = np.load(tmp_path / f"out-{rank}.npy")
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got, whole[np.ix_(rows, columns)])


def test_reshard_holds_no_more_than_its_buffer(restride, tmp_path):
    whole = np.random.default_rng(1).integers(0, 255, (3, 5, 700_000), "u1")
    for rank in range(3):
        np.save(tmp_path / f"in-{rank}.npy", whole[rank:rank + 1])
    report = restride("reshard", "in-{rank}.npy", "out-{rank}.npy", "--from", "(3,5,700000) as (block[0],*,*) over (3)",
                      "--to", "(3,5,700000) as (*,*,block[0]) over (1)", "--buffer-mib", "1", "--json").json()
    assert report["buffer_bytes"] <= 1 << 20 and report["bytes"] == whole.size and report["files"] == 1
    np.testing.assert_array_equal(np.load(tmp_path / "out-0.npy"), whole)


def test_reshard_takes_boxes_and_safetensors(restride, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    whole = np.arange(81, dtype="f4").reshape(9, 9)
    np.save(tmp_path / "in-0-0.npy", whole[:5])
    np.save(tmp_path / "in-1-0.npy", whole[5:, :4].copy())
    np.save(tmp_path / "in-1-1.npy", whole[5:, 4:].copy())
    restride("reshard", "in-{rank}-{region}.npy", "out-{rank}.safetensors:w", "--from",
             "(9,9) boxes 0[0:5,0:9] 1[5:9,0:4] 1[5:9,4:9]", "--to", "(9,9) as (*,block[0]) over (2)")
    got = [safetensors.load_file(tmp_path / f"out-{rank}.safetensors")["w"] for rank in range(2)]
    np.testing.assert_array_equal(np.concatenate(got, axis=1), whole)
    restride("reshard", "out-{rank}.safetensors:w", "back-{rank}.npy", "--from", "(9,9) as (*,block[0]) over (2)", "--to",
             "(9,9) as (*,*) over (1)")
    np.testing.assert_array_equal(np.load(tmp_path / "back-0.npy"), whole)


@pytest.mark.parametrize("args, code, words", [
    (("in.npy", "out-{rank}.npy", "--from", ROWS, "--to", COLUMNS), 2, "put {rank} into it"),
    (("in-{rank}.npy", "out-{rank}.npy", "--from", "(37,20) as (*", "--to", COLUMNS), 2, "column"),
    (("in-{rank}.npy", "out-{rank}.npy", "--from", ROWS + " order (1,0)", "--to", COLUMNS), 2, "leave 'order' out"),
    (("in-{rank}.npy", "out-{rank}.npy", "--from", ROWS, "--to", "(37,21) as (*,*) over (1)"), 1, "axis 1 has extent 20"),
    (("in-{rank}.npy", "out-{rank}.npy", "--from", "(37,20) as (block[0],*) over (4)", "--to", COLUMNS), 1, "--from"),
    (("none-{rank}.npy", "out-{rank}.npy", "--from", ROWS, "--to", COLUMNS), 1, "none-0.npy"),
    (("in-{rank}.npy", "in-{rank}.npy", "--from", ROWS, "--to", COLUMNS), 1, "--force"),
    (("in-{rank}.npy", "out-{rank}.npy", "--from", "(37,20) boxes 0[0:13,0:20]", "--to", COLUMNS), 1, "needs index (13,0)"),
])
def test_reshard_says_what_is_wrong(restride, numbered, tmp_path, args, code, words):
    write(tmp_path, numbered((37, 20), "f4"))
    assert words in restride("reshard", *args, code=code).err
    assert not list(tmp_path.glob("out-*"))
