"""Pages in a browser: nothing on the console, nothing from the network, the numbers are the map's and the decision's."""
import json
import os
import pathlib
import re
import subprocess

import pytest

import browser

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESTRIDE = os.environ["RESTRIDE"]

# One layout at least for every kernel of both engines; the kernel is forced where another would be chosen.
CPU = {
    "run/units": "f32 (1000) -> f32", "run/pieces": "f32 (40000) -> f32", "rows/units": "u8 (5,77,3):(308,4,1) -> (0,1,2)",
    "rows/records": "u8 (5,77,3):(308,4,1) -> (0,1,2)", "packed/staged": "f32 (37,5,7) -> (0,2,1)",
    "tile/units": "f32 (517,300) -> (1,0)", "tile/matrices": "f32 (64,32) -> (1,0)", "tile/records": "u8 (96,64,3) -> (1,0,2)",
    "buffered/blocks": "f32 (5,29,77) -> (0,2,1)", "channels/split": "u8 (500,3) -> (1,0)", "channels/join": "u8 (3,500) -> (1,0)",
    "gather/units": "f32 (3,4,5) -> (2,0,1)",
}
CUDA = {
    "run/words": "f32 (5000) -> f32", "run/cast": "f16 (5000) -> f32", "rows/words": "f32 (1000,17):(24,1) -> (0,1)",
    "rows/cast": "f16 (300,100):(104,1) -> f32", "rows/pixels": "u8 (5,700,3):(2800,4,1) -> (0,1,2)",
    "rows/short": "f32 (2050,3) -> f32 (2050,3):(4,1)", "tile/aligned": "f32 (192,256) -> (1,0)",
    "tile/registers": "u8 (4096,1028) -> (1,0)", "tile/unaligned": "f32 (257,255) -> (1,0)", "tile/bulk": "f32 (4096,4096) -> (1,0)",
    "tile/chains": "f32 (48,4,28,28,352) -> (4,3,2,1,0)", "tile/unaligned_chains": "u8 (35,33,39,43) -> (2,1,3,0)",
    "tile/pixels": "u8 (301,70,3) -> (1,0,2)",
    "packed/records": "f32 (4000,4) -> (1,0)", "packed/records_cast": "u8 (160,480,3) -> f32 (160,480,3):(480,1,76800)",
    "packed/planes": "f32 (1001,5) -> (1,0)", "packed/direct": "f32 (97,5,7) -> (0,2,1)",
    "packed/batches": "u16 (803,67,35) -> (0,2,1)", "packed/staged": "f32 (50,6,6) -> (0,2,1)", "gather/units": "f32 (3,4,5) -> (2,0,1)", "gather/cast": "f32 (3,4,5) -> (2,0,1)",
}

why_not = browser.why_not()
if why_not:
    pytest.exit(f"skipped: {why_not}", returncode=77)


def restride(*args, code=0):
    done = subprocess.run([RESTRIDE, *map(str, args)], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"{args}: {done.stdout}{done.stderr}"
    return done.stdout


def explained(tmp_path, kernel, what, device):
    """The page of a copy by this kernel, in the browser, and the same as JSON. None where it does not apply."""
    page = tmp_path / "page.html"
    command = ["explain", what, "--device", device, "--family", kernel, "--html", page, "--json"]
    return browser_and_json(page, command)


def browser_and_json(page, command):
    report = json.loads(restride(*command))
    return browser.Visit(page), report


def expect_quiet(visit):
    assert visit.console == []
    assert visit.requests == []


def expect_the_same(visit, report):
    dom, piece, chosen = visit.dom, report["piece"], report["chosen"]
    assert dom.figure("kernel") == chosen["kernel"] == report["plan"]["kernel"]
    for name in ("read_bytes", "written_bytes", "read_sectors", "written_sectors"):
        assert dom.figure(name) == str(chosen[name])
    for side in ("src", "dst"):
        for name in ("used_bytes", "sectors"):
            assert dom.figure(f"{side}.{name}") == str(piece[side][name])
        if report["device"] == "cuda":
            for name in ("lines", "accesses"):
                assert dom.figure(f"{side}.{name}") == str(piece[side][name])
    if piece.get("prefetched", {}).get("lines"):
        assert dom.figure("prefetched.lines") == str(piece["prefetched"]["lines"])
        assert dom.figure("prefetched.is") == piece["prefetched"]["is"]
    for stage in ("stage_written", "stage_read"):
        if stage in piece and dom.having("data-figure", f"{stage}.cycles"):
            assert dom.figure(f"{stage}.cycles") == str(piece[stage]["cycles"])
            assert dom.figure(f"{stage}.least") == str(piece[stage]["least"])
    assert dom.figure("of") == str(piece["of"])
    assert dom.figure("canonical") == report["canonical"]
    assert [e["data-step"] for e in dom.having("data-step")] == [s["step"] for s in report["steps"]]
    bids = [chosen] + [k for k in report["others"] if k["applies"]]
    drawn = {e["data-bid"]: float(e["data-ns"]) for e in dom.having("data-bid")}
    assert list(drawn) == [k["kernel"] for k in bids]
    assert all(abs(drawn[k["kernel"]] - k["predicted_ns"]) <= 0.01 for k in bids)
    assert {e["data-param"] for e in dom.having("data-param")} == set(chosen["params"])


@pytest.mark.parametrize("kernel", sorted(CPU))
def test_the_page_of_every_kernel_of_the_cpu_shows_its_numbers(tmp_path, kernel):
    visit, report = explained(tmp_path, kernel, CPU[kernel], "cpu")
    assert report["chosen"]["kernel"] == kernel
    expect_quiet(visit)
    expect_the_same(visit, report)


@pytest.mark.parametrize("kernel", sorted(CUDA))
def test_the_page_of_every_kernel_of_the_gpu_shows_its_numbers(tmp_path, kernel):
    what = CUDA[kernel] if kernel != "gather/cast" else "f32 (3,4,5):(20,5,1) -> f16"
    visit, report = explained(tmp_path, kernel, what, "cuda")
    assert report["chosen"]["kernel"] == kernel
    expect_quiet(visit)
    expect_the_same(visit, report)


def test_every_kernel_that_there_is_has_a_page_here():
    for device, known in (("cpu", CPU), ("cuda", CUDA)):
        report = json.loads(restride("explain", "f32 (64,48) -> (1,0)", "--device", device, "--json"))
        names = {report["chosen"]["kernel"]} | {k["kernel"] for k in report["others"]}
        assert names == set(known)


def test_the_page_of_a_result_file_shows_its_figures(tmp_path):
    results = ROOT / "bench/results/cuda-nvidia-h200.json"
    restride("bench", "--from", results, "--against", ROOT / "bench/results/cuda-nvidia-h100.json", "--html", tmp_path / "p.html")
    visit = browser.Visit(tmp_path / "p.html")
    expect_quiet(visit)
    cases = {(c["name"], c["src"]): c for run in json.loads(results.read_text())["runs"] for c in run["cases"]}
    shown = [float(e["text"]) for e in visit.dom.having("data-figure", "ratio")]
    assert shown == sorted(shown) and len(visit.dom.having("data-case")) == len(cases)
    worst = min(c["ratio"] for c in cases.values() if c["ratio"] > 0)
    assert visit.dom.figure("worst") == f"{worst:.2f}"
    assert (tmp_path / "p.html").stat().st_size < 2 << 20


def test_the_page_of_the_lab_shows_its_rungs(tmp_path):
    results = ROOT / "lab/results/h200.json"
    restride("lab", "--from", results, "--html", tmp_path / "p.html")
    visit = browser.Visit(tmp_path / "p.html")
    expect_quiet(visit)
    rungs = {r["rung"] for r in json.loads(results.read_text())["rows"]}
    drawn = {e["id"].removeprefix("rung-") for e in visit.dom.having("data-sectors")}
    assert {e["data-rung"] for e in visit.dom.having("data-rung")} == rungs
    assert drawn == rungs - {"memcpy"}
    assert (tmp_path / "p.html").stat().st_size < 2 << 20


def test_names_that_are_markup_are_text(tmp_path):
    (tmp_path / "<img src=x onerror=alert(1)>.raw").write_bytes(bytes(64))
    restride("explain", tmp_path / "<img src=x onerror=alert(1)>.raw", "--in-layout", "f32 (4,4)", "--axes", "1,0",
             "--html", tmp_path / "p.html")
    visit = browser.Visit(tmp_path / "p.html")
    expect_quiet(visit)
    assert not [e for e in visit.dom.elements if e["tag"] in ("img", "script")]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", ["cpu", "cuda", "bench", "lab"])
def test_axe_finds_nothing_serious(tmp_path, kind, dark):
    axe_core_python = pytest.importorskip("axe_core_python", reason="pip install axe-core-python")
    script = next(pathlib.Path(axe_core_python.__file__).parent.rglob("axe*.js")).read_text()
    page = tmp_path / "p.html"
    if kind == "bench":
        restride("bench", "--from", ROOT / "bench/results/cpu-xeon-avx512-peers.json", "--html", page)
    elif kind == "lab":
        restride("lab", "--from", ROOT / "lab/results/h200.json", "--html", page)
    else:
        restride("explain", "f32 (640,480) -> (1,0)", "--device", kind, "--html", page)
    found = browser.axe(page, script, dark)
    assert [f for f in found if f[0] in ("serious", "critical")] == []
