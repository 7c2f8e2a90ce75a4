"""restride bench: its result file, and what it refuses before it measures."""
import json
import os
import shlex
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

RESTRIDE = os.environ["RESTRIDE"]


def only_run(path):
    """The one run of a result file."""
    run, = json.loads(path.read_text())["runs"]
    return run


@pytest.fixture
def cases(tmp_path):
    """A file of two small cases, the second without elements."""
    (tmp_path / "cases.json").write_text(json.dumps({"cases": [{"name": "small", "shape": [64, 32], "axes": [1, 0]},
                                                               {"name": "empty", "shape": [64, 0]}]}))
    return ("bench", "--cases", "cases.json", "--reps", "1", "--threads", "1")


def test_a_case_without_elements_has_no_ratio(restride, tmp_path, cases):
    assert "an extent is 0" in restride(*cases, "--json", "out.json").out
    small, empty = only_run(tmp_path / "out.json")["cases"]
    assert small["ratio"] > 0 and "skipped" not in small
    assert empty["ratio"] == 0 and "an extent is 0" in empty["skipped"]
    assert sorted(os.listdir(tmp_path)) == ["cases.json", "out.json"]


@pytest.mark.parametrize("args, pages", [((), "declined (madvise)"), (("--huge-pages",), "asked for (madvise)")])
def test_the_result_says_what_pages_the_tensors_lie_in(restride, tmp_path, cases, args, pages):
    restride(*cases, *args, "--json", "out.json")
    run = only_run(tmp_path / "out.json")
    assert run["machine"]["huge_pages"] == pages and run["options"] == ({"huge_pages": True} if args else {})


def test_huge_pages_are_no_matter_of_a_gpu(restride, cases):
    run = restride(*cases, "--huge-pages", "--device", "cuda", code=2)
    assert "leave it out" in run.err


FRESH = "f32 (256,256) -> (1,0)"  # a destination of 256 KiB: less than 64 is not asked for in advance


@pytest.mark.parametrize("args, options", [
    (("--fresh",), {"fresh": True}), (("--load", "1"), {"load": 1}), (("--load", "0"), {}), (("--warm",), {"warm": True}),
    (("--fresh-destination", "off"), {}), (("--fresh-destination", "advise"), {"fresh_destination": "advise"}),
    (("--fresh", "--fresh-destination", "prefault"), {"fresh": True, "fresh_destination": "prefault"}),
    (("--load", "2", "--fresh", "--fresh-destination", "prefault"),
     {"fresh": True, "fresh_destination": "prefault", "load": 2}),
])
def test_the_result_says_what_destinations_and_what_load_there_were(restride, tmp_path, args, options):
    restride("bench", FRESH, "--reps", "1", "--threads", "1,2", *args, "--json", "out.json")
    runs = json.loads((tmp_path / "out.json").read_text())["runs"]
    assert [(run["threads"], run["options"]) for run in runs] == [(1, options), (2, options)]
    for run in runs:
        case, = run["cases"]
        assert case["checked"] and case["ratio"] > 0 and "error" not in case
        loaded = "load" in options
        assert (case["ceiling_by"] == "one thread") == ("p95_ns" in case) == ("ceiling_p95_ns" in case) == loaded
        assert ("copy_ns" in case) != loaded


def test_runs_with_other_destinations_or_load_take_places_of_their_own(restride, tmp_path):
    ways = [(), ("--fresh",), ("--fresh-destination", "advise"), ("--load", "1"), ("--load", "2"), ("--warm",)]
    for args in [*ways, ("--fresh",)]:
        restride("bench", FRESH, "--reps", "1", "--threads", "1", *args, "--json", "out.json")
    runs = json.loads((tmp_path / "out.json").read_text())["runs"]
    options = [{}, {"fresh": True}, {"fresh_destination": "advise"}, {"load": 1}, {"load": 2}, {"warm": True}]
    assert [run["options"] for run in runs] == options


def test_fresh_destinations_get_their_pages_in_every_call(tmp_path):
    def faults(*args):
        command = [RESTRIDE, "bench", FRESH, "--reps", "1", "--threads", "1", *args]
        child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        return usage.ru_minflt

    once = faults()
    if once == 0:
        pytest.skip("this kernel counts no page faults")
    # The ceiling, the plan and copy() are called four times each at least, with as many pages less the two at the ends.
    assert faults("--fresh") - once > 8 * ((256 << 10) // os.sysconf("SC_PAGESIZE") - 2)


def test_warm_cases_stay_in_the_same_memory(tmp_path):
    def kib(*args):
        command = [RESTRIDE, "bench", "f32 (1024,512) -> (1,0)", "--reps", "1", "--threads", "1", "--no-check", *args]
        child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        return usage.ru_maxrss

    # Else pairs of 4 MiB are rotated, which are four times the last cache together.
    assert kib("--warm") < kib() - 2048


@pytest.mark.parametrize("args", [("--fresh",), ("--load", "1"), ("--device", "cuda")])
def test_warm_memory_is_neither_fresh_nor_loaded_nor_a_gpus(restride, cases, args):
    result = restride(*cases, "--warm", *args, code=2)
    assert "leave it out" in result.err and result.out == ""


@pytest.mark.parametrize("how", ["done", "failed", "killed"])
def test_busy_loops_end_with_the_command(restride, tmp_path, how):
    if how != "killed":  # its output ends with the last process that has it: a loop that went on would hold it up
        result = {"done": "out.json", "failed": "no/such.json"}[how]
        restride("bench", FRESH, "--reps", "1", "--load", "2", "--json", result, code=int(how == "failed"))
        return
    child = subprocess.Popen([RESTRIDE, "bench", FRESH, "--threads", "1", "--reps", "100000", "--load", "2"],
                             cwd=tmp_path, stdout=subprocess.PIPE)
    children = f"/proc/{child.pid}/task/{child.pid}/children"
    if not os.path.exists(children):
        child.kill()
        child.communicate()
        pytest.skip("this kernel does not tell the children of a process")
    loops = []
    for _ in range(1000):
        with open(children) as f:
            loops = f.read().split()
        if len(loops) == 2:
            break
        time.sleep(0.01)
    child.kill()  # it can end nothing any more
    try:
        child.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        for loop in loops:
            os.kill(int(loop), signal.SIGKILL)
        raise
    assert child.returncode == -signal.SIGKILL and len(loops) == 2


@pytest.mark.parametrize("args", [("--fresh",), ("--fresh-destination", "advise"), ("--load", "1")])
def test_destinations_and_load_are_no_matter_of_a_gpu(restride, cases, args):
    result = restride(*cases, *args, "--device", "cuda", code=2)
    assert args[0] in result.err and "are about the CPU; leave them out" in result.err and result.out == ""


def test_the_result_goes_through_links(restride, tmp_path, cases):
    (tmp_path / "link.json").symlink_to("real.json")
    restride(*cases, "--json", "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert len(only_run(tmp_path / "real.json")["cases"]) == 2


def test_a_pipe_gets_one_whole_result_and_stays_a_pipe(restride, tmp_path, cases):
    os.mkfifo(tmp_path / "pipe")
    seen = []
    reader = threading.Thread(target=lambda: seen.append((tmp_path / "pipe").read_text()))
    reader.start()
    restride(*cases, "--json", "pipe")
    reader.join(20)
    assert len(json.loads(seen[0])["runs"][0]["cases"]) == 2
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


def test_a_device_stays_a_device(restride, tmp_path, cases):
    node = tmp_path / "null"  # one of its own: no test may touch the machine's
    try:
        os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        node.open("w").close()
    except OSError:
        pytest.skip("device nodes cannot be made here")
    restride(*cases, "--json", "null")
    assert stat.S_ISCHR(os.stat(node).st_mode)
    assert sorted(os.listdir(tmp_path)) == ["cases.json", "null"]


# The name means standard output even if /dev is empty, as in a small container; no file is made there.
@pytest.mark.parametrize("before", [[], ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /dev && "$@" && test ! -e /dev/stdout', "-"]])
def test_standard_output_gets_the_table_and_then_the_result(tmp_path, cases, before):
    if before and subprocess.run([*before, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("an empty /dev cannot be had here")
    with open(tmp_path / "both.txt", "w") as out:
        subprocess.run([*before, RESTRIDE, *cases, "--json", "/dev/stdout"], cwd=tmp_path, stdout=out, check=True)
    table, result = (tmp_path / "both.txt").read_text().split("\n{", 1)
    assert table.startswith("name ") and len(json.loads("{" + result)["runs"][0]["cases"]) == 2


def test_a_standard_output_that_is_closed_is_refused_before_measuring(restride, tmp_path, cases):
    err = restride(*cases, "--json", "/dev/stdout", before=lambda: os.close(1), code=1).err
    assert "cannot write /dev/stdout" in err and "name a file" in err
    assert os.listdir(tmp_path) == ["cases.json"]


@pytest.mark.parametrize("args, words", [
    (["--family", "nope"], "nope"), (["--dtype", "foo"], "foo"), (["--max-mib", "0"], "'0' is no size"), (["--max-mib", "nan"], "no size"),
    (["--threads", "1,1.5"], "'1.5' is no whole number"), (["--reps", "1.5"], "whole number"),
    (["--seed", "-1"], "'-1' is no whole number"), (["--seed", "99999999999999999999999"], "from 0 to 9223372036854775807"),
    (["--threads", "99999999999999999999"], "is no whole number"),
    (["--load", "-1"], "--load: '-1' is no whole number from 0 to 4096"), (["--load", "1.5"], "'1.5' is no whole"),
    (["--load", "4097"], "'4097' is no whole number from 0 to 4096"), (["--load"], "nothing stands behind --load"),
    (["--fresh-destination", "huge"], "--fresh-destination: huge not in {off,advise,prefault}"),
    (["--fresh-destination"], "nothing stands behind --fresh-destination"), (["--fresh=maybe"], "--fresh = maybe"),
])
def test_names_and_sizes_that_do_not_exist_are_refused_before_measuring(restride, cases, args, words):
    result = restride(*cases, *args, code=2)
    assert words in result.err and len(result.err) < 300 and result.out == ""


def test_a_case_that_cannot_be_read_stops_only_those_who_ask_for_it(restride, tmp_path):
    (tmp_path / "mixed.json").write_text(json.dumps({"cases": [{"name": "bad", "shape": [2.5]}, {"name": "good", "shape": [64, 32]}]}))
    bench = ("bench", "--cases", "mixed.json", "--reps", "1", "--threads", "1")
    assert "good" in restride(*bench, "--only", "good").out
    assert 'case bad: "shape"' in restride(*bench, code=1).err


def test_a_case_that_cannot_be_run_is_a_row_and_the_others_are_run(restride, tmp_path):
    (tmp_path / "mixed.json").write_text(json.dumps({"cases": [
        {"name": "unreadable", "shape": [2.5]}, {"name": "wrong", "shape": [4], "axes": [1]},
        {"name": "rigid", "shape": [13, 16, 100000], "dst_shape": [13, 1600000]}, {"name": "good", "shape": [64, 32]}]}))
    bench = ("bench", "--cases", "mixed.json", "--max-mib", "1")
    listed = restride(*bench, "--list", code=1).out
    assert "f32 (64,32):(32,1)" in listed and listed.count("FAILED") == 3 and "cannot be made smaller" in listed
    run = restride(*bench, "--reps", "1", "--threads", "1", "--json", "out.json", code=1)
    rows = {case["name"]: case for case in only_run(tmp_path / "out.json")["cases"]}
    assert rows["good"]["checked"] and rows["good"]["ratio"] > 0
    assert "cannot be made smaller" in rows["rigid"]["error"] and rows["rigid"]["error"].count("case rigid") == 1
    assert '"shape"' in rows["unreadable"]["error"] and "permute" in rows["wrong"]["error"]
    assert all(row["error"] in run.err for name, row in rows.items() if name != "good")


@pytest.mark.parametrize("name, words", [(".", "directory"), ("empty.json", "byte 1"), ("broken.json", "byte 12"), ("/dev/null", "regular file"),
                                         ("/dev/zero", "regular file"), ("pipe", "regular file"), ("large.json", "67108865 bytes")])
def test_a_file_that_holds_no_json_is_named_as_it_was_given(restride, tmp_path, name, words):
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "broken.json").write_text('{"cases": [')
    os.mkfifo(tmp_path / "pipe")  # nobody writes into it
    with open(tmp_path / "large.json", "w") as f:
        f.truncate((64 << 20) + 1)
    err = restride("bench", "--cases", name, code=1).err
    assert f"case file {name}: " in err and words in err and "exception" not in err


def test_names_of_cases_cannot_command_the_terminal(restride, tmp_path):
    case = {"name": "\x1b[31mred", "class": "\x1b]0;x\x07", "shape": [4], "slice": ["\x1b[2J"], "\x1b[1m": 0}
    (tmp_path / "cases.json").write_text(json.dumps({"cases": [case | {"slice": []}, {"name": "bad", "shape": [4], "slice": ["\x1b[2J"]}]}))
    for words in (["--only", "red", "--list"], ["--only", "red", "--reps", "1"], ["--only", "bad"]):
        result = restride("bench", "--cases", "cases.json", *words, code=int(words[1] == "bad"))
        assert "\x1b" not in result.out + result.err and "\\x1b" in result.out + result.err


def test_the_machine_and_the_command_are_told_as_info_and_a_shell_tell_them(restride, tmp_path, cases):
    restride(*cases, "--only", "sm*ll", "--json", "out.json")
    result = only_run(tmp_path / "out.json")
    assert result["machine"]["isa"] == restride("info", "--json").json()["isa"]
    assert shlex.split(result["command"])[1:] == [*cases, "--only", "sm*ll", "--json", "out.json"]
    assert "'sm*ll'" in result["command"]


def test_a_file_without_cases_is_named_as_that(restride, tmp_path):
    (tmp_path / "none.json").write_text('{"cases":[]}')
    err = restride("bench", "--cases", "none.json", code=1).err
    assert "hold no case" in err and "--only" not in err


def test_a_result_that_cannot_be_written_is_found_before_measuring(restride, tmp_path, cases):
    result = restride(*cases, "--json", "no/such/out.json", code=1)
    assert "no/such" in result.err and result.out == ""


def test_a_result_replaces_a_result_and_nothing_else(restride, tmp_path, cases):
    (tmp_path / "notes.md").write_text("precious")
    result = restride(*cases, "--json", "notes.md", code=1)
    assert "holds no JSON" in result.err and "another file" in result.err and result.out == ""
    assert (tmp_path / "notes.md").read_text() == "precious"
    for _ in range(2):
        restride(*cases, "--only", "empty", "--json", "out.json")
    assert len(only_run(tmp_path / "out.json")["cases"]) == 1


def test_runs_of_a_machine_share_a_file_and_each_takes_its_own_place(restride, tmp_path, cases):
    restride(*cases[:-1], "1,2", "--json", "out.json")
    before = (tmp_path / "out.json").read_text()
    restride(*cases, "--only", "small", "--json", "out.json")
    restride(*cases[:-1], "2", "--json", "out.json")
    runs = json.loads((tmp_path / "out.json").read_text())["runs"]
    assert [(run["threads"], run["options"]) for run in runs] == [(1, {}), (2, {}), (1, {"only": ["small"]})]
    assert all(run["case_files"] == ["cases"] and run["device"] == "cpu" for run in runs)
    assert runs[0] == json.loads(before)["runs"][0] and runs[1]["command"].endswith("--threads 2 --json out.json")
    assert [line.split(",")[0].strip() for line in before.splitlines() if '"name"' in line] == ['{"name": "small"', '{"name": "empty"'] * 2


def test_runs_of_two_machines_share_no_file(restride, tmp_path, cases):
    restride(*cases, "--json", "out.json")
    other = (tmp_path / "out.json").read_text().replace('"cpu": "', '"cpu": "Other ')
    (tmp_path / "out.json").write_text(other)
    result = restride(*cases, "--json", "out.json", code=1)
    assert "another machine" in result.err and "name another file" in result.err and result.out == ""
    assert (tmp_path / "out.json").read_text() == other


@pytest.mark.parametrize("text", ['{"cases":[{"name":"mine","shape":[4]}]}', '{"name":"a package"}', "[]"])
def test_a_result_replaces_no_other_json(restride, tmp_path, cases, text):
    (tmp_path / "my.json").write_text(text)  # a case file that is not read, for one
    result = restride(*cases, "--json", "my.json", code=1)
    assert "no older report" in result.err and "another file" in result.err and result.out == ""
    assert (tmp_path / "my.json").read_text() == text


@pytest.mark.parametrize("name", ["cases.json", "./cases.json", "link.json"])
def test_a_result_never_replaces_the_cases(restride, tmp_path, cases, name):
    (tmp_path / "link.json").symlink_to("cases.json")
    before = (tmp_path / "cases.json").read_text()
    result = restride(*cases, "--json", name, code=2)
    assert "case file that is read" in result.err and result.out == ""
    assert (tmp_path / "cases.json").read_text() == before


def test_a_case_of_a_shipped_file_that_was_not_asked_for_is_found_there(restride, cases):
    assert "--cases extra has it" in restride("bench", "--only", "small_30x20_u8", code=1).err
    assert "--cases field" in restride(*cases, "--only", "transpose*", code=1).err
    assert "bench --list" in restride(*cases, "--only", "no_such_case", code=1).err


LINES = [("f32 (64,32) -> (1,0)", "f32 (32,64):(1,32)", "f32 (32,64):(64,1)"), ("f32 (64,32) -> [1, 0]", "f32 (32,64):(1,32)", "f32 (32,64):(64,1)"),
         ("u8 (6,5,3):(16,3,1) -> f16", "u8 (6,5,3):(16,3,1)", "f16 (6,5,3):(15,3,1)"),
         ("bf16 (8,4) -> bf16 (8,4):(1,8)", "bf16 (8,4):(4,1)", "bf16 (8,4):(1,8)"), ("i32 () -> ()", "i32 ():()", "i32 ():()")]


@pytest.mark.parametrize("line, src, dst", LINES)
def test_a_layout_of_ones_own_is_measured_in_a_line(restride, tmp_path, line, src, dst):
    restride("bench", line, "--reps", "1", "--threads", "1", "--json", "out.json")
    run = only_run(tmp_path / "out.json")
    case, = run["cases"]
    assert case["name"] == line and case["src"] == src and case["dst"] == dst and case["ratio"] > 0 and case["checked"]
    assert run["case_files"] == [line]


def test_several_lines_and_files_go_together(restride, tmp_path, cases):
    out = restride("bench", "u8 (3,3) -> (1,0)", *cases[1:], "--list").out
    assert "u8 (3,3) -> (1,0)" in out and "small" in out
    listed = restride("bench", "u8 (3,3) -> (1,0)", "f32 (2,5) -> f64", "--list").out.splitlines()
    assert len(listed) == 2 and "f64 (2,5)" in listed[1], "the shipped files are not run beside one's own lines"


@pytest.mark.parametrize("line, words", [
    ("f32 (2,3)", "write what it is copied into behind '->'"), ("-> (1,0)", "a layout stands in front of '->'"), ("f32 (2,3) ->", "nothing stands behind"),
    ("f32 (2,3) -> (1,1)", "mode 1 twice"), ("f32 (2,3) -> f32 (3,2)", "both sides need the same shape"), ("f32 (2,3)@4 -> (1,0)", "leave out '@'"),
    ("f99 (2,3) -> (1,0)", "f99"), ("cases.json", "case files go behind --cases"),
])
def test_a_line_that_is_no_case_is_refused(restride, cases, line, words):
    assert words in restride("bench", line, "--reps", "1", code=2).err


@pytest.mark.parametrize("option", [("--threads", 1), ("--dtype", "u8"), ("--only", "small"), ("--cases", "cases.json")])
def test_a_line_behind_an_option_that_takes_it_is_noticed(restride, cases, option):
    err = restride("bench", *option, "u8 (3,3) -> (1,0)", "--list", code=2).err
    assert f"stands behind {option[0]}" in err and "in front of the options" in err


def test_a_line_that_does_not_fit_its_layout_is_refused(restride):
    assert "names 3" in restride("bench", "f32 (2,3) -> (0,1,2)", code=1).err
    assert "overlaps itself" in restride("bench", "f32 (4,4) -> f32 (4,4):(2,1)", "--reps", "1", code=1).out


def test_numpy_is_timed_on_a_line(restride, tmp_path):
    pytest.importorskip("numpy")
    for line in ("f32 (600,700) -> (1,0)", "f32 (600,700):(704,1) -> f32 (600,700):(1,-608)", "u8 (1100,1000):(-1024,1) -> (1,0)"):
        restride("bench", line, "--peers", "--reps", "1", "--threads", "1", "--json", "out.json", env={"RESTRIDE_PYTHON": sys.executable})
        peers = [r for r in json.loads((tmp_path / "out.json").read_text())["runs"] if r["case_files"] == [line]][0]["cases"][0]["peers"]
        assert peers["numpy"] > 0 and peers["naive"] > 0


def test_a_page_shows_the_results_or_those_of_a_file(restride, tmp_path, cases):
    restride(*cases, "--json", "out.json", "--html", "out.html")
    assert 'data-case="small"' in (tmp_path / "out.html").read_text()
    restride("bench", "--from", "out.json", "--against", "out.json", "--html", "again.html")
    page = (tmp_path / "again.html").read_text()
    assert "Against out.json" in page and "1 cases in common" in page and "within the noise" in page


@pytest.mark.parametrize("args, code, words", [
    (("--from", "out.json"), 2, "add --html"), (("--against", "out.json"), 2, "add --html"),
    (("--from", "cases.json", "--html", "p.html"), 1, "holds no results"), (("--from", "none.json", "--html", "p.html"), 1, "No such file"),
    (("--from", "out.json", "--json", "o.json", "--html", "p.html"), 2, "leave one out"), (("--html", "cases.json"), 1, "no older drawing or page"),
])
def test_a_page_says_what_it_lacks(restride, tmp_path, cases, args, code, words):
    restride(*cases, "--json", "out.json")
    assert words in restride("bench", *args, code=code).err
    assert not (tmp_path / "p.html").exists()


ONE_MIB = "f32 (512,1024) -> (1,0)"


def test_peers_are_those_that_are_named(restride, tmp_path):
    restride("bench", ONE_MIB, "--threads", "1", "--reps", "1", "--peers", "NumPy,naive", "--json", "out.json", env={"RESTRIDE_PYTHON": sys.executable})
    run = only_run(tmp_path / "out.json")
    assert sorted(run["machine"]["peers"]) == sorted(run["cases"][0]["peers"]) == ["naive", "numpy"]
    out = restride("bench", "f32 (8,8) -> (1,0)", "--reps", "1", "--peers", "numpy", env={"RESTRIDE_PYTHON": sys.executable}).out
    assert "numpy and torch take 1 MiB and more" in out


def test_torch_is_a_peer_where_it_is_installed(restride, tmp_path):
    python = os.environ.get("RESTRIDE_TORCH_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import numpy, torch"], capture_output=True).returncode != 0:
        pytest.skip(f"{python} has no torch; RESTRIDE_TORCH_PYTHON names one that has it")
    what = (ONE_MIB, "u8 (600,1000,3) -> f32 (600,1000,3):(1000,1,600000)", "bf16 (1024,1024):(1,1024) -> bf16 (1024,1024)",
            "bf16 (1024,1024) -> f32 (1024,1024)")
    restride("bench", *what, "--threads", "1,2", "--reps", "1", "--peers", "torch", "--json", "out.json", env={"RESTRIDE_PYTHON": python})
    for run in json.loads((tmp_path / "out.json").read_text())["runs"]:
        *timed, cast = run["cases"]
        assert all(case["peers"]["torch"] > 0 for case in timed), timed
        assert "has no bf16 to cast" in cast["peer_notes"]["torch"]


def test_a_peer_that_is_not_there_is_named_with_how_to_get_it(restride, tmp_path):
    (tmp_path / "none").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "none").chmod(0o755)
    nothing = {"RESTRIDE_PYTHON": "./none"}
    for peer in ("torch", "numpy"):
        err = restride("bench", ONE_MIB, "--peers", peer, "--json", "out.json", code=1, env=nothing).err
        assert f"--peers {peer}: " in err and "-m pip install " + peer in err and "RESTRIDE_PYTHON" in err
    err = restride("bench", ONE_MIB, "--peers", "naiv", code=1, env=nothing).err
    assert "did you mean 'naive'?" in err
    assert "write it in front of the options" in restride("bench", "--peers", ONE_MIB, code=2).err
    assert not (tmp_path / "out.json").exists()
