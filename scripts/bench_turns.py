#!/usr/bin/env python3
"""Two builds of the command against each other: scripts/bench_turns.py BEFORE AFTER [--cases field ttc57 extra] ...

Runs `restride bench` of both in turns, so that a machine that slows down slows both, and compares their ratios to the
plain copy case by case: the median over the passes. Prints the geometric mean of after/before for each case file and
number of threads, and the cases that lost most, with the noise of both. --json keeps every figure.
"""
import argparse
import collections
import json
import math
import pathlib
import statistics
import subprocess
import tempfile


def cases_of(result):
    """The rows of a result file, of today's format or the one before, which had a run a file."""
    runs = result["runs"] if "runs" in result else [result]
    return [case for run in runs for case in run["cases"] if "ratio" in case]


def measure(command, cases, threads, options, into):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        threads = [] if "--device" in options else ["--threads", str(threads)]
        subprocess.run([command, "bench", "--cases", cases, *threads, "--json", str(out), *options],
                       check=True, stdout=subprocess.DEVNULL)
        for case in cases_of(json.loads(out.read_text())):
            into[case["name"]].append((case["ratio"], case["noise"]))


def compare(before, after):
    """after / before by case, and the larger noise of the two."""
    found = {}
    for name in before.keys() & after.keys():
        old, new = (statistics.median(r for r, _ in side[name]) for side in (before, after))
        noise = max(statistics.median(n for _, n in side[name]) for side in (before, after))
        figures = {"before": old, "after": new, "gain": new / old, "noise": noise}
        found[name] = {key: round(value, 4) for key, value in figures.items()}
    return found


def text(report):
    """JSON with a case a line."""
    parts = []
    for key, found in sorted(report.items()):
        cases = ",\n".join(f"  {json.dumps(name)}: {json.dumps(case)}" for name, case in sorted(found.items()))
        parts.append(f" {json.dumps(key)}: {{\n{cases}\n }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--cases", nargs="+", default=["field", "ttc57", "extra"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--json")
    parser.add_argument("--device", choices=["cuda"], help="for restride bench: the GPU's kernels (the CPU's)")
    parser.add_argument("--max-mib", help="for restride bench: cases are cut to this size a side (CPU 100, GPU the file's own)")
    parser.add_argument("--only", nargs="*", default=[], help="for restride bench: classes, names or globs")
    parser.add_argument("--warm", action="store_true", help="for restride bench: src and dst in the caches")
    args = parser.parse_args()
    max_mib = args.max_mib or (None if args.device else "100")
    options = (["--max-mib", max_mib] if max_mib else []) + (["--only", *args.only] if args.only else [])
    options += ["--warm"] if args.warm else []
    if args.device:
        options, args.threads = options + ["--device", args.device], [1]
    report, gains = {}, []
    for cases in args.cases:
        for threads in args.threads:
            before, after = collections.defaultdict(list), collections.defaultdict(list)
            for _ in range(args.passes):
                measure(args.before, cases, threads, options, before)
                measure(args.after, cases, threads, options, after)
            found = compare(before, after)
            report[f"{cases}-{args.device or threads}"] = found
            mean = math.exp(statistics.fmean(math.log(c["gain"]) for c in found.values()))
            gains += [c["gain"] for c in found.values()]
            where = args.device or f"{threads} thread{'s' if threads > 1 else ' '}"
            print(f"{cases:<6} {where}  {len(found):>3} cases  after/before {mean:.3f}")
            for name, c in sorted(found.items(), key=lambda item: item[1]["gain"])[:6]:
                print(f"    {name:<32} {c['before']:.3f} -> {c['after']:.3f}  {c['gain']:.3f}  noise {c['noise']:.3f}")
    print(f"all  after/before {math.exp(statistics.fmean(map(math.log, gains))):.3f}")
    if args.json:
        pathlib.Path(args.json).write_text(text(report))


if __name__ == "__main__":
    main()
