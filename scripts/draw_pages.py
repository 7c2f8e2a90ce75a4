#!/usr/bin/env python3
"""The drawings of the CUDA families' pages, made by `restride explain --svg` for a model GPU.

  scripts/draw_pages.py RESTRIDE            writes them beside the pages
  scripts/draw_pages.py --check RESTRIDE    exit status 1 where one is not what the command draws now, or no page shows it

Plans for the CPU depend on the machine that makes them, so the CPU families' pages keep drawings in text.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Page's folder, drawing, kernel, copy.
DRAWINGS = [
    ("src/cuda/rows", "words.svg", "rows/words", "u8 (40,300):(320,1)@5 -> (0,1)"),
    ("src/cuda/tile", "aligned.svg", "tile/aligned", "f32 (256,192) -> (1,0)"),
    ("src/cuda/tile", "unaligned.svg", "tile/unaligned", "f32 (257,255) -> (1,0)"),
    ("src/cuda/packed", "records.svg", "packed/records", "f32 (4000,4) -> (1,0)"),
    ("src/cuda/packed", "staged.svg", "packed/staged", "f32 (500,6,6) -> (0,2,1)"),
    ("src/cuda/gather", "units.svg", "gather/units", "f32 (12,10,8) -> (2,0,1)"),
]
MOST_BYTES = 120_000


def drawn(restride, kernel, what, path):
    # The model GPU, whatever this machine has, by the costs that the library brings.
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "RESTRIDE_MACHINE": ""}
    subprocess.run([restride, "explain", what, "--device", "cuda", "--family", kernel, "--svg", path], check=True, env=env)
    return path.read_bytes()


def main() -> int:
    check, restride = sys.argv[1] == "--check", sys.argv[-1]
    wrong = []
    for folder, name, kernel, what in DRAWINGS:
        target = ROOT / folder / name
        with tempfile.TemporaryDirectory() as place:
            new = drawn(restride, kernel, what, pathlib.Path(place) / name)
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
