#!/usr/bin/env python3
"""Fills the figures of README.md and docs/ from committed result files, so that no number is typed by hand.

A marked block names what it shows and the result files it comes from; its content is replaced:

    <!-- figures: headline bench/results/cpu-xeon-avx512.json -->
    ...
    <!-- /figures -->

Of a case that two runs hold the last one counts. Of files named *-peers.json only the peers count, where the others
lack them.

headline  one sentence: geometric mean and worst ratio, machine, commits
classes   a table: each class of cases with geometric mean / worst case; the best peer of the same run, bold where ahead
cases     a table of every case
lost      one sentence: on how many cases a peer of the same run is faster, and those where it is so by the most
lab_*     the tables of docs/lab.md (scripts/lab_figures.py): a file and what of it to show
explain   the output of `restride explain ARGS`, run now: `<!-- figures: explain 'f32 (8,64) -> (1,0)' -->`

fill_figures.py [--check] [FILE...]: --check writes nothing and exits 1 when a block is not up to date. Of explain
blocks, whose numbers depend on the machine, only the names of the families are compared, and only where there is a
build/dev/bin/restride. Without FILEs: README.md, bench/README.md and docs/*.md.
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys

import lab_figures
import result_file
from result_file import geometric_mean

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESTRIDE = ROOT / "build/dev/bin/restride"
PEERS = "-peers.json"
BLOCK = re.compile(r"(<!-- figures: (\w+) (.*?) -->\n)(.*?)(<!-- /figures -->)", re.S)


def load(paths: str):
    """The files' cases as one result, {"cases": [...], "files": {path: result}}, or None where a file is missing."""
    files = {path: ROOT / path for path in paths.split()}
    if not all(file.exists() for file in files.values()):
        return None
    files = {path: result_file.load(file) for path, file in files.items()}

    def key(case):
        return case["device"], case["threads"], case["name"], case["src"]

    cases = {key(c): c for path, result in files.items() if not path.endswith(PEERS) for c in result_file.cases(result)}
    for path, result in files.items():
        for c in result_file.cases(result) if path.endswith(PEERS) else []:
            case = cases.get(key(c), {})
            case["peers"] = c.get("peers", {}) | case.get("peers", {})
    return {"cases": list(cases.values()), "files": files}


def measured(result):
    return [c for c in result["cases"] if "error" not in c and "skipped" not in c and c["ratio"] > 0]


def device_name(machine: dict, device: str) -> str:
    for key in ("gpu", "device_name", "device") if device == "cuda" else ("cpu",):
        if isinstance(machine.get(key), str):
            return machine[key]
    return device


def headline(result) -> str:
    lines = []
    for device, threads in sorted({(c["device"], c["threads"]) for c in measured(result)}):
        cases = [c for c in measured(result) if (c["device"], c["threads"]) == (device, threads)]
        worst = min(cases, key=lambda c: c["ratio"])
        mean = geometric_mean([c["ratio"] for c in cases])
        where = f"{threads} thread{'s' if threads != 1 else ''} of " if device == "cpu" else ""
        lines.append(f"- **{mean:.2f}** of a plain copy's speed (geometric mean of {len(cases)} layouts; worst "
                     f"{worst['ratio']:.2f}, `{worst['name']}`) on {where}{device_name(worst['machine'], device)}")
    sources = [("Peers that these lack: from " if path.endswith(PEERS) else "From ") + f"{path}: {commits(result)}."
               for path, result in result["files"].items()]
    return "\n".join(lines + [""] + sources) + "\n"


def commits(result) -> str:
    """The commit of most runs, and which runs are of another."""
    runs = {}
    for run in result["runs"]:
        what = f"{' and '.join(run['case_files'])} on {run['threads']} thread{'s' if run['threads'] != 1 else ''}"
        runs.setdefault(run["commit"][:12], []).append(what)
    most, *others = sorted(runs, key=lambda commit: -len(runs[commit]))
    return ", ".join([f"commit `{most}`"] + [f"{' and '.join(runs[c])} of `{c}`" for c in others])


def class_cell(cases) -> str:
    """Geometric mean / worst case, then the peer that does best against ours on the cases it ran on; bold where ahead."""
    if not cases:
        return "-"
    cell = f"{geometric_mean([c['ratio'] for c in cases]):.2f} / {min(c['ratio'] for c in cases):.2f}"
    peers = []
    for peer in {p for c in cases for p in c.get("peers", {})}:
        shared = [c for c in cases if c.get("peers", {}).get(peer, 0) > 0]
        if shared:
            theirs = geometric_mean([c["peers"][peer] for c in shared])
            ours = geometric_mean([c["ratio"] for c in shared])
            peers.append((theirs / ours, len(shared), peer, theirs, ours))
    if not peers:
        return cell
    lead, count, peer, theirs, ours = max(peers)
    name = f"**{peer} {theirs:.2f}**" if lead > 1 else f"{peer} {theirs:.2f}"
    return f"{cell}; {name}" + (f" to {ours:.2f} on {count} of {len(cases)}" if count < len(cases) else "")


def classes(result) -> str:
    columns = sorted({(c["device"], c["threads"]) for c in measured(result)})
    names = list(dict.fromkeys(c.get("class") or "other" for c in measured(result)))
    titles = [f"CPU, {t} thread{'s' if t != 1 else ''}" if d == "cpu" else "GPU" for d, t in columns]
    rows = ["| class: mean / worst; best peer | " + " | ".join(titles) + " |", "|---" * (len(columns) + 1) + "|"]
    for name in names:
        cells = [class_cell([c for c in measured(result) if (c.get("class") or "other", c["device"], c["threads"])
                             == (name, *column)]) for column in columns]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def cases(result) -> str:
    rows = ["| case | layouts | family | threads | GB/s | copy GB/s | ratio | noise |", "|---|---|---|---|---|---|---|---|"]
    rows += [f"| {c['name']} | `{c['src']}` -> `{c['dst']}` | {c['family']} | {c['threads']} | {c['gbps']:.1f} | "
             f"{c['ceiling_gbps']:.1f} | {c['ratio']:.2f} | {100 * c['noise']:.0f} % |" for c in measured(result)]
    return "\n".join(rows) + "\n"


def lost(result) -> str:
    compared = [c for c in measured(result) if c.get("peers")]
    leads = sorted(((max(c["peers"].values()) / c["ratio"], c) for c in compared), key=lambda lead: -lead[0])
    leads = [(lead, c) for lead, c in leads if lead > 1]
    if not leads:
        return f"No peer is faster on any of {len(compared)} layouts.\n"
    shown = [f"`{c['name']}` ({peer} {theirs:.2f}, ours {c['ratio']:.2f})" for _, c in leads[:4]
             for theirs, peer in [max((ratio, peer) for peer, ratio in c["peers"].items())]]
    return (f"A peer is faster on {len(leads)} of {len(compared)} layouts, by {100 * (leads[0][0] - 1):.1f} % at most: "
            f"{', '.join(shown)}{' ...' if len(leads) > len(shown) else ''}\n")


def explain(arguments: str) -> str:
    words = shlex.split(arguments)
    output = subprocess.run([RESTRIDE, "explain", *words], check=True, capture_output=True, text=True)
    return f"```\n$ restride explain {arguments}\n{output.stdout}```\n"


def families_in(explained: str) -> set:
    """The families that a text of `restride explain` has a line for; their order may differ from machine to machine."""
    return set(re.findall(r"^(?:chosen|others|      ) {5}(\S+) ", explained, re.M))


def checked_explain(arguments: str, old: str) -> str:
    """The block as it stands, or as it would be now where other families are in it."""
    if not RESTRIDE.exists():
        return old
    new = explain(arguments)
    return old if families_in(new) == families_in(old) else new


KINDS = {"headline": headline, "classes": classes, "cases": cases, "lost": lost} | lab_figures.KINDS


def filled(text: str, check: bool) -> str:
    def replace(match):
        opening, kind, argument, old, closing = match.groups()
        if kind == "explain":
            return opening + (checked_explain(argument, old) if check else explain(argument)) + closing
        if kind not in lab_figures.KINDS:
            result = load(argument)
            shown = KINDS[kind](result) if result else f"Not measured yet: there is no `{argument}`.\n"
            return opening + shown + closing
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
    for path in args.files or [ROOT / "README.md", ROOT / "bench/README.md", *sorted((ROOT / "docs").glob("*.md"))]:
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
