"""restride explain, info, completion and help."""
import os
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree

import numpy as np
import pytest


def test_explain_takes_axes_dtypes_layouts_and_files(restride, numbered, tmp_path):
    np.save(tmp_path / "in.npy", numbered((64, 32, 3), "f4"))
    for args, dst in (
        (["f32 (64,32,3) -> (2,0,1)"], "f32 (3,64,32):(2048,32,1)"),
        (["f32 (64,32,3) -> f16"], "f16 (64,32,3):(96,3,1)"),
        (["<f4 (64,32,3) -> torch.half"], "f16 (64,32,3):(96,3,1)"),
        (["f32 (64,32,3) -> f32 (6144)", "--reshape", "6144"], "f32 (6144):(1)"),
        (["f32 (64,32,3) -> f16 (1,6144)", "--reshape", "-1"], "f16 (1,6144):(6144,1)"),
        (["f32 (4,4):(1,4)->f32 (4,4):(8,2)"], "f32 (4,4):(8,2)"),
        (["f32 () -> ()"], "f32 ():()"),
        (["f32 (64,32,3)", "--axes", "2,0,1"], "f32 (3,64,32):(2048,32,1)"),
        (["in.npy", "--axes", "2,0,1", "--dtype", "u8"], "u8 (3,64,32):(2048,32,1)"),
    ):
        report = restride("explain", *args, "--json").json()
        assert report["dst"] == dst
        assert report["chosen"]["applies"] and report["plan"]["kernel"] == report["chosen"]["kernel"]
        text = restride("explain", *args).out
        assert dst in text and report["chosen"]["kernel"] in text


def test_slow_paths_are_told_where_the_environment_asks(restride):
    what = ("explain", "f32 (2,3):(4,1) -> f32 (3,2):(4,1)", "--reshape", "3,2")
    assert restride(*what).err == "" and restride(*what, env={"RESTRIDE_LOG": "0"}).err == ""
    line = restride(*what, env={"RESTRIDE_LOG": "1"}).err
    assert line.startswith("restride: f32 (2,3):(4,1) -> f32 (3,2):(4,1) is copied by gather") and "contiguous tensor" in line


def test_explain_gives_every_candidate_but_the_first_a_reason(restride):
    for what in ("f32 (128,128) -> (1,0)", "f32 (1000,1000) -> f16", "u8 (720,1280,3) -> (2,0,1)"):
        others = restride("explain", what, "--json").json()["others"]
        assert all(k["reason"] for k in others)
        assert all("behind" in k["reason"] for k in others if k["applies"])


def test_explain_takes_what_copy_takes_to_read_a_file(restride, tmp_path):
    np.arange(120, dtype="u2").tofile(tmp_path / "camera.raw")
    report = restride("explain", "camera.raw", "--in-layout", "u16 (10,11)", "--in-offset", "4", "--axes", "1,0", "--json").json()
    assert report["src"] == "u16 (11,10):(1,11)@2" and report["dst"] == "u16 (11,10):(10,1)"
    np.save(tmp_path / "halves.npy", np.arange(6, dtype="u2").view("V2"))
    assert restride("explain", "halves.npy", "--in-dtype", "bf16", "--dtype", "f32", "--json").json()["src"] == "bf16 (6):(1)@64"
    assert "--in-dtype" in restride("explain", "halves.npy", "--dtype", "f32", code=1).err
    for what in ("u16 (4,4)", "u16 (4,4) -> (1,0)"):
        assert "no file but a layout" in restride("explain", what, "--in-dtype", "bf16", code=2).err


@pytest.mark.parametrize("what, words", [
    ("f32 (4,4) -> (0,1,2)", "has 2 modes,"), ("f32 (4) -> (0,1)", "has 1 mode,"), ("f32 (4,4) -> f32 (15)", "16"),
    ("f32 (4,4) -> f32 (4,4):(1,1)", "twice"), ("c64 (4) -> f32", "cannot become"), ("none.npy", "No such file"),
    ("u8.npy", "No such file"), ("f32 (4) -> b4", "cannot become b4"),
])
def test_explain_says_what_is_wrong(restride, what, words):
    assert words in restride("explain", what, code=1).err


def test_explain_pairs_other_shapes_where_a_reshape_is_asked_for(restride):
    what = "f32 (2,3,4) -> f32 (4,2,3)"
    refused = restride("explain", what, code=1).err
    for words in ("(4,2,3) and (2,3,4)", "permute src into dst's order, by axes (2,0,1)", "--reshape"):
        assert words in refused
    asked = restride("explain", what, "--reshape", "4,2,3", "--json").json()
    assert asked["src"] == "f32 (2,3,4):(12,4,1)" and asked["plan"]["reshape"] is True
    assert "not the shape of the right side, (4,2,3)" in restride("explain", what, "--reshape", "24", code=2).err
    assert "24" in restride("explain", what, "--reshape", "5,5", code=1).err
    assert "a layout on both sides" in restride("explain", "f32 (2,3) -> (1,0)", "--reshape", "6", code=2).err
    assert "says it all" in restride("explain", what, "--reshape", "4,2,3", "--axes", "0", code=2).err


@pytest.mark.parametrize("what, words", [
    ("f99 (4,4) -> (1,0)", "f99"), ("f32 (64,64", "expected ')'"), ("f32 (4) -> f99", "f99"), ("f32 (4,4) -> (0,x)", "whole numbers"),
    ("f32 (4,4) -> (0x1,0)", "whole numbers"), ("f32 (4,4) -> (+1,0)", "whole numbers"), ("f32 (4,4) -> (1,99999999999999999999)", "does not fit 63 bits"),
    ("f32 (4,4) -> (1,1)", "twice"), ("->", "in front of '->'"), ("-> (1,0)", "in front of '->'"),
    (" -> (1,0)", "in front of '->'"), ("f32 (2,3) ->", "nothing stands behind '->'"), ("f32 (2,3)->  ", "nothing stands behind '->'"),
    ("f32 (2,3) -> 1,0", "'1,0' stands behind '->'; write axes in parentheses"), ("f32 (2,3) -> {1,0}", "'{1,0}' stands behind"),
    ("f32 (2,3) -> (1,0", "'(1,0' stands behind"), ("f32 (2,3) -> (1,0) f16", "'(1,0) f16' stands behind"),
    ("f32 (2,3) -> (1,0,)", "axes '1,0,': entry 3 is empty"), ("f32 (2,3) -> flaot16", "column 1: 'flaot16' is no element type; did you mean float16?"),
    ("f32 (2,3) > (1,0)", "write '->' between the two sides"), ("f32 (2,3) \u2192 (1,0)", "write '->' between the two sides"),
    ("(2,3) -> (1,0)", "layout '(2,3)', column 1: the element type is missing"), ("f32 (1.5,3)", "column 7: expected ')'"),
    ("f32 (2,3)@1.5", "column 12: '.5' stands behind"), ("f32 [2,3]", "column 5: expected '('"), ("f32", "column 4: expected '('"),
])
def test_explain_exits_with_2_where_it_cannot_read_the_words(restride, what, words):
    assert words in restride("explain", what, code=2).err


def test_explain_asks_for_quotes_around_an_arrow_that_stands_alone(restride):
    assert "'->' stands alone; put quotes around all of it" in restride("explain", "f32 (2,3)", "->", "(1,0)", code=2).err


@pytest.mark.parametrize("name", ["arr(1)", "a->b"])
def test_explain_takes_a_file_that_exists_for_what_it_is(restride, numbered, tmp_path, name):
    with open(tmp_path / name, "wb") as f:
        np.save(f, numbered((3, 4), "f4"))
    assert restride("explain", name, "--axes", "1,0", "--json").json()["dst"] == "f32 (4,3):(3,1)"


@pytest.mark.parametrize("what, unit", [("u8 (8)", "ns"), ("f32 (64,512,512,3) -> (0,3,1,2)", "ms"), ("f64 (1000000,1000000)", "s")])
def test_times_come_in_the_unit_that_fits(restride, what, unit):
    text = restride("explain", what, "--device", "cpu").out
    assert re.search(rf"^chosen +\S+ +\d+(\.\d+)? {unit}( |$)", text, re.M) and "e+0" not in text, text


def test_info_describes_the_machine(restride):
    info = restride("info", "--json").json()
    assert info["usable_cores"] == len(os.sched_getaffinity(0))
    assert info["isa"] in info["isas_built"] and info["version"]
    assert info["cuda"]["devices"] or info["cuda"]["reason"]
    text = restride("info").out
    assert info["isa"] in text and "cuda" in text
    assert restride("--version").out.strip() == f"restride {info['version']}"


def test_help_teaches_with_examples(restride):
    assert "Examples:" in restride("--help").out
    for command in ("copy", "explain", "bench", "info"):
        text = restride(command, "--help").out
        assert "Examples:" in text and f"restride {command} " in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_option(restride, tmp_path, shell):
    script = restride("completion", shell).out
    for word in ("copy", "explain", "rearrange", "buffer-mib"):
        assert word in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def bash_completions(restride, tmp_path, *words):
    (tmp_path / "script").write_text(restride("completion", "bash").out)
    line = f"COMP_WORDS=(restride {' '.join(repr(w) for w in words)}); COMP_CWORD={len(words)}"
    return subprocess.run(["bash", "-c", f"source ./script; {line}; _restride; echo ${{COMPREPLY[@]}}"],
                          cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("words, offered", [
    (["expl"], ["explain"]), (["copy", "--rea"], ["--rearrange"]), (["completion", ""], ["bash", "zsh", "fish"]),
    (["copy", "--family", "ch"], ["channels"]), (["copy", "--family", "=", "buf"], ["buffered"]), (["copy", "--family", "no"], []),
    (["copy", "--dtype", "bf"], ["bf16"]), (["bench", "--cases", ""], ["field", "ttc57", "extra", "odd"]),
    (["copy", "--device", ""], ["cpu", "cuda", "auto"]), (["bench", "--device", "="], ["cpu", "cuda"]),
    (["copy", "in.npy", ""], []), (["info", ""], []), (["copy", "--rot"], ["--rot90"]), (["info", "--"], ["--help", "--json"]),  # files, which are bash's own to offer
])
def test_bash_completes_options_and_their_values(restride, tmp_path, words, offered):
    assert bash_completions(restride, tmp_path, *words) == offered


def zsh_help(script, command):
    """What zsh would show behind each option of a command, its escapes undone."""
    line = re.search(rf"^    {command}\) _arguments (.*) ;;$", script, re.M).group(1)
    specs = shlex.split(line)
    found = (re.match(r"(-[^\[]*)\[((?:\\.|[^\]\\])*)\](?::value:.*)?$", spec) for spec in specs)
    return {m.group(1): re.sub(r"\\(.)", r"\1", m.group(2)) for m in found if m}


@pytest.mark.parametrize("command", ["copy", "explain", "bench", "lab", "tune", "info"])
def test_zsh_shows_the_help_of_every_option_as_it_is_written(restride, command):
    shown = zsh_help(restride("completion", "zsh").out, command)
    text = " ".join(restride(command, "--help").out.split())
    assert len(shown) > 2
    for option, words in shown.items():
        assert " ".join(words.split()) in text, option


def test_zsh_keeps_the_colons_of_a_slice(restride):
    shown = zsh_help(restride("completion", "zsh").out, "copy")
    assert shown["--slice"].endswith(": 8:16392,::-1") and "NumPy's V2" in shown["--in-dtype"]


def test_the_manual_page_names_every_option(restride):
    page = os.path.join(os.path.dirname(__file__), "../../docs/restride.1")
    text = open(page).read().replace("\\-", "-")
    for command in re.findall(r"^  (\w+)  ", restride("--help").out.split("Subcommands:")[1], re.M):
        for option in re.findall(r"--[a-z][a-z-]*", restride(command, "--help").out):
            assert option in text, f"{command}: {option} is not in docs/restride.1"


def test_a_file_of_the_machines_numbers_is_used_or_refused(restride, numbered, tmp_path):
    numbers = tmp_path / "machine.json"
    numbers.write_text('{"restride_machine": 1, "cpu": {"name": "Z3", "row_ns": 1000}}')
    named = {"RESTRIDE_MACHINE": str(numbers)}
    assert "by the costs of Z3" in restride("explain", "f32 (64,64) -> (1,0)", env=named).out
    report = restride("explain", "f32 (64,64) -> (1,0)", "--json", env=named).json()
    assert report["plan"]["costs"] == "Z3"
    config = tmp_path / "config" / "restride"
    config.mkdir(parents=True)
    numbers.rename(config / "machine.json")
    here = {k: v for k, v in os.environ.items() if k != "RESTRIDE_MACHINE"}
    found = subprocess.run([os.environ["RESTRIDE"], "explain", "f32 (64,64) -> (1,0)"], capture_output=True, text=True,
                           env={**here, "XDG_CONFIG_HOME": str(config.parent)}, timeout=120)
    assert found.returncode == 0 and "by the costs of Z3" in found.stdout
    assert "No such file" in restride("explain", "f32 (64,64) -> (1,0)", env=named, code=1).err
    np.save(tmp_path / "in.npy", numbered((4, 4), "f4"))
    numbers.write_text('{"restride_machine": 1, "cpu": {"name": "Z3", "row_ns": "fast"}}')
    for args in (["explain", "f32 (64,64) -> (1,0)"], ["copy", "in.npy", "out.npy", "--axes", "1,0"], ["info"]):
        message = restride(*args, env=named, code=1).err
        assert "machine.json cannot be used: 'row_ns' is no number" in message and "RESTRIDE_MACHINE=" in message
    assert not (tmp_path / "out.npy").exists()
    restride("completion", "bash", env=named)


def test_a_model_stands_in_for_a_processor(restride, tmp_path):
    what = ["explain", "f32 (1000,500) -> (1,0)", "--threads", "1"]
    for model, machine in (("xeon", "Intel Sapphire Rapids (Xeon)"), ("zen5", "AMD Zen 5 (EPYC)"), ("zen4", "AMD Zen 4 (EPYC)"),
                           ("zen3", "AMD Zen 3 (EPYC)"), ("h200", "a model of an H200")):
        assert machine in restride(*what, "--model", model).out
        report = restride(*what, "--model", model, "--json").json()
        assert report["device"] == ("cuda" if model == "h200" else "cpu")
        if model != "h200":
            assert report["plan"]["costs"] == machine
    restride(*what, "--model", "zen4", "--svg", "p.svg")
    assert "as AMD Zen 4 (EPYC) does it" in (tmp_path / "p.svg").read_text()
    assert "xeon,zen5,zen4,zen3,h200" in restride(*what, "--model", "zen2", code=2).err
    assert "leave out --device" in restride(*what, "--model", "zen4", "--device", "cuda", code=2).err
    for option in (["--run"], ["--measure"], ["--measurements", "m.json"]):
        assert "has no clock" in restride(*what, "--model", "zen4", *option, code=2).err
    assert "--json" in restride("explain", "f32 (8) as (block[0]) over (2) -> (8) as (block[0]) over (2)", "--model", "zen4", code=2).err


@pytest.mark.parametrize("slices, shape, cut", [
    ("100:900,:", "(400,600)", ["'100:900' goes beyond the 500 of its mode"]), ("600:900", "(0,600)", ["'600:900'"]),
    ("-501:,:601", "(500,600)", ["'-501:'", "':601' goes beyond the 600"]), ("900::-1", "(500,600)", ["'900::-1'"]),
    ("..., 5:700:2", "(500,298)", ["'5:700:2' goes beyond the 600"]),
    ("0:500,-600:600", "(500,600)", []), ("4:-501:-1", "(5,600)", []), ("::-1,3", "(500)", []),
])
def test_a_slice_beyond_its_mode_is_cut_and_told(restride, slices, shape, cut):
    report = restride("explain", "f32 (500,600)", "--slice", slices, "--json").json()
    step = report["views"][0]
    assert step["shape"] == shape and ("note" in step) == bool(cut)
    text = restride("explain", "f32 (500,600)", "--slice", slices).out.splitlines()[0]
    assert text.startswith("views ") and all(words in step["note"] and words in text for words in cut)
    assert ("is cut there" in text) == bool(cut)


def test_axes_stand_in_parentheses_or_brackets(restride, tmp_path, array):
    first = restride("explain", "f32 (4,5,6) -> (2,0,1)").out
    for text in ("[2,0,1]", "[ 2, 0, 1 ]", "(2 0 1)", "[2 0 1]"):
        assert restride("explain", f"f32 (4,5,6) -> {text}").out == first
    for text in ("[2,0,1]", "[2 0 1]", "(2, 0, 1)"):
        restride("copy", "in.npy", "out.npy", "-f", "--axes", text)
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), array.transpose(2, 0, 1))
    assert "is no whole number" in restride("explain", "in.npy", "--axes", "[2,0,1)", code=2).err


def test_explain_draws_every_device_as_svg_that_is_xml(restride, tmp_path):
    for device in ("cpu", "cuda"):
        restride("explain", "f32 (64,48) -> (1,0)", "--device", device, "--svg", "out.svg")
        root = xml.etree.ElementTree.parse(tmp_path / "out.svg").getroot()
        ids = {e.get("id") for e in root.iter()}
        assert root.tag.endswith("svg") and {"layouts", "src", "dst", "order"} <= ids


def test_explain_writes_a_page_and_the_same_numbers_as_json(restride, tmp_path):
    report = restride("explain", "f32 (640,480) -> (1,0)", "--device", "cuda", "--html", "out.html", "--json").json()
    page = (tmp_path / "out.html").read_text()
    for side in ("src", "dst"):
        assert f'data-figure="{side}.sectors">{report["piece"][side]["sectors"]}<' in page
    assert report["steps"][-1]["modes"][0]["extent"] and report["canonical"].startswith("unit 4")
    assert report["chosen"]["sectors_ns"] > 0 and "starts_ns" in report["chosen"]


def test_explain_draws_the_piece_that_is_asked_for(restride, tmp_path):
    pieces = [restride("explain", "f32 (640,480) -> (1,0)", "--device", "cuda", "--piece", n, "--json").json()["piece"]["number"]
              for n in ("0", "3", "99999")]
    assert pieces[:2] == [0, 3] and 3 < pieces[2] < 99999
    assert "--piece" in restride("explain", "f32 (4)", "--piece", "-1", code=2).err
    order = restride("explain", "f32 (640,480) -> (1,0)", "--device", "cuda", "--piece", "99999999", "--json").json()["piece"]
    assert order["number"] == pieces[2] == order["of"] - 1


def test_explain_measures_beside_a_plain_copy_and_the_other_kernels(restride, tmp_path):
    report = restride("explain", "f32 (64,48) -> (1,0)", "--device", "cpu", "--run", "--json", "--html", "out.html").json()
    run = report["run"]
    assert run["checked"] and run["median_ns"] > 0 and run["plain_copy_ns"] > 0
    others = {k["kernel"] for k in report["others"] if k["applies"]}
    assert set(run["others_ns"]) == others and min(run["others_ns"].values()) > 0 and run["others_errors"] == {}
    shown = re.findall(r'data-measured-ns="([0-9.]+)"', (tmp_path / "out.html").read_text())
    assert len(shown) == len(others) + 1 and min(map(float, shown)) > 0
    text = restride("explain", "f32 (64,48) -> (1,0)", "--device", "cpu", "--run").out
    assert re.search(r"\nrun        .*; a plain copy of the same bytes takes .*: ratio [0-9.]+, noise [0-9]+ %\n$", text)
    assert max(map(len, text.splitlines())) <= 100
    assert "run" not in re.findall(r"^\w+", restride("explain", "f32 (64,48) -> (1,0)").out, re.M)


@pytest.mark.skipif(bool(os.environ.get("RESTRIDE_SANITIZE")), reason="sanitizers need memory of their own")
def test_explain_without_memory_names_a_remedy_that_it_has(restride):
    out = restride("explain", "f32 (400000000,4) -> (1,0)", "--device", "cpu", "--run", memory_bytes=2 << 30).out
    assert re.search(r"run        not timed: no \d+ MiB of memory .*; time a smaller layout\n$", out)


def test_explain_measures_copies_that_pair_by_count(restride):
    run = restride("explain", "f32 (4,6):(1,4) -> f32 (24)", "--reshape", "24", "--device", "cpu", "--run", "--json").json()["run"]
    assert run.get("error") is None and run["checked"]


def test_explain_replaces_its_own_pages_and_nothing_else(restride, tmp_path):
    for option, name in (("--svg", "out.svg"), ("--html", "out.html")):
        for _ in range(2):
            restride("explain", "f32 (4,4) -> (1,0)", option, name)
        (tmp_path / name).write_text("mine")
        assert "no older drawing or page" in restride("explain", "f32 (4,4) -> (1,0)", option, name, code=1).err
        assert (tmp_path / name).read_text() == "mine"
        assert "names no file" in restride("explain", "f32 (4,4) -> (1,0)", option, "-", code=2).err


def test_explain_shows_a_files_name_as_text(restride, numbered, tmp_path):
    name = "<script>.npy"
    with open(tmp_path / name, "wb") as f:
        np.save(f, numbered((3, 4), "f4"))
    restride("explain", name, "--axes", "1,0", "--html", "out.html")
    page = (tmp_path / "out.html").read_text()
    assert "&lt;script&gt;.npy" in page and "<script" not in page


def test_explain_draws_the_bids_as_text_within_100_columns(restride):
    for device in ("cpu", "cuda"):
        text = restride("explain", "f32 (640,480) -> (1,0)", "--device", device).out
        bars = text[text.index("\nbids ") + 1:].splitlines()
        assert len(bars) > 3 and all(len(line) <= 100 for line in text.splitlines())
        assert "\x1b" not in text and "moving units" in bars[-1]
