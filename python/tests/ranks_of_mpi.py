"""A rank of mpi4py: all cases, or one mistake. mpirun -np 4 python ranks_of_mpi.py cases"""
import sys
import time

import exchanges
from mpi4py import MPI

import restride.distributed as dist

comm = dist.mpi(MPI.COMM_WORLD, deadline=30)
try:
    if sys.argv[1] == "cases":
        for case in exchanges.CASES:
            exchanges.check(comm, case)
        exchanges.check_several(comm)
        (whole,) = [f"u8 (4) as (*) over ({comm.size})"]
        engine = dist.plan(whole, whole, comm).explain().split("\nengine ")[1].split("\n")[0]
        print(f"all right by {engine.split(' by ')[1]}", flush=True)
        comm.close()
    else:
        exchanges.check_fault(comm, sys.argv[1])
        print(f"{sys.argv[1]} is named", flush=True)
        time.sleep(3)  # until every rank has said so
        MPI.COMM_WORLD.Abort(7)
except BaseException as error:
    print(f"rank {comm.rank}: {type(error).__name__}: {error}", flush=True)
    time.sleep(1)
    MPI.COMM_WORLD.Abort(1)
