#!/usr/bin/env python3
"""Copies by one and by two threads in a process whose PyTorch or NumPy has a pool of threads, which is at work.

Usage: bench/pools.py [--only GLOB] [--seconds 1.5] [--json OUT]

Layouts are those of cases/sizes.json, warm where the caches hold them. `alone`: no pool is at work. `after torch`,
`after numpy`: each copy follows a product of matrices on the same thread, so the pool's threads may still look out for
more. `beside torch`, `beside numpy`: another thread multiplies matrices without a pause, on as many threads as there are
cores. One thread of ours and two take turns, call by call and without a pause; torch's copy_ (on its pool) comes behind
them. Medians and 95th percentiles of at least 40 calls.
Every output is compared before it is timed. A row is short where two threads take more than 1.3 times one thread's
median, or more than 3 times its 95th percentile.
"""
import argparse
import contextlib
import datetime
import fnmatch
import json
import math
import os
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np
import torch

import restride

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts")]
import result_file  # noqa: E402

STATES = ["alone", "after torch", "beside torch", "after numpy", "beside numpy"]
WAYS = ["one", "two", "torch"]
MEDIAN_BAR, TAIL_BAR = 1.3, 3.0
LEAST_SAMPLES = 40


def layouts(only):
    """Name, source and a dense destination of each case of cases/sizes.json."""
    random = np.random.default_rng(7)
    for case in json.loads((ROOT / "bench/cases/sizes.json").read_text())["cases"]:
        if not fnmatch.fnmatch(case["name"], only):
            continue
        whole = random.random(case["shape"]).astype({"f32": "f4", "f64": "f8"}[case.get("src", "f32")])
        src = whole[tuple(slice(*map(int, part.split(":"))) for part in case.get("slice", []))]
        src = src.transpose(case.get("axes", range(src.ndim)))
        yield case["name"], src, np.zeros(src.shape, src.dtype)


def product(pool, side):
    """A product of two matrices by a pool; called again and again it asks Python for no memory."""
    if pool == "torch":
        a, b, c = torch.rand(side, side), torch.rand(side, side), torch.empty(side, side)
        return lambda: torch.mm(a, b, out=c)
    a, b, c = (np.ones((side, side), "f4") for _ in range(3))
    return lambda: np.matmul(a, b, out=c)


@contextlib.contextmanager
def at_work(state):
    """Keeps a pool at work; gives what to call before each copy, and the cores that the pool takes."""
    where, _, pool = state.partition(" ")
    if where != "beside":
        yield product(pool, 192) if pool else (lambda: None), 0.0
        return
    stop, work = threading.Event(), product(pool, 1024)

    def loop():
        while not stop.is_set():
            work()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        time.sleep(0.1)
        cpu, wall = time.process_time(), time.perf_counter()
        time.sleep(0.4)
        yield lambda: None, (time.process_time() - cpu) / (time.perf_counter() - wall)
    finally:
        stop.set()
        thread.join()


def quantile(samples, q):
    return sorted(samples)[min(len(samples) - 1, int(q * len(samples)))]


def measured(name, src, dst, state, seconds):
    plans = {"one": restride.plan(dst, src, threads=1), "two": restride.plan(dst, src, threads=2)}
    to, of = torch.from_numpy(dst), torch.from_numpy(src)
    run = {way: (lambda p=plan: p.run(dst, src)) for way, plan in plans.items()} | {"torch": lambda: to.copy_(of)}
    samples = {way: [] for way in WAYS}
    with at_work(state) as (before, cores):
        for way in WAYS:
            dst.fill(0)
            run[way]()
            if not np.array_equal(dst, src):
                sys.exit(f"wrong values in {name}, {way}; nothing is timed until the copy is mended")
        for turn in (["one", "two", "two", "one"], ["torch"]):  # torch's apart: its threads look out for more after it
            end = time.perf_counter() + seconds * len(turn) / 5
            while True:
                for way in turn:
                    before()
                    start = time.perf_counter_ns()
                    run[way]()
                    samples[way].append(time.perf_counter_ns() - start)
                if len(samples[turn[0]]) >= LEAST_SAMPLES and time.perf_counter() > end:
                    break
    row = {"name": name, "state": state, "bytes": dst.nbytes, "kernel": plans["two"].kernel,
           "plan_threads": plans["two"].threads, "pool_cores": round(cores, 2), "samples": len(samples["one"])}  # fmt: skip
    for way in WAYS:
        row |= {f"{way}_ns": round(quantile(samples[way], 0.5)), f"{way}_p95_ns": round(quantile(samples[way], 0.95))}
    return row


def is_short(row):
    return row["two_ns"] > MEDIAN_BAR * row["one_ns"] or row["two_p95_ns"] > TAIL_BAR * row["one_p95_ns"]


def summary(rows):
    for state in STATES:
        of = [row for row in rows if row["state"] == state]
        if not of:
            continue
        ratios = {key: [row[key] / row[by] for row in of] for key, by in
                  (("two_ns", "one_ns"), ("two_p95_ns", "one_p95_ns"), ("torch_ns", "two_ns"), ("torch_p95_ns", "two_p95_ns"))}  # fmt: skip
        mean = {key: round(math.exp(sum(map(math.log, values)) / len(values)), 3) for key, values in ratios.items()}
        yield {"state": state, "cases": len(of), "short": sum(map(is_short, of)), "two_over_one": mean["two_ns"],
               "worst_two_over_one": round(max(ratios["two_ns"]), 3), "p95_two_over_one": mean["two_p95_ns"],
               "worst_p95_two_over_one": round(max(ratios["two_p95_ns"]), 3), "torch_over_two": mean["torch_ns"],
               "p95_torch_over_two": mean["torch_p95_ns"]}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*")
    parser.add_argument("--seconds", type=float, default=1.5, help="of a row")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    torch.set_num_threads(cores)
    rows = []
    for name, src, dst in layouts(arguments.only):
        for state in STATES:
            rows.append(measured(name, src, dst, state, arguments.seconds))
            print("{name:<18} {state:<13} one {one_ns:>10} {one_p95_ns:>10}  two {two_ns:>10} {two_p95_ns:>10}  torch "
                  "{torch_ns:>10} {torch_p95_ns:>10}".format(**rows[-1]), "short" * is_short(rows[-1]), flush=True)  # fmt: skip
    sums = list(summary(rows))
    for row in sums:
        print(*(f"{key} {value}" for key, value in row.items()), sep="  ")
    if arguments.json:
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
        commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
        machine = {"cpu": cpu, "cores": cores, "date": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
                   "numpy": np.__version__, "torch": torch.__version__, "torch_threads": torch.get_num_threads(),
                   "blas": np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]}  # fmt: skip
        result = {"commit": commit.stdout.strip(), "command": " ".join(["bench/pools.py", *sys.argv[1:]]),
                  "machine": machine, "summary": sums, "rows": rows}  # fmt: skip
        arguments.json.write_text(result_file.text(result) + "\n")


if __name__ == "__main__":
    main()
