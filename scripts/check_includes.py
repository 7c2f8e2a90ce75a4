#!/usr/bin/env python3
"""Checks that includes point one way: base <- layout <- maps <- plan <- kernels <- launch <- api.

A file may include its own folder and those before it. Public headers include public headers only.
Only kernels/cuda, launch and the lab may include CUDA's headers. Prints each breach; exit status 1 when there is one.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ORDER = ["base", "layout", "maps", "plan", "kernels", "launch", "api"]
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
CUDA_HEADERS = re.compile(r"^(cuda|cooperative_groups|cub/|thrust/|nv/)")
SOURCES = {".h", ".hpp", ".cc", ".cu", ".cuh", ".c"}


def folder_of(path: str) -> str:
    return path.split("/")[0]


def breaches(file: pathlib.Path):
    text = file.read_text()
    own = file.relative_to(ROOT)
    public = own.parts[0] == "include"
    area = own.parts[1] if own.parts[0] == "src" else None
    for match in INCLUDE.finditer(text):
        target = match.group(2)
        line = text[: match.start()].count("\n") + 1
        if public and match.group(1) == '"':
            yield f"{own}:{line}: a public header includes {target}; it may include only <restride/...>"
        if area is None:
            continue
        if CUDA_HEADERS.match(target) and not (area == "launch" or own.parts[1:3] == ("kernels", "cuda")):
            yield f"{own}:{line}: {target} outside kernels/cuda and launch"
        to = folder_of(target.removeprefix("src/"))
        if to in ORDER and area in ORDER and ORDER.index(to) > ORDER.index(area):
            yield f"{own}:{line}: {area} includes {target}, but {to} stands above {area}"


def main() -> int:
    found = []
    files = [p for top in ("include", "src") for p in sorted((ROOT / top).rglob("*")) if p.suffix in SOURCES]
    for file in files:
        found += breaches(file)
    for line in found:
        print(line)
    print(f"includes: {len(files)} files, {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
