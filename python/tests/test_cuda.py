"""On a GPU: torch, CuPy and JAX round trips, streams, graph capture, operators, memory. Skipped where there is none.

RESTRIDE_CALLS sets how often memory is looked at to stay flat (100,000 calls).
"""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU", allow_module_level=True)

import restride  # noqa: E402
import restride.torch  # noqa: E402

if not restride.info()["cuda"]["devices"]:
    pytest.skip(f"restride uses no GPU: {restride.info()['cuda']['reason']}", allow_module_level=True)

DTYPES = [torch.bool, torch.uint8, torch.int16, torch.int64, torch.float16, torch.bfloat16, torch.float32,
          torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2]  # fmt: skip


def bits(x):
    return x.contiguous().view(torch.uint8)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape, axes", [((64, 48), (1, 0)), ((3, 5, 7), (2, 0, 1)), ((2, 16, 33, 8), (0, 2, 1, 3)), ((1000, 3), (1, 0))])
def test_tensors_of_every_dtype(dtype, shape, axes):
    x = torch.randint(0, 2 if dtype == torch.bool else 256, (*shape, dtype.itemsize), dtype=torch.uint8, device="cuda")
    x = x.view(dtype).squeeze(-1).permute(axes)
    y = restride.contiguous(x)
    assert y.device == x.device and torch.equal(bits(y), bits(x))
    z = torch.zeros_like(y)
    plan = restride.plan(z, x)
    assert plan.device == f"cuda:{x.get_device()}"
    plan.run(z, x)
    assert torch.equal(bits(z), bits(x))


def test_views_casts_and_flips():
    x = torch.arange(2 * 30 * 40, device="cuda").reshape(2, 30, 40)
    for view in (x[:, ::3, 1::2], x.expand(3, 2, 30, 40), x.unfold(2, 5, 3), x[1].diagonal(), x[:, :0]):
        assert torch.equal(restride.contiguous(view, torch.float32), view.float())
    assert torch.equal(restride.flip_copy(x, (0, 2)), x.flip(0, 2))
    assert torch.equal(restride.rearrange(x, "a (b c) d -> (d a) c b", b=5), x.reshape(2, 5, 6, 40).permute(3, 0, 2, 1).reshape(80, 6, 5))


def test_devices_do_not_mix():
    x = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="dst is on the CPU and src on cuda:0.*src.to"):
        restride.copy(np.zeros(3, np.float32), x)
    with pytest.raises(RuntimeError, match="dst is on cuda:0 and src on the CPU"):
        restride.copy(x, torch.ones(3))
    with pytest.raises(RuntimeError, match="the plan is for cpu"):
        restride.plan(torch.ones(3), torch.ones(3)).run(x, x)


# ---- streams. A long kernel holds a stream up, so that whoever does not wait for it sees what was there before.


def busy():
    torch.cuda._sleep(200_000_000)  # some 100 ms


def test_the_current_stream_of_torch_is_used():
    x = torch.zeros(1024, 1024, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        busy()
        x.fill_(1)
        y = restride.contiguous(x.T)
    assert not side.query()  # nothing has waited
    side.synchronize()
    assert y.min() == 1


def test_a_stream_that_is_named_is_used_and_ordered_by_its_caller():
    x = torch.zeros(1024, 1024, device="cuda")
    y = torch.empty_like(x)
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    busy()
    x.fill_(1)
    restride.copy(y, x.T, stream=side)  # does not wait for the fill: a race, which the sleep decides
    side.synchronize()
    assert y.max() == 0
    restride.copy(y, x.T, stream=torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    assert y.min() == 1


def test_a_graph_is_captured_and_replayed():
    x = torch.zeros(256, 512, device="cuda")
    y = torch.empty(512, 256, device="cuda")
    plan = restride.plan(y, x.T)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        restride.copy(y, x.T)
        z = restride.contiguous(y.T, torch.float16)
        plan.run(y, z.float().T)
    for k in (1.0, 2.0):
        x.fill_(k)
        graph.replay()
        torch.cuda.synchronize()
        assert y.min() == k and z.max() == k


# ---- other frameworks


def test_cupy():
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(24, dtype=cupy.float32).reshape(2, 3, 4)
    y = restride.contiguous(x[:, ::-1].T, "float64", order="F")
    assert isinstance(y, cupy.ndarray) and y.flags.f_contiguous and bool((y == x[:, ::-1].T).all())
    z = restride.permute_copy(x, (2, 0, 1))
    assert bool((z == x.transpose(2, 0, 1)).all())
    # On CuPy's current stream, behind what is there.
    side = cupy.cuda.Stream(non_blocking=True)
    big = cupy.zeros((1024, 1024), cupy.float32)
    cupy.cuda.Device().synchronize()
    with side:
        with torch.cuda.stream(torch.cuda.ExternalStream(side.ptr)):
            busy()
        big.fill(1)
        copied = restride.contiguous(big.T)
        side.synchronize()
    assert float(copied.min()) == 1


def test_cupy_into_torch_is_ordered_by_dlpack():
    cupy = pytest.importorskip("cupy")
    x = cupy.zeros((1024, 1024), cupy.float32)
    y = torch.empty(1024, 1024, device="cuda")
    side = cupy.cuda.Stream(non_blocking=True)
    torch.cuda.synchronize()
    with side:
        with torch.cuda.stream(torch.cuda.ExternalStream(side.ptr)):
            busy()
        x.fill(1)
        restride.copy(y, x.T)  # CuPy's stream is `side`, torch's another
    torch.cuda.synchronize()
    assert y.min() == 1


def test_cuda_array_interface():
    class Wrapped:
        def __init__(self, x):
            self.__cuda_array_interface__ = x.__cuda_array_interface__

    x = torch.arange(12.0, device="cuda").reshape(3, 4)
    y = torch.zeros(4, 3, device="cuda")
    restride.copy(y, Wrapped(x.T))
    assert torch.equal(y, x.T)
    y.zero_()
    restride.copy(Wrapped(y), x.T)
    torch.cuda.synchronize()
    assert torch.equal(y, x.T)


def test_jax_arrays_are_sources():
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(12.0, dtype="float32").reshape(3, 4)
    if next(iter(x.devices())).platform == "cpu":
        pytest.skip("JAX has no GPU here")
    y = torch.zeros(3, 4, device="cuda")
    restride.copy(y, x)
    torch.cuda.synchronize()
    assert np.array_equal(y.cpu().numpy(), np.asarray(x))


def test_jax_calls_under_jit():
    jax = pytest.importorskip("jax")
    if "cuda" not in {device.platform.replace("gpu", "cuda") for device in jax.devices()}:
        pytest.skip("JAX has no GPU here")
    here = {**os.environ, "RESTRIDE_JAX_PLATFORM": "cuda", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    tests = pathlib.Path(__file__).with_name("test_jax.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, "-k", "not declarations"]
    ran = subprocess.run(command, env=here, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


# ---- operators, the drop-in, memory


def test_operators():
    x = torch.randn(4, 6, 8, device="cuda", requires_grad=True)
    torch.library.opcheck(torch.ops.restride.permute_copy.default, (x, (2, 0, 1)))
    torch.library.opcheck(torch.ops.restride.rearrange.default, (x, "a b c -> c (b a)", "", []))
    compiled = torch.compile(lambda t: restride.torch.permute_copy(t * 2, (2, 0, 1)).sin(), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), (x * 2).permute(2, 0, 1).sin())


def test_the_drop_in():
    restride_torch = pytest.importorskip("restride_torch")
    x = torch.randn(64, 30, 40, device="cuda")
    expected = [x.permute(2, 0, 1).contiguous(), x.transpose(0, 1).to(torch.bfloat16, memory_format=torch.contiguous_format)]
    with restride.torch.enabled(min_bytes=0):
        restride.torch.stats(reset=True)
        got = [x.permute(2, 0, 1).contiguous(), x.transpose(0, 1).to(torch.bfloat16, memory_format=torch.contiguous_format)]
        taken = restride.torch.stats().taken
        host = x.transpose(0, 1).cpu()
    assert all(torch.equal(a, b) for a, b in zip(got, expected)) and torch.equal(host, x.transpose(0, 1).cpu())
    if restride_torch.load().restride_torch_with_cuda():
        assert taken == 2
    with restride.torch.enabled(min_bytes=0), torch.inference_mode():  # on a stream that is captured
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x.permute(2, 0, 1).contiguous()
        x.mul_(2)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(y, 2 * expected[0])


def test_memory_stays_flat():
    x = torch.randn(64, 48, device="cuda")
    y = torch.empty(48, 64, device="cuda")

    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * 4096

    calls = int(os.environ.get("RESTRIDE_CALLS", "100000"))
    for _ in range(2000):
        restride.copy(y, x.T)
    torch.cuda.synchronize()
    device, host = torch.cuda.mem_get_info()[0], resident()
    for _ in range(calls):
        restride.copy(y, x.T)
    torch.cuda.synchronize()
    assert torch.cuda.mem_get_info()[0] == device and resident() - host < 4 << 20


@pytest.mark.parametrize("ranks", [1, 2])
def test_ranks_of_torch_distributed(ranks):
    if torch.cuda.device_count() < ranks:
        pytest.skip(f"{torch.cuda.device_count()} GPU: exchanges between {ranks} ranks of torch.distributed are not tested")
    if not torch.distributed.is_nccl_available():
        pytest.skip("this torch has no NCCL: exchanges between its ranks on GPUs are not tested")
    here = pathlib.Path(__file__).resolve().parent
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    environment |= {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    for program in (here / "ranks_of_torch.py", here.parents[1] / "examples" / "python" / "torchrun_dtensor.py"):
        ran = subprocess.run([*launch, program, "cuda"], env=environment, capture_output=True, text=True, timeout=240)
        assert ran.returncode == 0, ran.stdout + ran.stderr
