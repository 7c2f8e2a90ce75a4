#!/usr/bin/env python3
"""scripts/result_file.py: the text of result files, and runs that are put into a machine's file."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import result_file  # noqa: E402


def run(ratio, commit="abc", cpu="some", **told):
    return {"case_files": ["field"], "device": "cpu", "threads": 1, "options": {}, "commit": commit, "machine": {"cpu": cpu},
            "cases": [{"name": "a", "ratio": ratio}, {"name": "skipped", "ratio": 0}]} | told


class Text(unittest.TestCase):
    def test_of_every_committed_file_is_what_lies_there(self):  # so does that of the C++ writer: results_test.cc
        files = sorted((ROOT / "bench/results").glob("*.json")) + sorted((ROOT / "lab/results").glob("*.json"))
        self.assertGreater(len(files), 2)
        for file in files:
            self.assertTrue(result_file.text(result_file.json.loads(file.read_text())) + "\n" == file.read_text(), file)

    def test_has_an_object_of_a_list_on_a_line(self):
        self.assertEqual(result_file.text({"a": [1, 2], "rows": [{"x": {"y": []}}, {"x": "\u00e4"}]}),
                         '{\n "a": [1, 2],\n "rows": [\n  {"x": {"y": []}},\n  {"x": "\u00e4"}\n ]\n}')


class Put(unittest.TestCase):
    def test_keeps_of_several_runs_the_best_in_the_place_of_the_older_one(self):
        result = {"runs": [run(0.9, "old"), run(0.5, "old", threads=2)]}
        result_file.put(result, [run(0.6), run(0.8), run(0.7), run(0.4, device="cuda")])
        self.assertEqual([(r["commit"], r["device"], r["threads"], r["cases"][0]["ratio"]) for r in result["runs"]],
                         [("abc", "cpu", 1, 0.8), ("old", "cpu", 2, 0.5), ("abc", "cuda", 1, 0.4)])

    def test_refuses_a_run_of_another_machine(self):
        with self.assertRaisesRegex(ValueError, "another machine"):
            result_file.put({"runs": [run(0.5)]}, [run(0.5, cpu="other")])


class Load(unittest.TestCase):
    def test_names_a_file_that_holds_no_results(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write('{"cases": []}')
            file.flush()
            with self.assertRaisesRegex(ValueError, "no result file"):
                result_file.load(file.name)


if __name__ == "__main__":
    unittest.main()
