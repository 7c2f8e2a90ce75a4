"""restride lab: what it says without a GPU, its result file, its refusals."""
import json


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
    assert "no/such/lab.json" in err
