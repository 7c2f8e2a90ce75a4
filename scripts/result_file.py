#!/usr/bin/env python3
"""Result files of `restride bench`: the runs of one machine, one case a line (bench/README.md explains the fields).

Usage: scripts/result_file.py MACHINE.json RUN.json [RUN.json ...]

Puts the runs of the other files into MACHINE.json, each in the place of the one that measured the same (case files,
device, threads, options), or behind the others. Of several given runs that measured the same, the one with the highest
geometric mean over its cases is kept, whole. Exit code 2 when a file cannot be read or is of another machine.
"""
import argparse
import json
import math
import os
import pathlib
import sys

TELLS_RUNS = ("case_files", "device", "threads", "options")
TELLS_MACHINES = ("cpu", "cache_bytes", "gpu")


def has_rows(value) -> bool:
    """True for a list of objects and for whatever has one in it."""
    if isinstance(value, list):
        return any(isinstance(part, dict) or has_rows(part) for part in value)
    return isinstance(value, dict) and any(map(has_rows, value.values()))


def text(value, indent="") -> str:
    """JSON with one object of a list on a line, as `restride bench --json` writes it (tools/io/json_text.h)."""
    if not has_rows(value):
        return json.dumps(value, ensure_ascii=False)
    inner = indent + " "
    if isinstance(value, list):
        parts, brackets = [text(part, inner) for part in value], "[]"
    else:
        parts, brackets = [f"{json.dumps(key, ensure_ascii=False)}: {text(part, inner)}" for key, part in value.items()], "{}"
    return brackets[0] + ",".join(f"\n{inner}{part}" for part in parts) + f"\n{indent}{brackets[1]}"


def load(path) -> dict:
    """The file's content. Raises ValueError where it is no result file, OSError where it cannot be read."""
    result = json.loads(pathlib.Path(path).read_text())
    if not isinstance(result, dict) or not isinstance(result.get("runs"), list):
        raise ValueError(f"{path} is no result file of `restride bench`: it has no list \"runs\"")
    return result


def save(path, result) -> None:
    """Replaces a file whole."""
    path = pathlib.Path(path)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text(result) + "\n")
    os.replace(temporary, path)


def cases(result) -> list:
    """The cases of all runs, each with its run's `device`, `threads` and `machine`."""
    return [case | {key: run[key] for key in ("device", "threads", "machine")}
            for run in result["runs"] for case in run["cases"]]


def geometric_mean(values) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def mean_ratio(run) -> float:
    """Over the cases that were measured; 0 where none was."""
    ratios = [case["ratio"] for case in run["cases"] if case.get("ratio", 0) > 0]
    return geometric_mean(ratios) if ratios else 0


def measured(run) -> str:
    """What tells a run from the others of its file."""
    return json.dumps([run.get(key) for key in TELLS_RUNS], sort_keys=True)


def same_machine(a, b) -> bool:
    """Two machines are one where all agrees that both tell."""
    return all(a[key] == b[key] for key in TELLS_MACHINES if key in a and key in b)


def put(result, runs) -> None:
    """Puts runs into a result, the best of those that measured the same. Raises ValueError for another machine's."""
    best = {}
    for run in runs:
        key = measured(run)
        if key not in best or mean_ratio(run) > mean_ratio(best[key]):
            best[key] = run
    for run in best.values():
        if not all(same_machine(older["machine"], run["machine"]) for older in result["runs"]):
            raise ValueError(f"a run of {run['machine'].get('gpu', run['machine'].get('cpu'))} is of another machine")
    places = {measured(run): place for place, run in enumerate(result["runs"])}
    for key, run in best.items():
        if key in places:
            result["runs"][places[key]] = run
        else:
            result["runs"].append(run)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine", type=pathlib.Path, metavar="MACHINE.json")
    parser.add_argument("runs", nargs="+", metavar="RUN.json")
    arguments = parser.parse_args()
    try:
        result = load(arguments.machine) if arguments.machine.exists() else {"runs": []}
        put(result, [run for path in arguments.runs for run in load(path)["runs"]])
        save(arguments.machine, result)
    except (OSError, ValueError, KeyError) as error:
        print(f"result_file: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
