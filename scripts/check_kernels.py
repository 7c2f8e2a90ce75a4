#!/usr/bin/env python3
"""Checks that a kernel's launch bounds hold on every GPU: the minimum of blocks is resident_blocks() (device.cuh), for
ptxas refuses more threads than a multiprocessor of the architecture has. And that a kernel of a registry (src/cuda/
kernels.cc, src/cpu/families.cc) is found: a map (CUDA), a test in its family's folder, a place on its family's page, and
a copy that goes to it (CUDA: tests/gpu/every_kernel.cc). Prints each breach; exit status 1 when there is one."""
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


KERNEL = re.compile(r'"((?:run|rows|tile|packed|buffered|channels|gather)/\w+)"')
HOMES = {"cuda": {"run": "rows"}}  # run has no folder there: its kernels are rows'


def kernels(engine: str, registry: str):
    file = ROOT / "src" / engine / registry
    return sorted(set(KERNEL.findall(file.read_text()))) if file.exists() else []


def on_page(name: str, text: str) -> bool:
    """By its whole name, or in a list that begins with one of its family: "tile/aligned, /registers"."""
    return re.search(rf"\b{name}\b|[ `,]/{name.split('/')[1]}\b", text) is not None


def lacks(engine: str, name: str):
    family = HOMES.get(engine, {}).get(name.split("/")[0], name.split("/")[0])
    folder, tests = ROOT / "src" / engine / family, ROOT / "tests" / engine / family
    page = folder / "README.md"
    if not page.exists() or not on_page(name, page.read_text()):
        yield f"{page.relative_to(ROOT)} does not name it"
    if not any(tests.glob("*_test.cc")):
        yield f"no test in {tests.relative_to(ROOT)}"
    if engine == "cuda":
        if not any(folder.glob("*map.h")):
            yield f"no map in {folder.relative_to(ROOT)}"
        if f'{{"{name} ' not in (ROOT / "tests/gpu/every_kernel.cc").read_text():
            yield "tests/gpu/every_kernel.cc has no copy that goes to it"
        symbol = f"{family}_{name.split('/')[1]}_kernel"
        if not any(re.search(rf"\b{symbol}\(", f.read_text()) for f in folder.glob("*.cu")):
            yield f"no {symbol} in {folder.relative_to(ROOT)}"


def main() -> int:
    files = sorted(p for top in ("src", "lab", "tests") for p in (ROOT / top).rglob("*.cu*"))
    found = [line for file in files for line in breaches(file)]
    rows = [(engine, name) for engine, file in (("cuda", "kernels.cc"), ("cpu", "families.cc"))
            for name in kernels(engine, file)]
    found += [f"{engine} {name}: {what}" for engine, name in rows for what in lacks(engine, name)]
    for line in found:
        print(line)
    print(f"kernels: {len(rows)} in the registries, launch bounds of {len(files)} files, {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
