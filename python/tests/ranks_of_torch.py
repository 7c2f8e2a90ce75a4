"""A rank of torch.distributed on the CPU: all cases, or one mistake. torchrun --nproc-per-node 3 ranks_of_torch.py cases"""
import sys
import time

import exchanges
import torch
import torch.distributed as td
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

import restride.distributed as dist


def check_dtensor(comm):
    n = td.get_world_size()
    mesh = init_device_mesh("cpu", (n,))
    for shape in [(7, 5), (12, 6), (2, 9), (3, 4, 5)]:
        whole = torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)
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


td.init_process_group("gloo")
status = 0
comm = dist.process_group(deadline=20)
try:
    if sys.argv[1] == "cases":
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
