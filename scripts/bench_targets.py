#!/usr/bin/env python3
"""Holds result files of `restride bench`, of bench_calls and of scripts/gpu_test.sh against bench/targets.json and prints
pass or short, row by row.

Usage: scripts/bench_targets.py RESULT.json [RESULT.json ...] [--worst N]

Several files of runs are read as one result; of a case that appears twice under the same conditions the last one
counts. Conditions are what a run was told about memory and load (`--fresh`, `--load`, `--warm`, `--huge-pages`); fresh
and warm memory and load have rows of their own, the ordinary ones hold for small and for huge pages. Exit code 1 when a
row falls short, a case failed or a GPU's test did, 2 when a file cannot be read.
"""

import argparse
import fnmatch
import json
import math
import pathlib
import sys

import result_file

CONDITIONS = ("fresh", "fresh_destination", "load", "warm", "huge_pages")  # of a run's options; the others choose cases
TARGETS = pathlib.Path(__file__).resolve().parent.parent / "bench" / "targets.json"


def load(paths):
    """The cases of all runs, the later ones replacing the earlier, the results of tests on GPUs, and those of calls."""
    cases, gpu_tests, calls = {}, [], []
    for path in paths:
        result = json.loads(pathlib.Path(path).read_text())
        if "sanitizers" in result:
            gpu_tests.append(result)
            continue
        if "calls" in result:
            calls.append(result)
            continue
        for run in result_file.load(path)["runs"]:
            under = {key: run["options"][key] for key in CONDITIONS if run.get("options", {}).get(key)}
            for case in result_file.cases({"runs": [run]}):
                cases[case["device"], case["threads"], str(under), case["name"]] = case | {"under": under}
    return list(cases.values()), gpu_tests, calls


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
    """One row about a time in nanoseconds, or about how often it contains another."""
    values = [(c[row["field"]] / c[row["over"]] if "over" in row else c[row["field"]] - c.get(row.get("minus"), 0), c["name"])
              for c in selected(row, cases) if c.get(row["field"])]
    if not values:
        return "none", "not measured"
    value, name = max(values)
    shown = f"{value:.2f}" if "over" in row else f"{value:.0f} ns"
    return "pass" if value <= row["at_most"] else "short", f"{shown} (wanted {row['at_most']}), {name}"


def check_peers(row, cases, worst_count):
    """Every case against the best peer that was measured beside it: `lost_at_most` cases may be lost, by `lost_by`."""
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
    short = len(lost) > row.get("lost_at_most", 0) or any(share < 1 - row.get("lost_by", 0) for share, _ in lost)
    return "short" if short else "pass", text


def title(device, threads, under):
    words = [device, f"{threads} thread{'s' if threads != 1 else ''}"]
    return ", ".join(words + [key.replace("_", " ") + ("" if value is True else f" {value}") for key, value in under.items()])


def report(cases, targets, worst_count):
    """Prints every row; returns how many fall short."""
    short = 0
    for device, wanted in targets["devices"].items():
        on_device = [c for c in cases if c["device"] == device]
        groups = []
        for case in sorted(on_device, key=lambda c: (c["threads"], len(c["under"]), str(c["under"]))):
            if (case["threads"], case["under"]) not in groups:
                groups.append((case["threads"], case["under"]))
        for threads, under in groups:
            here = [c for c in on_device if (c["threads"], c["under"]) == (threads, under)]
            large = [c for c in here if c.get("useful_bytes", c["bytes"]) / 2 >= wanted["min_side_mib"] * 2**20]
            special = [rows for rows in wanted.get("under", []) if rows["condition"] in under]
            ratios = [(r, here) for rows in special for r in rows.get("ratios", [])]
            fixed = [r for rows in special for r in rows.get("fixed", [])]
            peers = [r for rows in special for r in rows.get("peers", [])]
            if not special:
                ratios = [(r, large) for r in wanted["threads"].get(str(threads), [])]
                ratios += [(r, here) for r in wanted.get("any_size", [])]
                fixed, peers = wanted.get("fixed", []), wanted.get("peers", [])
            rows = [(r["row"], check_ratio(r, of, worst_count)) for r, of in ratios]
            rows += [(r["row"], check_fixed(r, here)) for r in fixed]
            rows += [(r["row"], check_peers(r, here, worst_count)) for r in peers]
            print(title(device, threads, under))
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


def report_calls(result, wanted, worst_count):
    """Prints what single calls are held to; returns how many rows fall short."""
    machine = result["machine"]
    print(f"calls on {machine.get('gpu', machine['cpu'])}")
    short = 0
    for row in wanted["cuda" if "gpu" in machine else "cpu"]:
        check = check_fixed(row, result["calls"]) if "field" in row else check_ratio(row, result["calls"], worst_count)
        print(f"  {check[0]:<5} {row['row']:<44} {check[1]}")
        short += check[0] == "short"
    return short


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", metavar="RESULT.json")
    parser.add_argument("--worst", type=int, default=4, metavar="N", help="cases named in a row that falls short")
    arguments = parser.parse_args()
    try:
        cases, gpu_tests, calls = load(arguments.results)
        targets = json.loads(TARGETS.read_text())
    except (OSError, ValueError, KeyError) as error:
        print(f"bench_targets: cannot read: {error}", file=sys.stderr)
        return 2
    short = report(cases, targets, arguments.worst) if cases else 0
    short += sum(report_gpu_tests(result, targets["gpu-test"]) for result in gpu_tests)
    short += sum(report_calls(result, targets["calls"], arguments.worst) for result in calls)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
