#!/usr/bin/env python3
"""scripts/fill_figures.py and scripts/bench_figures.py: what stands in README and docs is what files and programs say."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import bench_figures  # noqa: E402
import drop_in_figures  # noqa: E402
import fill_figures  # noqa: E402


def case(name, ratio, peers=(), **told):
    return {"name": name, "src": "f32 (4)", "class": "c", "device": "cuda", "threads": 1, "ratio": ratio,
            "machine": {"gpu": "a GPU"}, "peers": dict(peers)} | told


def result(*cases):
    return {"cases": list(cases), "files": {}}


class Readme(unittest.TestCase):
    def test_fits_80_lines(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), 80)

    def test_holds_the_program_that_the_tests_compile_and_run(self):
        text = (ROOT / "README.md").read_text()
        program = (ROOT / "examples/quickstart.cc").read_text()
        self.assertIn(f"```cpp\n{program}```", text)
        self.assertEqual(fill_figures.filled(text, check=True), text)
        self.assertEqual(fill_figures.filled(text.replace("int main", "int Main"), check=True), text)


class Output(unittest.TestCase):
    def test_is_checked_by_the_families_in_it(self):
        self.assertEqual(fill_figures.families_in("chosen     tile/aligned  1 ms\nothers     rows  2 ms\n           gather  3 ms\n"
                                                  "                           x=1\nparameters"), {"tile/aligned", "rows", "gather"})


    def test_of_a_first_page_leaves_out_what_does_not_apply(self):
        self.assertEqual(fill_figures.without_refusals("chosen     a\ndo not apply\n           b  c\n           d  e\nend\n"),
                         "chosen     a\ndo not apply  ...\nend\n")


class Rows(unittest.TestCase):
    def test_name_where_a_peer_leads_by_the_most_and_the_lowest_ratio(self):
        shown = bench_figures.rows(result(case("good", 1, [("A", 0.5)]), case("close", 0.9, [("A", 0.91), ("B", 0.1)]),
                                          case("behind", 0.5, [("A", 0.4), ("B", 0.9)]), case("low", 0.1)),
                                   ["good", "lost", "worst-cuda"])
        self.assertEqual(shown.splitlines(), ["| layouts: ours; best peer | a GPU |", "|---|---|", "| c: `good` | 1.00; A 0.50 |",
                                              "| a peer's largest lead: `behind` | 0.50; **B 0.90** |",
                                              "| the worst on the GPU: `low` | 0.10 |"])

    def test_of_a_case_that_nobody_ran_are_refused(self):
        with self.assertRaisesRegex(ValueError, "no case other"):
            bench_figures.rows(result(case("good", 1)), ["other"])


class Kernels(unittest.TestCase):
    def test_of_a_family_are_shown_with_their_mean_their_best_and_their_worst_layout(self):
        moved = [case("good", 1) | {"kernel": "tile/a"}, case("low", 0.25) | {"kernel": "tile/a"},
                 case("one", 0.5) | {"kernel": "tile/b"}, case("other", 0.1) | {"kernel": "rows/a"}]
        self.assertEqual(bench_figures.kernels(result(*moved), "tile").splitlines(),
                         ["| on a GPU | layouts | mean | best | worst |", "|---|---|---|---|---|",
                          "| `tile/a` | 2 | 0.50 | 1.00 `good` | 0.25 `low` |",
                          "| `tile/b` | 1 | 0.50 | 0.50 `one` | 0.50 `one` |"])


class Sources(unittest.TestCase):
    def test_name_the_runs_that_are_of_another_commit(self):
        runs = [{"case_files": [name], "device": "cpu", "threads": 1, "commit": commit * 40} for name, commit in
                (("field", "a"), ("ttc57", "b"), ("extra", "b"))]
        self.assertEqual(bench_figures.commits({"runs": runs}), "commit `bbbbbbbbbbbb`, field on 1 thread of `aaaaaaaaaaaa`")

    def test_that_are_missing_leave_the_block_to_say_so(self):
        self.assertIn("Not measured yet", fill_figures.block("headline", "no/such.json", "", True))


class DropIn(unittest.TestCase):
    def test_names_the_worst_layout_and_takes_the_mean_of_those_taken(self):
        rows = [{"name": name, "taken": taken, "warm_ratio": warm, "fresh_ratio": fresh}
                for name, taken, warm, fresh in (("a", True, 2, 8), ("b", True, 8, 2), ("c", False, 0.99, 1.01))]
        told = {"device": "a CPU", "threads": 1, "torch": "2", "cases": rows}
        self.assertIn("2 of 3 layouts are taken, on which torch takes 4.00 times as long in the mean (4.00 into new memory); "
                      "of all, the worst is 0.99, `c` (1.01 into new memory)", drop_in_figures.summary(told))
        self.assertIn("| `c`, left to torch where it has pages | 0.99 | 1.01 |\n| geometric mean | 2.51 | 2.53 |",
                      drop_in_figures.layouts(told))

    def test_puts_machines_side_by_side(self):
        def programs(device, **row):
            return {"device": device, "threads": 2, "torch": "2", "programs": [{"name": "kv_cache", **row}]}

        shown = drop_in_figures.programs(programs("a CPU", ratio=1.5, itself=1.004), programs("an NVIDIA", ratio=12.34))
        self.assertEqual(shown.splitlines()[0], "| torch's time over ours | a CPU, 2 threads, torch 2 | itself | an NVIDIA, torch 2 | itself |")
        self.assertEqual(shown.splitlines()[-1], "| kv cache | 1.50 | 1.00 | 12.3 | - |")


if __name__ == "__main__":
    unittest.main()
