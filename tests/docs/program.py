#!/usr/bin/env python3
"""The code of a page as a program.

  tests/docs/program.py cpp|c PAGE OUT    the fenced blocks of that language: lines of #include on top, the rest in main
  tests/docs/program.py sh PAGE           runs the page's blocks of sh in an empty folder; RESTRIDE is the command

Blocks of one page see what those before them declared. A page on which a block repeats an #include begins anew at each
second-level heading, so that every section can be taken by itself.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def sections(page, language):
    """[(heading, [(line, code)])] of the sections that have such blocks."""
    found, fence, start = [("", [])], None, 0
    code = []
    for number, line in enumerate((ROOT / page).read_text().split("\n"), 1):
        if fence is None and line.startswith("```"):
            fence, start, code = line.strip("`"), number, []
        elif fence is not None and line.startswith("```"):
            if fence == language:
                found[-1][1].append((start + 1, "\n".join(code)))
            fence = None
        elif fence is not None:
            code.append(line)
        elif line.startswith("## "):
            found.append((line[3:], []))
    return [(heading, blocks) for heading, blocks in found if blocks]


def program(page, language):
    parts = sections(page, language)
    if not parts:
        raise SystemExit(f"{page} has no code of {language}")
    includes, bodies = [], []
    for heading, blocks in parts:
        body = []
        for line, code in blocks:
            lines = code.split("\n")
            includes += [text for text in lines if text.startswith("#include")]
            body.append(f'#line {line} "{page}"\n' + "\n".join("" if text.startswith("#include") else text for text in lines))
        bodies.append((heading, "\n".join(body)))
    apart = len(includes) != len(set(includes))
    text = "#undef NDEBUG\n#include <assert.h>\n" + "\n".join(dict.fromkeys(includes)) + "\n"
    if not apart:
        return text + f"int main({'void' if language == 'c' else ''}) {{\n" + "\n".join(b for _, b in bodies) + "\n  return 0;\n}\n"
    names = [f"section_{i}" for i in range(len(bodies))]
    for name, (heading, body) in zip(names, bodies):
        text += f"// {heading}\nstatic void {name}() {{\n{body}\n}}\n"
    return text + "int main() {\n" + "".join(f"  {name}();\n" for name in names) + "}\n"


def run_commands(page):
    with tempfile.TemporaryDirectory() as folder:
        tools = pathlib.Path(folder) / "bin"
        tools.mkdir()
        (tools / "restride").symlink_to(os.environ["RESTRIDE"])
        env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "RESTRIDE_MACHINE": ""}
        for i, (heading, blocks) in enumerate(sections(page, "sh")):
            place = pathlib.Path(folder) / "files"
            place.mkdir(exist_ok=True)
            script = "set -euxo pipefail\n" + "\n".join(code for _, code in blocks)
            done = subprocess.run(["bash", "-c", script], cwd=place, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            print(f"== {page}, {heading}\n{done.stdout}")
            if done.returncode != 0:
                return 1
        shutil.rmtree(place)
    return 0


def main():
    language, page = sys.argv[1:3]
    if language == "sh":
        return run_commands(page)
    out = pathlib.Path(sys.argv[3])
    text = program(page, language)
    if not out.exists() or out.read_text() != text:
        out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
