#!/usr/bin/env python3
"""Fills the figures of README.md and docs/ from committed result files, so that no number is typed by hand.

A marked block names what it shows and the file it comes from; its content is replaced:

    <!-- figures: headline bench/results/cpu.json -->
    ...
    <!-- /figures -->

headline  one sentence: geometric mean and worst ratio, machine, commit
classes   a table: each class of cases with its geometric mean, worst case, and the best peer measured in the same run
cases     a table of every case
lab_*     the tables of docs/lab.md (scripts/lab_figures.py): a file and what of it to show
explain   the output of `restride explain ARGS`, run now: `<!-- figures: explain 'f32 (8,64) -> (1,0)' -->`

fill_figures.py [--check] [FILE...]: --check writes nothing and exits 1 when a block is not up to date (explain
blocks are left out of that: they depend on the machine). Without FILEs: README.md and docs/*.md.
"""
import argparse
import json
import math
import pathlib
import re
import shlex
import subprocess
import sys

import lab_figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- figures: (\w+) (.*?) -->\n)(.*?)(<!-- /figures -->)", re.S)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def measured(result):
    return [c for c in result["cases"] if "error" not in c and "skipped" not in c and c["ratio"] > 0]


def device_name(machine: dict) -> str:
    for key in ("gpu", "device", "cuda_device", "processor", "cpu", "name"):
        if isinstance(machine.get(key), str):
            return machine[key]
        if isinstance(machine.get(key), dict) and isinstance(machine[key].get("name"), str):
            return machine[key]["name"]
    return "unknown machine"


def headline(result) -> str:
    lines = []
    for device, threads in sorted({(c["device"], c["threads"]) for c in measured(result)}):
        cases = [c for c in measured(result) if (c["device"], c["threads"]) == (device, threads)]
        worst = min(cases, key=lambda c: c["ratio"])
        mean = geometric_mean([c["ratio"] for c in cases])
        where = f"{threads} thread{'s' if threads != 1 else ''} of " if device == "cpu" else ""
        lines.append(f"- **{mean:.2f}** of a plain copy's speed (geometric mean of {len(cases)} layouts; worst "
                     f"{worst['ratio']:.2f}, `{worst['name']}`) on {where}{device_name(result['machine'])}")
    return "\n".join(lines) + f"\n\nCommit `{result['commit'][:12]}`, `{result['command']}`.\n"


def classes(result) -> str:
    rows = ["| class | threads | cases | restride | worst | best peer, same run |", "|---|---|---|---|---|---|"]
    groups: dict = {}
    for case in measured(result):
        groups.setdefault((case["class"], case["threads"]), []).append(case)
    for (name, threads), cases in groups.items():
        worst = min(cases, key=lambda c: c["ratio"])
        mean = geometric_mean([c["ratio"] for c in cases])
        peers = {p: geometric_mean([c["peers"][p] for c in cases]) for p in cases[0].get("peers", {})
                 if all(c["peers"].get(p, 0) > 0 for c in cases)}
        best = max(peers, key=peers.get) if peers else None
        lost = best is not None and peers[best] > mean
        shown = f"{peers[best]:.2f} {best}" if best else "-"
        rows.append(f"| {name} | {threads} | {len(cases)} | {mean:.2f} | {worst['ratio']:.2f} `{worst['name']}` | "
                    f"{'**' + shown + '** (we lose)' if lost else shown} |")
    return "\n".join(rows) + "\n"


def cases(result) -> str:
    rows = ["| case | layouts | family | threads | GB/s | copy GB/s | ratio | noise |", "|---|---|---|---|---|---|---|---|"]
    rows += [f"| {c['name']} | `{c['src']}` -> `{c['dst']}` | {c['family']} | {c['threads']} | {c['gbps']:.1f} | "
             f"{c['ceiling_gbps']:.1f} | {c['ratio']:.2f} | {100 * c['noise']:.0f} % |" for c in measured(result)]
    return "\n".join(rows) + "\n"


def explain(arguments: str) -> str:
    words = shlex.split(arguments)
    output = subprocess.run([ROOT / "build/dev/bin/restride", "explain", *words], check=True, capture_output=True, text=True)
    return f"```\n$ restride explain {arguments}\n{output.stdout}```\n"


KINDS = {"headline": headline, "classes": classes, "cases": cases} | lab_figures.KINDS


def filled(text: str, check: bool) -> str:
    def replace(match):
        opening, kind, argument, old, closing = match.groups()
        if kind == "explain":
            return match.group(0) if check else opening + explain(argument) + closing
        file, *rest = argument.split()
        path = ROOT / file
        if not path.exists():
            return opening + f"Not measured yet: `{file}` is not there.\n" + closing
        return opening + KINDS[kind](json.loads(path.read_text()), *rest) + closing
    return BLOCK.sub(replace, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    stale = 0
    for path in args.files or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        old = path.read_text()
        new = filled(old, args.check)
        if new == old:
            continue
        if args.check:
            stale += 1
            print(f"{path}: figures differ from the result files; run scripts/fill_figures.py")
        else:
            path.write_text(new)
            print(f"{path}: filled")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
