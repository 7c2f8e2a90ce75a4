"""Tensors that lie over ranks in one distribution and must lie in another: of mpi4py, torch.distributed, or threads.

A side of an exchange is written as the command and errors write it, element and distribution; docs/distributed.md says
how distributions are written. Every rank plans once, together, and runs as often as it likes.

>>> rows, columns = "i32 (4,6) as (block[0],*) over (2)", "i32 (4,6) as (*,block[0]) over (2)"
>>> def rank(comm):  # with MPI: comm = restride.distributed.mpi(MPI.COMM_WORLD)
...     mine, got = np.full((2, 6), comm.rank, np.int32), np.empty((4, 3), np.int32)
...     restride.distributed.plan(rows, columns, comm).run(got, mine)
...     return got[:, 0].tolist()
>>> with ThreadPoolExecutor(2) as pool:
...     list(pool.map(rank, restride.distributed.threads(2)))
[[0, 0, 1, 1], [0, 0, 1, 1]]
"""

from restride.distributed._c_abi import AgreementError, DeadlineError
from restride.distributed._comm import Comm, mpi, threads
from restride.distributed._distributions import from_placements, indices, local_shape, regions
from restride.distributed._exchange import Plan, explain, plan, redistribute
from restride.distributed._process_group import process_group

__all__ = [
    "AgreementError",
    "Comm",
    "DeadlineError",
    "Plan",
    "explain",
    "from_placements",
    "indices",
    "local_shape",
    "mpi",
    "plan",
    "process_group",
    "redistribute",
    "regions",
    "threads",
]

for _name in __all__:  # tracebacks and pickles say where users find it
    globals()[_name].__module__ = __name__
