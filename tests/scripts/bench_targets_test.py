#!/usr/bin/env python3
"""scripts/bench_targets.py: which rows judge which cases, and when a row passes."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import bench_targets  # noqa: E402


def case(name, ratio, **told):
    return {"name": name, "class": "rows", "ratio": ratio, "bytes": 2**30} | told


def run(*cases, **told):
    return {"case_files": ["field"], "device": "cpu", "threads": 1, "options": {}, "commit": "abc", "machine": {},
            "cases": list(cases)} | told


def printed(*runs):
    """What is printed of a file with these runs: {line of a group: {row: verdict}}."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "results.json"
        path.write_text(json.dumps({"runs": list(runs)}))
        cases, _, _ = bench_targets.load([path])
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        bench_targets.report(cases, json.loads(bench_targets.TARGETS.read_text()), 4)
    groups = {}
    for line in out.getvalue().splitlines():
        if line.startswith("  "):
            groups[group][line[8:52].strip()] = line[2:7].strip()
        else:
            groups[group := line] = {}
    return groups


class Conditions(unittest.TestCase):
    def test_fresh_memory_and_load_have_rows_of_their_own(self):
        groups = printed(run(case("a", 0.95)), run(case("a", 0.95), options={"fresh": True}),
                         run(case("a", 0.8, p95_ns=3.1, ceiling_p95_ns=1), options={"load": 2}))
        self.assertEqual(list(groups), ["cpu, 1 thread", "cpu, 1 thread, fresh", "cpu, 1 thread, load 2"])
        self.assertEqual(groups["cpu, 1 thread"]["head swap, pitched rows, crops, flips"], "pass")
        self.assertEqual(groups["cpu, 1 thread, fresh"], {"fresh destinations": "short"})
        self.assertEqual(groups["cpu, 1 thread, load 2"],
                         {"median beside one thread's": "pass", "95th percentile over one thread's": "short"})

    def test_huge_pages_are_held_to_the_ordinary_rows(self):
        groups = printed(run(case("a", 0.1), options={"huge_pages": True}))
        self.assertEqual(groups["cpu, 1 thread, huge pages"]["head swap, pitched rows, crops, flips"], "short")

    def test_options_that_choose_cases_make_no_group(self):
        groups = printed(run(case("a", 0.1)), run(case("a", 0.95), options={"max_mib": 100.0, "only": ["a"]}))
        self.assertEqual(list(groups), ["cpu, 1 thread"])
        self.assertEqual(groups["cpu, 1 thread"]["head swap, pitched rows, crops, flips"], "pass")  # the last one counts


class Rows(unittest.TestCase):
    def test_some_cases_may_be_lost_to_peers(self):
        row = {"lost_at_most": 1, "lost_by": 0.02, "classes": ["*"]}

        def verdict(*ratios):
            return bench_targets.check_peers(row, [case(str(r), r, peers={"other": 1.0}) for r in ratios], 4)[0]
        self.assertEqual(verdict(1.1, 0.99), "pass")
        self.assertEqual(verdict(0.99, 0.99), "short")
        self.assertEqual(verdict(1.1, 0.97), "short")

    def test_a_fixed_cost_is_a_field_less_another_or_a_multiple_of_it(self):
        one = [case("a", 1, copy_ns=100, median_ns=50)]
        wanted = {"names": ["*"], "field": "copy_ns"}
        self.assertEqual(bench_targets.check_fixed(wanted | {"minus": "median_ns", "at_most": 50}, one)[0], "pass")
        self.assertEqual(bench_targets.check_fixed(wanted | {"over": "median_ns", "at_most": 1.9}, one)[0], "short")

    def test_calls_are_held_to_rows_of_their_own(self):
        wanted = json.loads(bench_targets.TARGETS.read_text())["calls"]
        calls = [{"name": "run_many of 1000 pairs of 4 KiB, 1 thread", "ns": 100, "beside_ns": 79, "ratio": 0.79},
                 {"name": "a copy of 8 x 64 f16 to a slice that moves", "ns": 300, "beside_ns": 30, "ratio": 0.1}]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            short = bench_targets.report_calls({"machine": {"cpu": "A"}, "calls": calls}, wanted, 4)
        self.assertEqual(short, 1)
        self.assertIn("calls on A\n  short many pairs", out.getvalue())
        self.assertIn("pass  a copy to a slice", out.getvalue())
        self.assertIn("none  halos beside a plain loop", out.getvalue())  # not timed: said, not left out


if __name__ == "__main__":
    unittest.main()
