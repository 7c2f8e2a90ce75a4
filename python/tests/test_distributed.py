"""restride.distributed: threads here, and ranks of mpi4py by launches of ranks_of_mpi.py."""
import doctest
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import restride
import restride.distributed as dist

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import exchanges  # noqa: E402


def on_threads(ranks, body):
    with ThreadPoolExecutor(ranks) as pool:
        return [job.result() for job in [pool.submit(body, comm) for comm in dist.threads(ranks)]]


@pytest.mark.parametrize("name", ["", *dist.__all__])
def test_examples_in_docstrings_run(name):
    if name == "from_placements":
        pytest.importorskip("torch")
    names = {"restride": restride, "np": np, "ThreadPoolExecutor": ThreadPoolExecutor}
    doc = inspect.getdoc(getattr(dist, name) if name else dist)
    tests = doctest.DocTestParser().get_doctest(doc, names, name, None, 0)
    assert doctest.DocTestRunner().run(tests).failed == 0


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("case", range(len(exchanges.CASES)))
@pytest.mark.parametrize("method", ["direct", "messages"])
def test_parts_arrive(ranks, case, method):
    on_threads(ranks, lambda comm: exchanges.check(comm, exchanges.CASES[case], method))


def test_several_tensors_in_one_exchange():
    on_threads(2, exchanges.check_several)


def test_boxes_take_one_row_of_memory():
    boxes, whole = "(6,6) boxes 0[0:2,0:6] 0[3:6,0:3] 1[2:3,0:6] 1[3:6,3:6]", "(6,6) as (*,*) over (1)"

    def body(comm):
        everything = np.arange(36, dtype=np.int16).reshape(6, 6)
        parts = [everything[np.ix_(*dist.indices(boxes, comm.rank, r))] for r in range(dist.regions(boxes, comm.rank))]
        mine = np.concatenate([part.ravel() for part in parts])
        got = np.zeros((6, 6), np.int16)
        dist.plan("i16 " + boxes, "i16 " + whole, comm).run(got if comm.rank == 0 else None, mine)
        return got

    got, nothing = on_threads(2, body)
    assert np.array_equal(got, np.arange(36).reshape(6, 6)) and not nothing.any()


def test_start_and_wait():
    def body(comm):
        rows, columns = np.full((2, 4), comm.rank, np.uint8), np.empty((4, 2), np.uint8)
        plan = dist.plan(exchanges.ROWS, exchanges.COLUMNS, comm)
        plan.start(columns, rows)
        plan.wait()
        assert "2 send, 2 receive" in plan.explain() and "threads" in plan.explain()
        return columns.tolist()

    assert on_threads(2, body) == [[[0, 0], [0, 0], [1, 1], [1, 1]]] * 2


@pytest.mark.parametrize("fault", exchanges.FAULTS)
def test_mistakes_are_named_on_every_rank(fault):
    on_threads(3, lambda comm: exchanges.check_fault(comm, fault))


def test_arguments_are_checked():
    (comm,) = dist.threads(1)
    whole = "u8 (2,3) as (*,*) over (1)"
    plan = dist.plan(whole, whole, comm)
    x, y = np.zeros((2, 3), np.uint8), np.zeros((2, 3), np.uint8)
    for wrong, error, words in [
        ((y.astype(np.int8), x), TypeError, "dst is int8, the plan is for uint8"),
        ((y.reshape(3, 2), x), ValueError, "dst is u8 .3,2.:.2,1., the plan is for u8 .2,3."),
        ((y, None), ValueError, "src of tensor 0 is null on rank 0"),
        ((x, x), ValueError, "the same memory"),
        ((y, [x, x]), TypeError, "src"),
    ]:
        with pytest.raises(error, match=words):
            plan.run(*wrong)
    plan.run(y, x)
    with pytest.raises(TypeError, match="restride.distributed.mpi or .threads"):
        dist.plan(whole, whole, None)
    with pytest.raises(ValueError, match="write the element and the distribution"):
        dist.plan("(2,3) as (*,*) over (1)", whole, comm)
    with pytest.raises(ValueError, match="expected"):
        dist.explain("u8 (2,3) as (blok[0],*) over (2)", whole)
    assert "sends to        0" in dist.explain("u8 (2,3) as (block[0],*) over (2)", whole, rank=1)
    with pytest.raises(ValueError, match="^rank 2: there are ranks 0 to 1"):
        dist.explain("u8 (2,3) as (block[0],*) over (2)", whole, rank=2)
    with pytest.raises(ValueError, match="^rank -1: give one from 0, or None"):
        dist.explain("u8 (2,3) as (block[0],*) over (2)", whole, rank=-1)
    with pytest.raises(ValueError, match="rank"):
        dist.plan("u8 (2,3) as (block[0],*) over (2)", whole, comm)
    with pytest.raises(ValueError, match="a deadline of 0 ms"):
        dist.plan(whole, whole, comm, deadline=0)
    dist.plan(whole, whole, comm, deadline=float("inf")).run(y, x)
    with pytest.raises(TypeError, match="integer"):
        dist.threads("two")


@pytest.mark.parametrize("rank", range(6))
def test_placements_of_dtensor_are_distributions(rank):
    torch = pytest.importorskip("torch")
    fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import Partial, Replicate, Shard
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset as torch_says

    torch.distributed.init_process_group("fake", store=fake.FakeStore(), rank=rank, world_size=6)
    try:
        mesh = DeviceMesh("cpu", torch.tensor([[5, 1, 3], [0, 4, 2]]))
        for shape in [(7, 5), (12, 6), (2, 9), (1, 3)]:
            for placements in [
                [Shard(0), Shard(1)], [Shard(1), Replicate()], [Replicate(), Shard(0)], [Replicate(), Replicate()],
                [Shard(0), Shard(0)], [Shard(1), Shard(1)],
            ]:  # fmt: skip
                text = dist.from_placements(shape, mesh, placements)
                local, offset = torch_says(shape, mesh, placements)
                assert dist.local_shape(text, rank) == tuple(local), text
                if 0 not in local:
                    assert tuple(axis[0] for axis in dist.indices(text, rank)) == tuple(offset), text
        with pytest.raises(ValueError, match="Shard or Replicate"):
            dist.from_placements((7, 5), mesh, [Partial(), Shard(0)])
        with pytest.raises(ValueError, match="1 placements for a mesh of 2"):
            dist.from_placements((7, 5), mesh, [Shard(0)])
    finally:
        torch.distributed.destroy_process_group()


def launcher_of(mpi, tmp_path):
    """The launcher, and the environment in which mpi4py takes that MPI."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: exchanges between its ranks are not tested")
    launcher = shutil.which(f"mpirun.{mpi}")
    if launcher is None:
        pytest.skip(f"mpirun.{mpi} is not installed: exchanges between ranks of mpi4py are not tested by it")
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment |= {"OMPI_MCA_rmaps_base_oversubscribe": "1", "MPI4PY_MPIABI": mpi, "PYTHONDONTWRITEBYTECODE": "1"}
    if mpi == "mpich":  # mpi4py of PyPI asks for the name that MPICH's own builds have; Debian's has another
        (library,) = list(pathlib.Path("/usr/lib").glob("*/libmpich.so.12"))[:1] or [None]
        if library is not None:
            (tmp_path / "libmpi.so.12").symlink_to(library)
            environment["LD_LIBRARY_PATH"] = f"{tmp_path}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    return launcher, environment


def launch(mpi, tmp_path, ranks, *arguments):
    launcher, environment = launcher_of(mpi, tmp_path)
    command = [launcher, "-np", str(ranks), sys.executable, HERE / "ranks_of_mpi.py", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_parts_arrive_by_mpi4py(mpi, ranks, tmp_path):
    ran = launch(mpi, tmp_path, ranks, "cases")
    said = {"openmpi": "mpi (Open MPI)", "mpich": "mpi (MPICH)"}[mpi]
    assert ran.returncode == 0 and ran.stdout.count(f"all right by {said}") == ranks, ran.stdout + ran.stderr


@pytest.mark.parametrize("fault", exchanges.FAULTS)
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_mistakes_are_named_by_mpi4py(mpi, fault, tmp_path):
    ran = launch(mpi, tmp_path, 3, fault)
    assert ran.stdout.count(f"{fault} is named") == 3, ran.stdout + ran.stderr


def launch_torch(ranks, program, *arguments):
    pytest.importorskip("torch", reason="torch is not installed: exchanges between its ranks are not tested")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    environment |= {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), program]
    return subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize("ranks", [2, 3])
def test_parts_arrive_by_torch(ranks):
    ran = launch_torch(ranks, HERE / "ranks_of_torch.py", "cases")
    assert ran.returncode == 0 and ran.stdout.count("all right by torch (gloo)") == ranks, ran.stdout + ran.stderr


@pytest.mark.parametrize("fault", [*exchanges.FAULTS, "abort"])
def test_mistakes_are_named_by_torch(fault):
    ran = launch_torch(3, HERE / "ranks_of_torch.py", fault)
    assert ran.stdout.count(f"{fault} is named") == 3, ran.stdout + ran.stderr


def test_ranks_on_gpus_do_not_start_where_multicast_is_on():
    pytest.importorskip("torch")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "TORCH_", "NVSHMEM_"))}
    environment |= {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, HERE / "ranks_of_torch.py", "cuda"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 1 and "set NCCL_NVLS_ENABLE=0, " in ran.stderr and "NVSHMEM_DISABLE_NVLS=1 first" in ran.stderr


def test_torchrun_example():
    ran = launch_torch(2, HERE.parents[1] / "examples" / "python" / "torchrun_dtensor.py")
    assert ran.returncode == 0 and "torch (gloo)" in ran.stdout, ran.stdout + ran.stderr


def test_process_group_says_what_it_needs():
    pytest.importorskip("torch")
    with pytest.raises(RuntimeError, match="init_process_group"):
        dist.process_group()
    (comm,) = dist.threads(1)
    with pytest.raises(TypeError, match="give a DTensor"):
        dist.redistribute(np.zeros(3), [], comm)
    whole = "u8 (2,3) as (*,*) over (1)"
    plan = dist.plan(whole, whole, comm)
    assert plan.status() == "idle"
    with pytest.raises(ValueError, match="a stream for an exchange of memory of the host"):
        plan.run(np.zeros((2, 3), np.uint8), np.ones((2, 3), np.uint8), stream=7)


def test_a_communicator_ends_its_plans():
    (comm,) = dist.threads(1)
    whole = "u8 (2,3) as (*,*) over (1)"
    plan = dist.plan(whole, whole, comm)
    comm.close()
    with pytest.raises(ValueError, match="exchange, dst or src is NULL"):
        plan.run(np.zeros((2, 3), np.uint8), np.ones((2, 3), np.uint8))
    del plan
