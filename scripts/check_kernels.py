#!/usr/bin/env python3
"""Checks that a kernel's launch bounds hold on every GPU: the minimum of blocks is resident_blocks() (device.cuh), for
ptxas refuses more threads than a multiprocessor of the architecture has. Prints each breach; exit status 1 when there
is one."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOUNDS = re.compile(r"__launch_bounds__\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")
TOP_COMMA = re.compile(r"^((?:[^(),]|\([^()]*\))*),(.*)$", re.S)


def breaches(file: pathlib.Path):
    text = file.read_text()
    for match in BOUNDS.finditer(text):
        both = TOP_COMMA.match(match.group(1))
        if both and "resident_blocks(" not in both.group(2):
            line = text[: match.start()].count("\n") + 1
            yield f"{file.relative_to(ROOT)}:{line}: a minimum of blocks that is not by resident_blocks(threads, blocks)"


def main() -> int:
    files = sorted(p for top in ("src", "lab", "tests") for p in (ROOT / top).rglob("*.cu*"))
    found = [line for file in files for line in breaches(file)]
    for line in found:
        print(line)
    print(f"launch bounds: {len(files)} files, {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
