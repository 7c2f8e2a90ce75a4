"""Ranks of mpi4py: rows become columns. mpirun -np 4 python mpi4py_exchange.py"""
import numpy as np
from mpi4py import MPI

import restride.distributed as dist

comm = dist.mpi(MPI.COMM_WORLD)  # collective; a communicator of its own
rows = f"f32 (60,84) as (block[0],*) over ({comm.size})"
columns = f"f32 (60,84) as (*,block[0]) over ({comm.size})"

whole = np.arange(60 * 84, dtype=np.float32).reshape(60, 84)  # for the check; no rank needs it
mine = whole[np.ix_(*dist.indices(rows, comm.rank))]
got = np.empty(dist.local_shape(columns, comm.rank), np.float32)

plan = dist.plan(rows, columns, comm)  # once, all ranks together
plan.run(got, mine)  # as often as you like

assert np.array_equal(got, whole[np.ix_(*dist.indices(columns, comm.rank))])
if comm.rank == 0:
    print(plan.explain())
comm.close()
