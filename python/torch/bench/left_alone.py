#!/usr/bin/env python3
"""What a call of copy_ that restride leaves to torch costs more with it: nanoseconds, by calls in turns with it on and off.

Usage: python/torch/bench/left_alone.py [--json OUT]
"""
import argparse
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts")]
import result_file  # noqa: E402
import restride.torch  # noqa: E402
import torch  # noqa: E402

SMALL = torch.rand(16, 16)
PLAIN = torch.rand(64, 128)
CASES = {
    "small, transposed": (torch.empty(16, 16), SMALL.T),
    "small, plain": (torch.empty(16, 16), SMALL),
    "plain, 32 KiB": (torch.empty(64, 128), PLAIN),
    "broadcast": (torch.empty(64, 128), PLAIN[0]),
    "floats to integers, 32 KiB": (torch.empty(64, 128, dtype=torch.int32), PLAIN),
}


def nanoseconds(dst, src, calls):
    start = time.perf_counter_ns()
    for _ in range(calls):
        dst.copy_(src)
    return (time.perf_counter_ns() - start) / calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name, (dst, src) in CASES.items():
        alone, beside = [], []
        for _ in range(41):
            restride.torch.disable()
            alone.append(nanoseconds(dst, src, 2000))
            restride.torch.enable()
            beside.append(nanoseconds(dst, src, 2000))
        more = statistics.median(b - a for a, b in zip(alone, beside))
        rows.append({"name": name, "torch_ns": round(statistics.median(alone)), "more_ns": round(more, 1)})
        print("{name:<28} {torch_ns:6} ns by torch, {more_ns:+6.1f} ns with restride".format(**rows[-1]), flush=True)
    if arguments.json:
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
        result = {"device": cpu, "threads": 1, "torch": torch.__version__, "restride": restride.__version__,
                  "command": " ".join(["python/torch/bench/left_alone.py", *sys.argv[1:]]), "calls": rows}  # fmt: skip
        arguments.json.write_text(result_file.text(result) + "\n")


if __name__ == "__main__":
    main()
