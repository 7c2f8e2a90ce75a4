#!/usr/bin/env python3
"""The drawings of the families' pages, made by `restride explain --svg` for models of processors.

  scripts/draw_pages.py RESTRIDE            writes them beside the pages
  scripts/draw_pages.py --check RESTRIDE    exit status 1 where one is not what the command draws now, or no page shows it

A model plans and draws the same on every machine, whatever that machine's own numbers and instruction set are.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Page's folder, drawing, model, kernel, copy.
DRAWINGS = [
    ("src/cpu/run", "units.svg", "zen4", "run/units", "u8 (1000000) -> f32"),
    ("src/cpu/rows", "units.svg", "zen4", "rows/units", "u8 (40000,300):(320,1)@5 -> (0,1)"),
    ("src/cpu/tile", "units.svg", "zen4", "tile/units", "f32 (1024,4096) -> (1,0)"),
    ("src/cpu/packed", "staged.svg", "zen4", "packed/staged", "f32 (300,7,300,5) -> (2,1,0,3)"),
    ("src/cpu/buffered", "blocks.svg", "zen4", "buffered/blocks", "f64 (96,27,29,33,3) -> (4,2,3,0,1)"),
    ("src/cpu/channels", "split.svg", "zen4", "channels/split", "u8 (480,640,3) -> (2,0,1)"),
    ("src/cpu/gather", "units.svg", "zen4", "gather/units", "f32 (12,10,8) -> (2,0,1)"),
    ("src/cuda/rows", "words.svg", "h200", "rows/words", "u8 (40,300):(320,1)@5 -> (0,1)"),
    ("src/cuda/tile", "aligned.svg", "h200", "tile/aligned", "f32 (256,192) -> (1,0)"),
    ("src/cuda/tile", "unaligned.svg", "h200", "tile/unaligned", "f32 (257,255) -> (1,0)"),
    ("src/cuda/packed", "records.svg", "h200", "packed/records", "f32 (4000,4) -> (1,0)"),
    ("src/cuda/packed", "staged.svg", "h200", "packed/staged", "f32 (500,6,6) -> (0,2,1)"),
    ("src/cuda/gather", "units.svg", "h200", "gather/units", "f32 (12,10,8) -> (2,0,1)"),
]
MOST_BYTES = 120_000


def drawn(restride, model, kernel, what, path):
    subprocess.run([restride, "explain", what, "--model", model, "--threads", "1", "--family", kernel, "--svg", path],
                   check=True, env={**os.environ, "RESTRIDE_MACHINE": ""})
    return path.read_bytes()


def main() -> int:
    check, restride = sys.argv[1] == "--check", sys.argv[-1]
    wrong = []
    for folder, name, model, kernel, what in DRAWINGS:
        target = ROOT / folder / name
        with tempfile.TemporaryDirectory() as place:
            new = drawn(restride, model, kernel, what, pathlib.Path(place) / name)
        if not check:
            target.write_bytes(new)
        elif not target.exists() or target.read_bytes() != new:
            wrong.append(f"{target.relative_to(ROOT)} is not what the command draws; run scripts/draw_pages.py")
        if len(new) > MOST_BYTES:
            wrong.append(f"{target.relative_to(ROOT)} has {len(new)} bytes, more than {MOST_BYTES}")
        if f"({name})" not in (ROOT / folder / "README.md").read_text():
            wrong.append(f"{folder}/README.md does not show {name}")
    for line in wrong:
        print(line)
    print(f"drawings: {len(DRAWINGS)}, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
