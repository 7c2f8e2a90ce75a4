"""A DTensor's rows become columns. torchrun --nproc-per-node 4 torchrun_dtensor.py [cpu|cuda]"""
import os
import sys

# Not every host survives multicast between its GPUs: off, before NCCL begins, unless the user has set it otherwise.
for name, value in ("NCCL_NVLS_ENABLE", "0"), ("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1"), ("NVSHMEM_DISABLE_NVLS", "1"):
    os.environ.setdefault(name, value)

import torch
import torch.distributed as td
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

import restride.distributed as dist

on_gpus = sys.argv[1:] == ["cuda"]
if on_gpus:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
td.init_process_group("nccl" if on_gpus else "gloo")
mesh = init_device_mesh("cuda" if on_gpus else "cpu", (td.get_world_size(),))

whole = torch.arange(60 * 84, dtype=torch.float32).reshape(60, 84).to(mesh.device_type)
rows = distribute_tensor(whole, mesh, [Shard(0)])

with dist.process_group() as comm:  # once, all ranks together
    columns = dist.redistribute(rows, [Shard(1)], comm, dtype=torch.bfloat16)  # as often as you like
    assert isinstance(columns, DTensor) and columns.placements == (Shard(1),)
    assert torch.equal(columns.to_local(), whole.to(torch.bfloat16).chunk(td.get_world_size(), dim=1)[td.get_rank()])

    # The same without DTensor, of any distribution that restride writes.
    n = td.get_world_size()
    plan = dist.plan(f"f32 (60,84) as (ceil[0],*) over ({n})", f"f32 (60,84) as (*,cyclic:2[0]) over ({n})", comm)
    got = whole.new_empty(dist.local_shape(f"(60,84) as (*,cyclic:2[0]) over ({n})", comm.rank))
    plan.run(got, rows.to_local())
    assert torch.equal(got, whole[:, dist.indices(f"(60,84) as (*,cyclic:2[0]) over ({n})", comm.rank)[1]])
    if comm.rank == 0:
        print(plan.explain())
td.destroy_process_group()
