#!/usr/bin/env python3
"""torch's copies with and without restride under them, in turns, layout by layout.

Usage: python/torch/bench/layouts.py [--device cpu] [--threads 1] [--cases FILE ...] [--reps 7] [--max-mib N] [--json OUT]

Every output is compared first. `warm` copies into memory that was written before, through buffers that do not fit the
caches; `fresh` makes its destination each time, as contiguous() does. A ratio is torch's time over ours, of medians; the two
take turns repetition by repetition, so that a machine that is busy or changes its clock is so for both.
"""
import argparse
import json
import math
import pathlib
import platform
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]
import peers_torch as peers  # noqa: E402
import result_file  # noqa: E402
import restride.torch  # noqa: E402
import torch  # noqa: E402

NEVER = 2**60  # min_bytes with which everything is left to torch


def warm(view, out):
    out.copy_(view)


def fresh(view, out):
    torch.empty(out.shape, dtype=out.dtype, device=out.device).copy_(view)


def measure(case, device, reps):
    problem = peers.Problem(case, device)
    if problem.flips:
        raise peers.Unsupported("torch flips by another operator")
    if problem.out.dim() > 25:
        raise peers.Unsupported("more than 25 modes")
    row = {"name": case["name"], "bytes": problem.view.nbytes + problem.out.nbytes}
    restride.torch.enable(min_bytes=restride.torch.MIN_BYTES)
    restride.torch.stats(reset=True)
    problem.out.copy_(problem.view)
    row["taken"] = restride.torch.stats().taken == 1
    if not problem.right(problem.out):
        raise ValueError("wrong output")
    for name, run, pairs in (("warm", warm, peers.rotation(problem)), ("fresh", fresh, [(problem.view, problem.out)])):
        times = {"torch": [], "restride": []}
        for _ in range(reps):
            for who, least in (("torch", NEVER), ("restride", restride.torch.MIN_BYTES)):
                restride.torch.enable(min_bytes=least)
                times[who].append(peers.seconds_torch(run, pairs, 1))
        seconds = {who: statistics.median(found) for who, found in times.items()}
        row[f"{name}_ratio"] = round(seconds["torch"] / seconds["restride"], 3)
        row[f"{name}_us"] = round(seconds["restride"] * 1e6, 2)
    return row


def mean(rows, key):
    return round(math.exp(statistics.fmean(math.log(row[key]) for row in rows)), 3) if rows else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cases", action="append", default=[])
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("--max-mib", type=float, default=math.inf)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    cases = peers.load_cases(arguments.cases or [pathlib.Path(__file__).parent / "torch_layouts.json"])
    if arguments.device == "cuda":
        peers.warm_up("cuda")
    rows = []
    for case in cases.values():
        try:
            size = math.prod(case["shape"]) * torch.empty((), dtype=peers.DTYPES.get(case["src"], torch.uint8)).element_size()
            if size > arguments.max_mib * 2**20:
                continue
            row = measure(case, arguments.device, arguments.reps)
        except peers.Unsupported as error:
            print(f"{case['name']:<32} {error}", flush=True)
            continue
        rows.append(row)
        print(f"{row['name']:<32} warm {row['warm_ratio']:7.3f}  fresh {row['fresh_ratio']:7.3f}  {row['warm_us']:10.1f} us"
              f"{'' if row['taken'] else '  left to torch'}", flush=True)  # fmt: skip
    taken = [row for row in rows if row["taken"]]
    summary = {key: {"mean_of_taken": mean(taken, key), "worst": min((r[key] for r in rows), default=None)}
               for key in ("warm_ratio", "fresh_ratio")}  # fmt: skip
    print(json.dumps(summary))
    if arguments.json:
        where = torch.cuda.get_device_name() if arguments.device == "cuda" else platform.processor() or platform.machine()
        if arguments.device == "cpu":
            where = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), where)
        result = {"device": where, "threads": arguments.threads, "torch": torch.__version__, "restride": restride.__version__,
                  "command": " ".join(["python/torch/bench/layouts.py", *sys.argv[1:]]), "summary": summary, "cases": rows}  # fmt: skip
        arguments.json.write_text(result_file.text(result) + "\n")


if __name__ == "__main__":
    main()
