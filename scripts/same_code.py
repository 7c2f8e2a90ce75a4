#!/usr/bin/env python3
"""Shows that two builds hold the same machine code: scripts/same_code.py BEFORE AFTER

BEFORE and AFTER are build folders, or single object files or libraries. Every function of every object is disassembled,
GPU kernels for every architecture among them (with cuobjdump, where an object holds any). What a move of files and names
changes is normalised: names of symbols, relocations to them, addresses, strings (which hold paths). Functions are then
compared as a multiset of bodies, so that they may change places among objects. Prints what only one side has, by name;
exit status 1 when there is any.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

FUNCTION = re.compile(r"^(?:[0-9a-f]+ )?<(.+)>:$")
REFERENCE = re.compile(r"<([^<>]*(?:<[^<>]*>)*[^<>]*?)(\+0x[0-9a-f]+)?>")
RELOCATION = re.compile(r"^\s*(?:[0-9a-f]+:\s*)?(R_[A-Z0-9_]+)\s+(\S+?)([-+]0x[0-9a-f]+)?$")
SASS_FUNCTION = re.compile(r"^\s*Function : (\S+)")
SASS_ARCH = re.compile(r"^arch = (\S+)")
SASS_NOISE = re.compile(r"/\*[0-9a-f]{4,}\*/")
# In-class names of a linker's making differ with the name that they are made from.
LOCAL_SUFFIX = re.compile(r"\.(?:isra|part|constprop|cold|lto_priv)[.\d]*")


def objects_of(path: pathlib.Path):
    """The library's objects of a build folder, or the file itself."""
    if path.is_file():
        return [path]
    found = sorted((path / "src").rglob("*.o"))
    if not found:
        sys.exit(f"{path} holds no objects under src/; build the target restride there first")
    return found


def run(*command) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout


def host_functions(file: pathlib.Path):
    """(name, normalised instructions) of each function."""
    text = run("objdump", "-dr", "--no-show-raw-insn", "--no-addresses", str(file))
    name, body = None, []
    for line in text.splitlines():
        head = FUNCTION.match(line)
        if head:
            if name is not None:
                yield name, body
            name, body = head.group(1), []
        elif name is not None and line.strip() and not line.startswith("Disassembly"):
            body.append(normalised(line.strip(), name))
    if name is not None:
        yield name, body


def normalised(line: str, own: str) -> str:
    relocation = RELOCATION.match(line)
    if relocation:
        return relocation.group(1)  # the symbol, and how far behind a section's start it lies, are of the layout
    line = line.split("#")[0].rstrip()  # objdump's own remarks
    line = re.sub(r"-?0x[0-9a-f]+\(%rip\)", "(%rip)", line)  # how far away the symbol lies
    return REFERENCE.sub(lambda m: f"<self{m.group(2) or ''}>" if m.group(1) == own else "<symbol>", line)


def device_functions(file: pathlib.Path, cuobjdump: str):
    text = run(cuobjdump, "-sass", str(file))
    arch, name, body = "", None, []
    for line in text.splitlines():
        if (found := SASS_ARCH.match(line)) or SASS_FUNCTION.match(line):
            if name is not None:
                yield f"{arch}:{name}", body
            name, body = None, []
        if found:
            arch = found.group(1)
        elif head := SASS_FUNCTION.match(line):
            name = head.group(1)
        elif name is not None and line.strip():
            body.append(SASS_NOISE.sub("", line).strip().replace(name, "self"))
    if name is not None:
        yield f"{arch}:{name}", body


def padding(line: str) -> bool:
    """What fills the room up to the next function's start."""
    return bool(re.match(r"^(?:data16 |cs )*(?:nop|xchg\s+%ax,%ax)", line))


def digest(body) -> str:
    while body and padding(body[-1]):
        body.pop()
    return hashlib.sha256("\n".join(body).encode()).hexdigest()


def functions_of(path: pathlib.Path, cuobjdump: str):
    """By digest of the body: the names that have it."""
    def of_file(file):
        found = [(digest(body), name) for name, body in host_functions(file)]
        if ".cu" in file.name and cuobjdump:
            found += [(digest(body), name) for name, body in device_functions(file, cuobjdump)]
        return found

    by_digest = collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(of_file, objects_of(path)):
            for key, name in found:
                by_digest[key].append(name)
    return by_digest


def readable(name: str) -> str:
    arch, _, mangled = name.rpartition(":")
    plain = LOCAL_SUFFIX.sub("", mangled)
    return (arch + ": " if arch else "") + (subprocess.run(["c++filt", plain], capture_output=True, text=True).stdout.strip() or name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    args = parser.parse_args()
    cuobjdump = shutil.which("cuobjdump") or shutil.which("cuobjdump", path="/usr/local/cuda/bin") or ""
    before, after = functions_of(args.before, cuobjdump), functions_of(args.after, cuobjdump)
    different = 0
    for mine, other, side in ((before, after, "before"), (after, before, "after")):
        for key, names in mine.items():
            surplus = len(names) - len(other.get(key, ()))
            if surplus > 0:
                different += surplus
                for name in names[:surplus]:
                    print(f"only {side}: {readable(name)}")
    for side, functions in (("before", before), ("after", after)):
        names = [name for group in functions.values() for name in group]
        device = sum(name.startswith("sm_") for name in names)
        print(f"{side}: {len(names) - device} functions for the CPU, {device} for GPUs")
    print(f"different: {different}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
