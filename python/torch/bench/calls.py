#!/usr/bin/env python3
"""Host time of a call on two arrays of 16x16 floats, one of them transposed: nanoseconds, the least of several batches.

Usage: python/torch/bench/calls.py [--device cpu] [--json OUT]

On a GPU nothing is waited for within a batch, which is short, so that no call waits for room in the queue. `an empty
kernel` is torch.cuda._sleep(0), a launch and little else, for comparison.
"""
import argparse
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts")]
import result_file  # noqa: E402
import restride  # noqa: E402
import torch  # noqa: E402

BATCHES, CALLS = 50, {"cpu": 500, "cuda": 50}


def cases(device):
    a, b = torch.rand(16, 16, device=device), torch.rand(16, 16, device=device).T
    plan = restride.plan(a, b)
    if device == "cpu":
        x, y = a.numpy(), b.numpy()
        plan_of_numpy = restride.plan(x, y)
        yield "restride.copy, NumPy", lambda: restride.copy(x, y)
        yield "plan.run, NumPy", lambda: plan_of_numpy.run(x, y)
    yield "restride.copy, torch", lambda: restride.copy(a, b)
    yield "plan.run, torch", lambda: plan.run(a, b)
    yield "torch's copy_", lambda: a.copy_(b)
    yield "torch's fill_", lambda: a.fill_(0)
    if device == "cuda":
        yield "an empty kernel", lambda: torch.cuda._sleep(0)


def nanoseconds(call, device):
    least, calls = float("inf"), CALLS[device]
    for _ in range(BATCHES):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        least = min(least, (time.perf_counter_ns() - start) / calls)
    return round(least)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = {}
    for _ in range(3):  # in turns, for a machine is slower at one time than at another
        for name, call in cases(arguments.device):
            rows[name] = min(nanoseconds(call, arguments.device), rows.get(name, sys.maxsize))
    rows = [{"name": name, "ns": ns} for name, ns in rows.items()]
    for row in rows:
        print("{name:<24} {ns:6} ns".format(**row), flush=True)
    if arguments.json:
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
        result = {"device": torch.cuda.get_device_name() if arguments.device == "cuda" else cpu, "threads": 1,
                  "torch": torch.__version__, "restride": restride.__version__,
                  "command": " ".join(["python/torch/bench/calls.py", *sys.argv[1:]]), "costs": rows}  # fmt: skip
        arguments.json.write_text(result_file.text(result) + "\n")


if __name__ == "__main__":
    main()
