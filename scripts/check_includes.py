#!/usr/bin/env python3
"""Checks that includes point one way: base <- layout <- plan <- cpu, cuda <- api <- distributed.

A file may include its own folder and those before it; the two engines know nothing of each other. Public headers include
public headers only. In src/ CUDA's headers are included by *.cu, *.cuh and cuda/runtime alone, so that all else builds
without a CUDA compiler. Prints each breach; exit status 1 when there is one.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANK = {"base": 0, "layout": 1, "plan": 2, "cpu": 3, "cuda": 3, "api": 4, "distributed": 5}
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
        device_code = own.suffix in (".cu", ".cuh") or own.parts[1:3] == ("cuda", "runtime")
        if CUDA_HEADERS.match(target) and not device_code:
            yield f"{own}:{line}: {target} outside *.cu, *.cuh and cuda/runtime"
        if target.endswith(".cuh") and not device_code:
            yield f"{own}:{line}: {target}, which is device code, outside *.cu, *.cuh and cuda/runtime"
        to = folder_of(target.removeprefix("src/"))
        if to in RANK and area in RANK and to != area and RANK[to] >= RANK[area]:
            yield f"{own}:{line}: {area} includes {target}, but {to} does not stand below {area}"


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
