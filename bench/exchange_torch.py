#!/usr/bin/env python3
"""Exchanges between GPUs of one host beside what torch does, in turns, in one launch:

    export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1
    torchrun --nproc-per-node 2 bench/exchange_torch.py [--json FILE] [--mib 256] [--seconds 1] [--device cuda]

By hand: permute, all_to_all_single, permute, as people write it, and DTensor.redistribute where it can do the case.
Ours: restride.distributed with its defaults, and `dist.redistribute` of DTensors. Every way's result is compared before it
is timed. A time is the stream's on the slowest rank, the median over rounds. `--device cpu` runs by Gloo, to try the
program; its times say nothing.
"""
import argparse
import json
import os
import statistics
import sys
import time

MULTICAST_OFF = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
if any(os.environ.get(name) != value for name, value in MULTICAST_OFF.items()):
    sys.exit(f"set {', '.join(f'{name}={value}' for name, value in MULTICAST_OFF.items())} first")

import torch  # noqa: E402
import torch.distributed as td  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.tensor import DTensor, Shard  # noqa: E402

import restride.distributed as dist  # noqa: E402
from exchange_cases import Case, bounds, cases  # noqa: E402


def by_hand(case: Case, mine, ranks: int, rank: int):
    """Permute, all_to_all_single, permute."""
    out_bounds = bounds(case.shape[case.after], ranks, case.ceil)
    in_bounds = bounds(case.shape[case.before], ranks, case.ceil)
    wide = out_bounds[rank + 1] - out_bounds[rank]
    front = mine.movedim(case.after, 0).contiguous()  # the axis to be cut comes to the front
    rest = [n for a, n in enumerate(case.shape) if a not in (case.before, case.after)]
    other = 1
    for n in rest:
        other *= n
    sent = [(out_bounds[r + 1] - out_bounds[r]) * (in_bounds[rank + 1] - in_bounds[rank]) * other for r in range(ranks)]
    got = [wide * (in_bounds[r + 1] - in_bounds[r]) * other for r in range(ranks)]
    flat = mine.new_empty(sum(got))
    td.all_to_all_single(flat, front.reshape(-1), got, sent)
    # A block is (after, the others in order); the blocks follow each other along `before`.
    others = [a for a in range(len(case.shape)) if a != case.after]
    blocks, at = [], 0
    for r in range(ranks):
        block = [wide, *((in_bounds[r + 1] - in_bounds[r]) if a == case.before else case.shape[a] for a in others)]
        blocks.append(flat[at : at + got[r]].view(block))
        at += got[r]
    whole = torch.cat(blocks, dim=1 + others.index(case.before)) if len(blocks) > 1 else blocks[0]
    return whole.movedim(0, case.after).permute(case.order).contiguous()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--mib", type=int, default=256, help="of a rank")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    args = parser.parse_args()
    on_gpus = args.device == "cuda"
    if on_gpus:
        if torch.cuda.device_count() < int(os.environ["WORLD_SIZE"]):
            sys.exit(f"{torch.cuda.device_count()} GPUs for {os.environ['WORLD_SIZE']} ranks: nothing was measured")
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    td.init_process_group("nccl" if on_gpus else "gloo")
    rank, ranks = td.get_rank(), td.get_world_size()
    mesh = init_device_mesh(args.device, (ranks,))
    report = {}
    with dist.process_group() as comm:
        for case in cases(ranks, args.mib):
            src = case.text(case.before, tuple(range(len(case.shape))), ranks)
            dst = case.text(case.after, case.order, ranks)
            torch.manual_seed(rank)
            mine = torch.randint(0, 127, dist.local_shape(src, rank), device=args.device).to(getattr(torch, case.dtype))
            dense = mine.new_empty([dist.local_shape(dst, rank)[a] for a in case.order])
            got = dense.permute([case.order.index(a) for a in range(len(case.order))])
            plan = dist.plan(src, dst, comm, dst_like=got)
            unchecked = dist.plan(src, dst, comm, dst_like=got, check_runs=False)

            def planned(plan=plan, got=got, dense=dense, mine=mine):
                plan.run(got, mine)
                return dense

            def planned_unchecked(plan=unchecked, got=got, dense=dense, mine=mine):
                plan.run(got, mine)
                return dense

            ways = {"by hand": lambda case=case, mine=mine: by_hand(case, mine, ranks, rank)}
            even = all(n % ranks == 0 for n in case.shape)
            if even and case.order == (1, 0):  # a global transpose
                x = DTensor.from_local(mine, mesh, [Shard(0)], run_check=False)
                ways["DTensor"] = lambda x=x: x.t().redistribute(mesh, [Shard(0)]).to_local().contiguous()
            if case.ceil:
                x = DTensor.from_local(mine, mesh, [Shard(case.before)], shape=case.shape, stride=(case.shape[1], 1))
                ways["DTensor"] = lambda x=x, case=case: x.redistribute(mesh, [Shard(case.after)]).to_local()
                ways["restride, DTensor"] = lambda x=x, case=case: dist.redistribute(x, [Shard(case.after)], comm).to_local()
            ways |= {"restride": planned, "restride unchecked": planned_unchecked}
            right = ways["by hand"]().clone()
            for name, way in ways.items():
                assert torch.equal(way(), right), f"{case.name}: {name} differs from what is made by hand"
            times = {name: [] for name in ways}
            end, more = time.monotonic() + args.seconds, True
            while more:
                for name, way in ways.items():
                    if on_gpus:
                        torch.cuda.synchronize()
                    td.barrier()
                    if on_gpus:
                        begin, done = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                        torch.cuda.synchronize()
                        begin.record()
                        way()
                        done.record()
                        done.synchronize()
                        took = begin.elapsed_time(done) * 1000
                    else:
                        started = time.perf_counter()
                        way()
                        took = (time.perf_counter() - started) * 1e6
                    slowest = torch.tensor([took], device=args.device)
                    td.all_reduce(slowest, td.ReduceOp.MAX)
                    times[name].append(slowest.item())
                again = torch.tensor([float(len(times["by hand"]) < 8 or time.monotonic() < end)], device=args.device)
                td.broadcast(again, 0)
                more = bool(again.item())
            us = {name: round(statistics.median(t[2:]), 1) for name, t in times.items()}
            report[case.name] = us
            if rank == 0:
                engine = plan.explain().split("\nengine ")[1].split("\n")[0].strip()
                print(f"{case.name}: {', '.join(f'{name} {t} us' for name, t in us.items())}; {engine}", flush=True)
    if rank == 0 and args.json:
        gpu = torch.cuda.get_device_name() if on_gpus else "none"
        with open(args.json, "w") as file:
            json.dump({"gpu": gpu, "ranks": ranks, "torch": torch.__version__, "us": report}, file, indent=1)
            file.write("\n")
    td.destroy_process_group()


if __name__ == "__main__":
    main()
