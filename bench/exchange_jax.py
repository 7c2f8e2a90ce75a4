#!/usr/bin/env python3
"""The exchanges of bench/exchange_torch.py by JAX, which compiles them: what `jit` makes of a transpose whose input and
output are sharded otherwise.

    export NCCL_NVLS_ENABLE=0
    bench/exchange_jax.py [--json FILE] [--mib 256] [--seconds 1] [--ranks 2] [--device cuda]

JAX drives all GPUs from one process, so it has a program of its own; run both on one machine and compare case by case.
Every result is compared with NumPy's before it is timed. A time is a call's, until every GPU is done, the median over
rounds. JAX cuts axes into equal parts only: others are said to be left out. `--device cpu` tries the program on virtual
devices; its times say nothing.
"""
import argparse
import json
import os
import statistics
import sys
import time

from exchange_cases import cases

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--json")
parser.add_argument("--mib", type=int, default=256, help="of a rank")
parser.add_argument("--seconds", type=float, default=1)
parser.add_argument("--ranks", type=int, default=2)
parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
args = parser.parse_args()
if os.environ.get("NCCL_NVLS_ENABLE") != "0":
    sys.exit("set NCCL_NVLS_ENABLE=0 first")
if args.device == "cpu":  # before JAX starts
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={args.ranks}"

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402


def along(axis: int, rank: int) -> PartitionSpec:
    return PartitionSpec(*("ranks" if a == axis else None for a in range(rank)))


def main() -> None:
    try:
        devices = jax.devices(args.device)
    except RuntimeError as e:
        sys.exit(f"nothing was measured: {e}")
    if len(devices) < args.ranks:
        sys.exit(f"{len(devices)} devices for {args.ranks} ranks: nothing was measured")
    mesh = Mesh(np.array(devices[: args.ranks]), ("ranks",))
    report = {}
    for case in cases(args.ranks, args.mib):
        rank = len(case.shape)
        if case.shape[case.before] % args.ranks or case.shape[case.after] % args.ranks:
            print(f"{case.name}: left out, JAX cuts axes into equal parts only")
            continue
        whole = np.random.default_rng(1).integers(0, 127, case.shape, dtype=np.int8).astype(case.dtype)
        x = jax.device_put(whole, NamedSharding(mesh, along(case.before, rank)))
        out = NamedSharding(mesh, along(case.order.index(case.after), rank))
        way = jax.jit(lambda x, order=case.order: x.transpose(order), out_shardings=out)
        assert np.array_equal(np.asarray(way(x)), whole.transpose(case.order)), f"{case.name}: a wrong result"
        times = []
        end = time.monotonic() + args.seconds
        while len(times) < 8 or time.monotonic() < end:
            jax.block_until_ready(x)
            started = time.perf_counter()
            jax.block_until_ready(way(x))
            times.append((time.perf_counter() - started) * 1e6)
        report[case.name] = {"JAX": round(statistics.median(times[2:]), 1)}
        print(f"{case.name}: JAX {report[case.name]['JAX']} us", flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"gpu": devices[0].device_kind, "ranks": args.ranks, "jax": jax.__version__, "us": report}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
