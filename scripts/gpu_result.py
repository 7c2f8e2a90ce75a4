#!/usr/bin/env python3
"""Writes what scripts/gpu_test.sh saw: bench/results/gpu-test-DEVICE.json with device, driver, commit and command."""
import argparse
import datetime
import json
import pathlib
import re
import subprocess

import result_file


def tests_of(path: pathlib.Path) -> list:
    """One row a test: name, outcome, seconds, and the counts that the test recorded."""
    text = path.read_text()
    if not text:
        return []
    known = {"name", "file", "line", "status", "result", "timestamp", "time", "classname", "failures", "skipped"}
    rows = []
    for suite in json.loads(text)["testsuites"]:
        for test in suite["testsuite"]:
            outcome = "failed" if test.get("failures") else "skipped" if test["result"] == "SKIPPED" else "passed"
            row = {"test": f"{suite['name']}.{test['name']}", "outcome": outcome, "seconds": float(test["time"].rstrip("s"))}
            row.update({k: v for k, v in test.items() if k not in known})
            rows.append(row)
    return rows


def sanitizer(line: str) -> dict:
    """What a tool found, and the kernels that ran under it."""
    tool, outcome, planted, tests = line.split("\t")
    path = pathlib.Path(tests)
    ran = [kernel for test in tests_of(path) for kernel in test.get("kernels", "").split(", ") if kernel] if path.exists() else []
    return {"tool": tool, "tests": outcome, "planted_fault": planted, "kernels": len(ran), "kernels_run": ", ".join(ran)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("device", "tests", "tools", "out"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    for name in ("commit", "command"):
        parser.add_argument(f"--{name}", required=True)
    a = parser.parse_args()
    first = re.search(r"^cuda:0 +(.+), sm_(\d+), (\d+) MiB; driver serves CUDA (\d+), built with CUDA (\d+) for (.+)$", a.device.read_text(), re.M)
    result = {
        "device": first[1],
        "compute_capability": f"sm_{first[2]}",
        "memory_mib": int(first[3]),
        "driver": driver_version(),
        "driver_serves_cuda": int(first[4]),
        "built_with_cuda": int(first[5]),
        "architectures": first[6],
        "commit": a.commit,
        "command": a.command,
        "date": datetime.date.today().isoformat(),
        "tests": tests_of(a.tests),
        "sanitizers": [sanitizer(line) for line in a.tools.read_text().splitlines()],
    }
    a.out.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", first[1].lower()).strip("-")
    path = a.out / f"gpu-test-{name}.json"
    path.write_text(result_file.text(result) + "\n")
    print(f"wrote {path}")


def driver_version() -> str:
    """The driver's version, by nvidia-smi."""
    try:
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


if __name__ == "__main__":
    main()
