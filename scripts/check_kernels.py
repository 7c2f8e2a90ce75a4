#!/usr/bin/env python3
"""Checks that a kernel's launch bounds hold on every GPU: the minimum of blocks is resident_blocks() (device.cuh), for
ptxas refuses more threads than a multiprocessor of the architecture has. And that each kernel of a registry (src/cuda/
kernels.cc, src/cpu/families.h) has a place on its family's page and a test of the family that names it. On CUDA also that
the source of its symbol includes a map, that such a map has its own test, and that tests/gpu/every_kernel.cc has a copy
that goes to it. Prints each breach; exit status 1 when there is one."""
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


KERNEL = re.compile(r'"([a-z]+/\w+)"')
HOMES = {"cuda": {"run": "rows"}}  # run has no folder there: its kernels are rows'


def kernels(engine: str, registry: str):
    file = ROOT / "src" / engine / registry
    return sorted(set(KERNEL.findall(file.read_text()))) if file.exists() else []


def on_page(name: str, text: str) -> bool:
    """By its whole name, or in a list that begins with one of its family: "tile/aligned, /registers"."""
    return re.search(rf"\b{name}\b|[ `,]/{name.split('/')[1]}\b", text) is not None


def included(file: pathlib.Path, folder: pathlib.Path):
    """The files of a folder that one of them includes, at any remove."""
    found, open_ = set(), [file]
    while open_:
        for target in re.findall(r'#include "([^"]+)"', open_.pop().read_text()):
            path = ROOT / target
            if path.parent == folder and path not in found and path.exists():
                found.add(path)
                open_.append(path)
    return found


def lacks_on_cuda(name: str, folder: pathlib.Path, tests: pathlib.Path):
    if f'{{"{name} ' not in (ROOT / "tests/gpu/every_kernel.cc").read_text():
        yield "tests/gpu/every_kernel.cc has no copy that goes to it"
    symbol = f"{folder.name}_{name.split('/')[1]}_kernel"
    source = [f for f in folder.glob("*.cu") if re.search(rf"\b{symbol}\(", f.read_text())]
    if not source:
        yield f"no {symbol} in {folder.relative_to(ROOT)}"
        return
    maps = [path for path in included(source[0], folder) if path.name.endswith("map.h")]
    if not maps:
        yield f"{source[0].relative_to(ROOT)} includes no map"
    elif not any((tests / f"{path.stem}_test.cc").exists() for path in maps):
        yield f"no test of {', '.join(sorted(path.name for path in maps))} in {tests.relative_to(ROOT)}"


def lacks(engine: str, name: str):
    family, kernel = name.split("/")
    home = HOMES.get(engine, {}).get(family, family)
    folder, tests = ROOT / "src" / engine / home, ROOT / "tests" / engine / home
    page = folder / "README.md"
    if not page.exists() or not on_page(name, page.read_text()):
        yield f"{page.relative_to(ROOT)} does not name it"
    if not any(f'"{home}/{kernel}"' in test.read_text() for test in tests.glob("*_test.cc")):
        yield f"no test in {tests.relative_to(ROOT)} names {home}/{kernel}"
    if engine == "cuda":
        yield from lacks_on_cuda(name, folder, tests)


def main() -> int:
    files = sorted(p for top in ("src", "lab", "tests") for p in (ROOT / top).rglob("*.cu*"))
    found = [line for file in files for line in breaches(file)]
    rows = [(engine, name) for engine, file in (("cuda", "kernels.cc"), ("cpu", "families.h"))
            for name in kernels(engine, file)]
    found += [f"{engine} {name}: {what}" for engine, name in rows for what in lacks(engine, name)]
    for line in found:
        print(line)
    print(f"kernels: {len(rows)} in the registries, launch bounds of {len(files)} files, {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
