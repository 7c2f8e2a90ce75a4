#!/usr/bin/env python3
"""The drawings of the families' pages, made by `restride explain --svg` for models of processors.

  scripts/draw_pages.py RESTRIDE            writes them beside the pages
  scripts/draw_pages.py --check RESTRIDE    exit status 1 where one is not what the command draws now

A comment in the line before the picture says what is drawn: <!-- drawn: MODEL KERNEL: LAYOUT -> AXES -->. A model plans
and draws the same on every machine, whatever that machine's own numbers and instruction set are.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

DRAWN = re.compile(r"^<!-- drawn: (?P<model>\S+) (?P<kernel>\S+): (?P<what>.+) -->\n"
                   r"!\[[^]]*\]\((?P<name>[^)]+\.svg)\)$", re.M)
MOST_BYTES = 120_000


def drawn(restride, model, kernel, what, path):
    subprocess.run([restride, "explain", what, "--model", model, "--threads", "1", "--family", kernel, "--svg", path],
                   check=True, env={**os.environ, "RESTRIDE_MACHINE": ""})
    return path.read_bytes()


def main() -> int:
    check, restride = sys.argv[1] == "--check", sys.argv[-1]
    wrong = []
    drawings = [(page, found) for page in sorted(ROOT.glob("src/*/*/README.md"))
                for found in DRAWN.finditer(page.read_text())]
    for page, found in drawings:
        target = page.parent / found["name"]
        with tempfile.TemporaryDirectory() as place:
            new = drawn(restride, found["model"], found["kernel"], found["what"], pathlib.Path(place) / found["name"])
        if not check:
            target.write_bytes(new)
        elif not target.exists() or target.read_bytes() != new:
            wrong.append(f"{target.relative_to(ROOT)} is not what the command draws; run scripts/draw_pages.py")
        if len(new) > MOST_BYTES:
            wrong.append(f"{target.relative_to(ROOT)} has {len(new)} bytes, more than {MOST_BYTES}")
    told = {page.parent / found["name"] for page, found in drawings}
    wrong += [f"{svg.relative_to(ROOT)} is drawn by no comment on its page"
              for svg in sorted(ROOT.glob("src/*/*/*.svg")) if svg not in told]
    wrong += [f"{page.relative_to(ROOT)}: a comment that says what is drawn has no picture in the next line"
              for page in sorted(ROOT.glob("src/*/*/README.md"))
              if page.read_text().count("<!-- drawn:") != sum(of == page for of, _ in drawings)]
    for line in wrong:
        print(line)
    print(f"drawings: {len(drawings)}, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
