"""A rank of torch.distributed: all cases on the CPU, or on GPUs, or one mistake on the CPU.
torchrun --nproc-per-node 3 ranks_of_torch.py cases|cuda|MISTAKE
"""
import contextlib
import os
import sys
import time

import exchanges
import numpy as np
import torch
import torch.distributed as td
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

import restride.distributed as dist


MULTICAST_OFF = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
device = "cuda" if sys.argv[1] == "cuda" else "cpu"
if device == "cuda" and any(os.environ.get(name) != value for name, value in MULTICAST_OFF.items()):
    sys.exit(f"set {', '.join(f'{name}={value}' for name, value in MULTICAST_OFF.items())} first")


def check_dtensor(comm):
    n = td.get_world_size()
    mesh = init_device_mesh(device, (n,))
    for shape in [(7, 5), (12, 6), (2, 9), (3, 4, 5)]:
        whole = torch.arange(torch.Size(shape).numel(), dtype=torch.float32, device=device).reshape(shape)
        for before in (Shard(0), Shard(1), Replicate()):
            for after in (Shard(1), Replicate(), Shard(0)):
                x = distribute_tensor(whole, mesh, [before])
                for _ in range(2):  # the second one by the same plan
                    y = dist.redistribute(x, [after], comm, deadline=20)
                wanted = x.redistribute(mesh, [after])
                assert y.placements == wanted.placements and y.shape == x.shape
                assert torch.equal(y.to_local(), wanted.to_local()), (shape, before, after)
        half = dist.redistribute(distribute_tensor(whole, mesh, [Shard(0)]), [Shard(1)], comm, dtype=torch.bfloat16)
        assert torch.equal(half.full_tensor(), whole.to(torch.bfloat16))


def memory_of_nccl():
    """What is made in this scope lies in memory of ncclMemAlloc."""
    backend = td.group.WORLD._get_backend(torch.device("cuda"))
    return torch.cuda.use_mem_pool(torch.cuda.MemPool(backend.mem_allocator))


def check_gpus(comm, memory=contextlib.nullcontext):
    """Elements, casts and orders as on the CPU; a stream of the caller's, and a capture of it; dst is made in `memory`."""
    n, rank = comm.size, comm.rank
    for src, dst in (
        (f"f32 (130,70) as (block[0],*) over ({n})", f"f32 (130,70) as (*,block[0]) over ({n})"),
        (f"f32 (130,70) as (ceil[0],*) over ({n})", f"bf16 (130,70) as (*,cyclic:2[0]) over ({n}) order (1,0)"),
        (f"f32 (130,70) as (*,block[0]) over ({n})", f"f32 (130,70) as (*,*) over ({n})"),
    ):
        whole = torch.arange(130 * 70, dtype=torch.float32, device="cuda").reshape(130, 70) % 251
        mine = whole[np.ix_(*dist.indices(src, rank))].contiguous()
        wanted = whole[np.ix_(*dist.indices(dst, rank))].to(torch.bfloat16 if "bf16" in dst else torch.float32)
        with memory():
            got = torch.empty_like(wanted.mT.contiguous().mT if "order" in dst else wanted.contiguous())
        for method in (None, "messages"):
            plan = dist.plan(src, dst, comm, dst_like=got, method=method, deadline=20)
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                got.zero_()
                plan.run(got, mine)
            stream.synchronize()
            assert torch.equal(got, wanted), (src, dst, method)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                plan.run(got, mine)
            for _ in range(3):
                got.zero_()
                graph.replay()
                torch.cuda.synchronize()
                assert torch.equal(got, wanted) and plan.status() == "idle", (src, dst, method, "captured")
            del graph


if device == "cuda":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
td.init_process_group("nccl" if device == "cuda" else "gloo")
status = 0
comm = dist.process_group(deadline=20)
try:
    if device == "cuda":
        check_gpus(comm)
        check_gpus(comm, memory_of_nccl)
        check_dtensor(comm)
        print("all right on GPUs", flush=True)
    elif sys.argv[1] == "cases":
        for case in exchanges.CASES:
            exchanges.check(comm, case)
        exchanges.check_several(comm)
        check_dtensor(comm)
        pair = td.new_group([0, 1])  # a group of some ranks, whose numbers begin at 0
        if comm.rank < 2:
            with dist.process_group(pair) as two:
                exchanges.check(two, exchanges.CASES[0])
        (whole,) = [f"u8 (4) as (*) over ({comm.size})"]
        engine = dist.plan(whole, whole, comm).explain().split("\nengine ")[1].split("\n")[0]
        print(f"all right by {engine.split(' by ')[1]}", flush=True)
    elif sys.argv[1] == "abort":
        try:
            if comm.rank == 1:
                comm.abort("rank 1 has no more disk")
            dist.plan("u8 (4) as (*) over (2)", "u8 (4) as (*) over (2)", comm, deadline=20)
        except dist.DeadlineError as error:
            assert "rank 1 has no more disk" in str(error), error
            print("abort is named", flush=True)
    else:
        exchanges.check_fault(comm, sys.argv[1])
        print(f"{sys.argv[1]} is named", flush=True)
except BaseException as error:
    print(f"rank {comm.rank}: {type(error).__name__}: {error}", flush=True)
    status = 1
time.sleep(0.5)
sys.stdout.flush()
td.destroy_process_group()
sys.exit(status)
