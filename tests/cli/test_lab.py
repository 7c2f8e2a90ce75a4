"""restride lab: what it says without a GPU, its result file, its refusals."""
import json
import os


def test_the_maps_figures_need_no_gpu(restride, tmp_path):
    out = restride("lab", "--size", 256, "--element", 4, "--rung", "naive", "--rung", "padded", "--reps", 1, "--json",
                   "lab.json").out
    result = json.loads((tmp_path / "lab.json").read_text())
    naive, padded = result["rows"]
    assert (naive["rung"], naive["map"]["store_sectors"]) == ("naive", 32)
    assert (padded["rung"], padded["map"]["get_conflicts"]) == ("padded", 1)
    if result["machine"]["device"] is None:
        assert out.startswith("No device is here (")
        assert "gbps" not in naive
    else:
        assert naive["checked"] and padded["checked"]


def test_an_unknown_rung_is_answered_with_those_there_are(restride):
    err = restride("lab", "--rung", "fastest", code=2).err
    assert "'fastest'" in err and "memcpy, copy_simple" in err


def test_an_unwritable_result_file_is_named(restride):
    err = restride("lab", "--size", 64, "--element", 4, "--rung", "memcpy", "--reps", 1, "--json", "no/such/lab.json", code=1).err
    assert "no/such" in err


def test_the_result_file_leaves_its_neighbours_alone(restride, tmp_path):
    lab = ("lab", "--size", 64, "--element", 4, "--rung", "naive", "--reps", 1, "--json")
    (tmp_path / "lab.json.part").write_text("mine")
    (tmp_path / "link.json").symlink_to("lab.json")
    restride(*lab, "link.json")
    assert (tmp_path / "lab.json.part").read_text() == "mine" and (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "lab.json").read_text())["rows"]
    restride(*lab, "link.json")
    (tmp_path / "folder").mkdir()
    assert "directory" in restride(*lab, "folder", code=1).err
    assert sorted(os.listdir(tmp_path)) == ["folder", "lab.json", "lab.json.part", "link.json"]


def test_a_result_replaces_no_other_json(restride, tmp_path):
    lab = ("lab", "--size", 64, "--element", 4, "--rung", "naive", "--reps", 1, "--json")
    (tmp_path / "my.json").write_text('{"machine":{},"cases":[]}')
    assert "no older report" in restride(*lab, "my.json", code=1).err
    assert (tmp_path / "my.json").read_text() == '{"machine":{},"cases":[]}'


def test_the_ladder_becomes_a_page(restride, tmp_path):
    restride("lab", "--size", 64, "--element", 4, "--rung", "naive", "--reps", 1, "--json", "lab.json", "--html", "lab.html")
    restride("lab", "--from", "lab.json", "--html", "again.html")
    for name in ("lab.html", "again.html"):
        page = (tmp_path / name).read_text()
        assert 'id="rung-swizzle"' in page and "The naive transpose" in page
    assert "add --html" in restride("lab", "--from", "lab.json", code=2).err
    (tmp_path / "my.json").write_text('{"machine":{},"cases":[]}')
    assert "holds no results" in restride("lab", "--from", "my.json", "--html", "p.html", code=1).err
