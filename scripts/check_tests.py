#!/usr/bin/env python3
"""Checks that the test of a source is found by its path: tests/cpu/tile/prepare_test.cc tests src/cpu/tile/prepare.cc,
and tests/tools/io/npy_test.cc tests tools/io/npy.cc. A source that is tested elsewhere has a line in tests/elsewhere.txt
that says where. Prints each source that has neither, and each line that has become needless; exit status 1 then.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = {".cc", ".cu"}


def sources():
    for top in ("src", "tools"):
        for file in sorted((ROOT / top).rglob("*")):
            if file.suffix in SOURCES:
                yield file.relative_to(ROOT)


def tests_of(source: pathlib.Path):
    below = source.relative_to("src") if source.parts[0] == "src" else source
    for suffix in (".cc", ".cu", ".py"):
        yield ROOT / "tests" / below.parent / f"{below.stem}_test{suffix}"


def elsewhere():
    """Source, or folder/*, and where it is tested."""
    lines = {}
    for line in (ROOT / "tests" / "elsewhere.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            source, _, where = line.partition(":")
            lines[source.strip()] = where.strip()
    return lines


def main() -> int:
    lines = elsewhere()
    found, used = [], set()
    files = list(sources())
    for source in files:
        has_test = any(test.exists() for test in tests_of(source))
        named = next((key for key in (source.as_posix(), f"{source.parent.as_posix()}/*") if key in lines), None)
        if named and not (has_test and named == source.as_posix()):
            used.add(named)
        if not has_test and not named:
            found.append(f"{source}: no {next(tests_of(source)).relative_to(ROOT)}, and no line in tests/elsewhere.txt")
    for source, where in lines.items():
        if source not in used:
            found.append(f"tests/elsewhere.txt: {source} is not there, or has its test at its path")
        for test in where.split():
            if not (ROOT / "tests" / test).exists():
                found.append(f"tests/elsewhere.txt: {source}: there is no tests/{test}")
    for line in found:
        print(line)
    print(f"tests: {len(files)} sources, {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
