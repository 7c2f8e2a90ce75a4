"""restride tune: what it prints and writes, and its refusals. Nothing here depends on how fast a machine is."""
import json
import os


def quick(restride, *args, **more):
    return restride("tune", "--seconds", 1, *args, **more)


def test_the_file_is_written_where_planning_reads_it(restride, tmp_path):
    here = {"RESTRIDE_MACHINE": str(tmp_path / "new" / "machine.json")}
    out = quick(restride, env=here).out
    assert "not every number was tried" in out and "not fitted to" in out
    written = json.loads((tmp_path / "new" / "machine.json").read_text())
    assert written["restride_machine"] == 1 and written["cpu"]["name"].endswith(", tuned")
    assert "near" in written["cpu"] and "row_ns" in written["cpu"]
    said = restride("explain", "f32 (512,1024) -> (1,0)", env=here).out
    assert "by the costs of " + written["cpu"]["name"] in said


def test_a_dry_run_writes_nothing(restride, tmp_path):
    out = quick(restride, "--dry-run").out
    assert json.loads(out[out.index('{"restride_machine"'):])["cpu"]
    assert os.listdir(tmp_path) == []


def test_gpus_of_an_older_file_stay(restride, tmp_path):
    gpu = {"name": "NVIDIA L40S", "cc_major": 8, "cc_minor": 9, "copy_bytes_per_ns": 740}
    (tmp_path / "m.json").write_text(json.dumps({"restride_machine": 1, "gpus": [gpu]}))
    quick(restride, "--out", "m.json")
    written = json.loads((tmp_path / "m.json").read_text())
    assert written["gpus"][0]["name"] == "NVIDIA L40S" and "cpu" in written


def test_other_files_are_kept(restride, tmp_path):
    for text in ('{"cases": []}', "notes"):
        (tmp_path / "mine.json").write_text(text)
        assert "mine.json" in quick(restride, "--out", "mine.json", code=1).err
        assert (tmp_path / "mine.json").read_text() == text
    assert "no/such" in quick(restride, "--out", "no/such/m.json", code=1).err


def test_a_broken_file_in_use_is_an_error(restride, tmp_path):
    (tmp_path / "m.json").write_text('{"restride_machine": 1, "cpu": {"name": "x", "row_ns": -1}}')
    err = quick(restride, code=1, env={"RESTRIDE_MACHINE": str(tmp_path / "m.json")}).err
    assert "'row_ns' is no number" in err


def test_without_a_place_it_asks_for_one(restride):
    assert "--out" in quick(restride, code=2, env={"RESTRIDE_MACHINE": ""}).err


def test_a_gpu_is_looked_for_before_anything_is_written(restride, tmp_path):
    # What tuning one brings is the GPU tests' business: scripts/gpu_test.sh.
    err = restride("tune", "--device", "cuda", "--out", "m.json", code=1, env={"CUDA_VISIBLE_DEVICES": ""}).err
    assert "CUDA" in err and os.listdir(tmp_path) == []


def test_seconds_are_a_whole_number(restride):
    assert "'0' is no whole number" in restride("tune", "--seconds", 0, code=2).err
