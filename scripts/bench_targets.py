#!/usr/bin/env python3
"""Holds result files of `restride bench` and of scripts/gpu_test.sh against bench/targets.json and prints pass or short,
row by row.

Usage: scripts/bench_targets.py RESULT.json [RESULT.json ...] [--worst N]

Several files of runs are read as one result; of a case that appears twice the last one counts. Exit code 1
when a row falls short, a case failed or a GPU's test did, 2 when a file cannot be read.
"""

import argparse
import fnmatch
import json
import math
import pathlib
import sys

import result_file

TARGETS = pathlib.Path(__file__).resolve().parent.parent / "bench" / "targets.json"


def load(paths):
    """The cases of all runs, the later ones replacing the earlier, and the results of tests on GPUs."""
    cases, gpu_tests = {}, []
    for path in paths:
        result = json.loads(pathlib.Path(path).read_text())
        if "sanitizers" in result:
            gpu_tests.append(result)
            continue
        for case in result_file.cases(result_file.load(path)):
            cases[case["device"], case["threads"], case["name"]] = case
    return list(cases.values()), gpu_tests


def selected(row, cases):
    """The measured cases that a row of the targets is about."""
    def fits(case):
        by_class = any(fnmatch.fnmatchcase(case.get("class", ""), c) for c in row.get("classes", []))
        by_name = any(fnmatch.fnmatchcase(case["name"], n) for n in row.get("names", []))
        return by_class or by_name
    return [c for c in cases if fits(c) and "skipped" not in c and "error" not in c]


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def check_ratio(row, cases, worst_count):
    """One row about ratios: (verdict, text)."""
    measured = sorted((c["ratio"], c["name"]) for c in selected(row, cases))
    if not measured:
        return "none", "not measured"
    mean = geometric_mean([max(r, 1e-9) for r, _ in measured])
    worst = measured[0]
    short = worst[0] < row["each"] or mean < row.get("geometric_mean", 0)
    text = f"worst {worst[0]:.3f} (wanted {row['each']:.2f}), mean {mean:.3f}"
    if "geometric_mean" in row:
        text += f" (wanted {row['geometric_mean']:.2f})"
    text += f", {len(measured)} cases"
    below = [f"{name} {ratio:.3f}" for ratio, name in measured if ratio < row["each"]]
    if below:
        text += f", {len(below)} below: " + ", ".join(below[:worst_count])
    return "short" if short else "pass", text


def check_fixed(row, cases):
    """One row about a fixed cost in nanoseconds."""
    values = [(c[row["field"]] - c.get(row["minus"], 0) if "minus" in row else c[row["field"]], c["name"])
              for c in selected(row, cases) if c.get(row["field"])]
    if not values:
        return "none", "not measured"
    value, name = max(values)
    return "pass" if value <= row["at_most"] else "short", f"{value:.0f} ns (wanted {row['at_most']}), {name}"


def check_peers(row, cases, worst_count):
    """Every case against the best peer that was measured beside it."""
    lost = []
    compared = 0
    for case in selected(row, cases):
        if not case.get("peers"):
            continue
        compared += 1
        name, best = max(case["peers"].items(), key=lambda item: item[1])
        if best > case["ratio"]:
            lost.append((case["ratio"] / best, f"{case['name']} {case['ratio']:.3f} < {best:.3f} {name}"))
    if not compared:
        return "none", "no peers measured"
    text = f"{compared - len(lost)} of {compared} cases"
    if lost:
        text += "; lost: " + ", ".join(words for _, words in sorted(lost)[:worst_count])
    return "short" if lost else "pass", text


def report(cases, targets, worst_count):
    """Prints every row; returns how many fall short."""
    short = 0
    for device, wanted in targets["devices"].items():
        on_device = [c for c in cases if c["device"] == device]
        large = [c for c in on_device if c.get("useful_bytes", c["bytes"]) / 2 >= wanted["min_side_mib"] * 2**20]
        for threads in sorted({c["threads"] for c in on_device}):
            here = [c for c in on_device if c["threads"] == threads]
            rows = [(r["row"], check_ratio(r, [c for c in large if c["threads"] == threads], worst_count))
                    for r in wanted["threads"].get(str(threads), [])]
            rows += [(r["row"], check_fixed(r, here)) for r in wanted.get("fixed", [])]
            rows += [(r["row"], check_peers(r, here, worst_count)) for r in wanted.get("peers", [])]
            print(f"{device}, {threads} thread{'s' if threads != 1 else ''}")
            for name, (verdict, text) in rows:
                short += verdict == "short"
                print(f"  {verdict:<5} {name:<44} {text}")
    failed = [c for c in cases if "error" in c]
    for case in failed:
        print(f"  FAILED {case['name']}: {case['error']}")
    return short + len(failed)


def check_recorded(row, recorded):
    """One row about what tests recorded in nanoseconds."""
    values = [(float(recorded[f]) - float(recorded.get(row.get("minus"), 0)), f) for f in row["fields"] if f in recorded]
    if not values:
        return "none", "not recorded"
    value, name = max(values)
    return "pass" if value <= row["at_most"] else "short", f"{value:.0f} ns (wanted {row['at_most']}), {name}"


def report_gpu_tests(result, wanted):
    """Prints what the tests on a GPU recorded; returns how many rows fall short."""
    recorded = {name: value for test in result["tests"] for name, value in test.items()}
    failed = [t["test"] for t in result["tests"] if t["outcome"] == "failed"]
    failed += [s["tool"] for s in result["sanitizers"] if (s["tests"], s["planted_fault"]) != ("clean", "found")]
    rows = [(r["row"], check_recorded(r, recorded)) for r in wanted]
    rows.append(("tests and sanitizers", ("short" if failed else "pass", ", ".join(failed) or "none failed")))
    print(f"tests on {result['device']}")
    for name, (verdict, text) in rows:
        print(f"  {verdict:<5} {name:<44} {text}")
    return sum(verdict == "short" for _, (verdict, _) in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", metavar="RESULT.json")
    parser.add_argument("--worst", type=int, default=4, metavar="N", help="cases named in a row that falls short")
    arguments = parser.parse_args()
    try:
        cases, gpu_tests = load(arguments.results)
        targets = json.loads(TARGETS.read_text())
    except (OSError, ValueError, KeyError) as error:
        print(f"bench_targets: cannot read: {error}", file=sys.stderr)
        return 2
    short = report(cases, targets, arguments.worst) if cases else 0
    short += sum(report_gpu_tests(result, targets["gpu-test"]) for result in gpu_tests)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
