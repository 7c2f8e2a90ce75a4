#!/usr/bin/env python3
"""Fills the figures of README.md and docs/ from committed result files, so that no number is typed by hand.

A marked block names what it shows and where that comes from; its content is replaced:

    <!-- figures: headline bench/results/cpu-xeon-avx512.json -->
    ...
    <!-- /figures -->

headline, numbers, classes, cases, lost, peers
          from result files of `restride bench`, as scripts/bench_figures.py says
rows      a table of single cases: the files, a colon, the names
kernels   a table of the kernels of a family: the files, a colon, the family
exchange  the table of exchanges between ranks of MPI: the folder of the result files (scripts/exchange_figures.py)
gpus      the table of exchanges between GPUs: what the names of the result files begin with
planning  how long planning exchanges takes: the result file
lab_*     the tables of docs/lab.md (scripts/lab_figures.py): a file and what of it to show
drop_in_* those of docs/torch.md and docs/python.md (scripts/drop_in_figures.py): files
program   an example, examples/NAME.cc, and what it prints, run now: `<!-- figures: program quickstart -->`
explain   the output of `restride explain ARGS`, run now: `<!-- figures: explain 'f32 (8,64) -> (1,0)' -->`

fill_figures.py [--check] [FILE...]: --check writes nothing and exits 1 when a block is not up to date. Of the outputs
of programs, whose numbers depend on the machine, only the names of the families are compared, and only where
build/dev/bin holds the program. Without FILEs: README.md, bench/README.md,
docs/*.md and the families' pages.
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys

import bench_figures
import drop_in_figures
import exchange_figures
import lab_figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "build/dev/bin"
BLOCK = re.compile(r"(<!-- figures: (\w+) (.*?) -->\n)(.*?)(<!-- /figures -->)", re.S)


def missing(path) -> str:
    return f"Not measured yet: `{path}` is not there.\n"


def bench_block(kind: str, argument: str) -> str:
    result = bench_figures.load(argument)
    return bench_figures.KINDS[kind](result) if result else missing(argument)


def rows_block(argument: str) -> str:
    files, names = argument.split(": ")
    result = bench_figures.load(files)
    return bench_figures.rows(result, names.split()) if result else missing(files)


def kernels_block(argument: str) -> str:
    files, family = argument.split(": ")
    result = bench_figures.load(files)
    return bench_figures.kernels(result, family) if result else missing(files)


def lab_block(kind: str, argument: str) -> str:
    file, *rest = argument.split()
    path = ROOT / file
    return lab_figures.KINDS[kind](json.loads(path.read_text()), *rest) if path.exists() else missing(file)


def drop_in_block(kind: str, argument: str) -> str:
    paths = [ROOT / file for file in argument.split()]
    absent = [path for path in paths if not path.exists()]
    return missing(absent[0]) if absent else drop_in_figures.KINDS[kind](*(json.loads(path.read_text()) for path in paths))


def output_of(program: str, *arguments: str) -> str:
    return subprocess.run([PROGRAMS / program, *arguments], check=True, capture_output=True, text=True).stdout


def families_in(explained: str) -> set:
    """The families that a text of `restride explain` has a line for; their order may differ from machine to machine."""
    return set(re.findall(r"^(?:chosen|others|      ) {5}(\S+) ", explained, re.M))


def without_refusals(explained: str) -> str:
    """Without the kernels that do not apply, and why, which takes more room than a first page has."""
    return re.sub(r"^do not apply\n(?: +.*\n)+", "do not apply  ...\n", explained, flags=re.M)


def output_block(heading: str, program: str, arguments: list, old: str, check: bool) -> str:
    """What a program prints. To check: the block as it stands, or as it would be where other families are in it."""
    old = old[old.rfind("```\n", 0, -4):]
    if check and not (PROGRAMS / program).exists():
        return old
    output = output_of(program, *arguments)
    new = f"```\n{heading}{output if heading else without_refusals(output)}```\n"
    return old if check and families_in(new) == families_in(old) else new


def block(kind: str, argument: str, old: str, check: bool) -> str:
    """What a block shall hold."""
    if kind == "explain":
        return output_block(f"$ restride explain {argument}\n", "restride", ["explain", *shlex.split(argument)], old, check)
    if kind == "program":
        source = (ROOT / f"examples/{argument}.cc").read_text()
        return f"```cpp\n{source}```\n" + output_block("", f"example_{argument}", [], old, check)
    if kind in drop_in_figures.KINDS:
        return drop_in_block(kind, argument)
    if kind == "rows":
        return rows_block(argument)
    if kind == "kernels":
        return kernels_block(argument)
    if kind == "exchange":
        return exchange_figures.table(ROOT / argument)
    if kind == "gpus":
        return exchange_figures.on_gpus(str(ROOT / argument))
    if kind == "planning":
        return exchange_figures.planning(ROOT / argument)
    return lab_block(kind, argument) if kind in lab_figures.KINDS else bench_block(kind, argument)


def filled(text: str, check: bool) -> str:
    return BLOCK.sub(lambda match: match[1] + block(match[2], match[3], match[4], check) + match[5], text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    stale = 0
    for path in args.files or [ROOT / "README.md", ROOT / "bench/README.md", *sorted((ROOT / "docs").glob("*.md")),
                               *sorted(ROOT.glob("src/c*/*/README.md"))]:
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
