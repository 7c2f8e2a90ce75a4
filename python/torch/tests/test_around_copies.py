"""What torch does around a copy goes on as it was: autograd, subclasses, compilers, modes, threads."""
import os
import threading

import pytest
import torch
from beside_torch import DEVICES, NEVER, by_torch

import restride.torch


def test_autograd_versions_and_inference_mode():
    x = torch.randn(64, 32, requires_grad=True)
    (x.T.contiguous() * torch.arange(64.0)).sum().backward()
    assert torch.equal(x.grad, torch.arange(64.0)[:, None].expand(64, 32))
    y = torch.zeros(32, 64)
    version = y._version
    y.copy_(x.detach().T)
    assert y._version == version + 1
    leaf = torch.zeros(32, 64, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf.copy_(x.T)
    with torch.inference_mode():
        assert torch.equal(x.T.contiguous(), x.T)


def test_errors_are_torch_s_own():
    x = torch.arange(64.0)
    for function in (
        lambda: x[1:].as_strided((6, 6), (1, 6)).copy_(x.as_strided((6, 6), (6, 1))),
        lambda: torch.zeros(1, 8).expand(8, 8).copy_(torch.rand(8, 8).T),
        lambda: torch.zeros(8, 8).copy_(torch.rand(7, 8)),
    ):
        messages = []
        for run in (lambda f: f(), by_torch):
            with pytest.raises(RuntimeError) as error:
                run(function)
            messages.append(str(error.value))
        assert messages[0] == messages[1]
    assert torch.equal(x, torch.arange(64.0))


def test_subclasses_vmap_and_compile():
    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return super().__torch_function__(function, types, args, kwargs or {})

    x = torch.randn(8, 16)
    assert torch.equal(x.as_subclass(Logged).T.contiguous().as_subclass(torch.Tensor), x.T)
    assert torch.equal(torch.vmap(lambda y: y.T.contiguous())(torch.stack([x, x]))[0], x.T)
    assert torch.equal(torch.vmap(lambda y: y.roll(1, 0).T.clone(), in_dims=1)(torch.stack([x, x], 1))[1], x.roll(1, 0).T)
    compiled = torch.compile(lambda y: y.T.contiguous() + 1, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), x.T + 1)
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        assert torch.empty(8, 16).T.contiguous().shape == (16, 8)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.filterwarnings("ignore")
def test_fallbacks_of_inductor_are_taken(device):
    import torch._inductor.config as inductor

    def function(x):
        return x.transpose(0, 1).contiguous(), torch.cat([x.mT, x.mT]).clone()

    x = torch.randn(64, 48, dtype=torch.complex64, device=device)  # for which it makes no code of its own
    with inductor.patch(pattern_matcher=False, compile_threads=1, force_disable_caches=True):
        compiled = torch.compile(function, fullgraph=True)
        compiled(x)
        restride.torch.stats(reset=True)
        got = compiled(x)
    assert restride.torch.stats().taken > 0
    assert all(torch.equal(a, b) for a, b in zip(got, by_torch(lambda: function(x))))


def test_a_subclass_that_dispatches_sees_the_same_operators():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorded(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    def run():
        seen.clear()
        with Recorded():
            x = torch.arange(48.0).reshape(6, 8)
            y = torch.cat([x.T.contiguous(), x.T]).roll((1, 2), (0, 1))
            y[:, :2] = x.T.flip(0).repeat(2, 1)[:, :2]
        return y, list(seen)

    seen = []
    y, operators = run()
    expected, theirs = by_torch(run)
    assert torch.equal(y, expected) and operators == theirs


def test_deterministic_mode():
    torch.use_deterministic_algorithms(True)
    try:
        x = torch.randn(8, 16)
        assert torch.equal(x.T.contiguous(), x.T)
        assert torch.empty(8, 16).isnan().all()  # which that mode fills
        y = torch.zeros(4, 4).index_put((torch.tensor([0, 0]),), torch.arange(8.0).reshape(4, 2).T, accumulate=True)
        assert torch.equal(y[0], torch.tensor([1.0, 5.0, 9.0, 13.0]))
    finally:
        torch.use_deterministic_algorithms(False)


def test_runs_on_torch_s_threads():
    x = torch.randn(2048, 2048)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            x.sum()  # starts torch's team
            count = len(os.listdir("/proc/self/task"))
            for _ in range(5):
                assert torch.equal(x.T.contiguous(), x.T)
            assert len(os.listdir("/proc/self/task")) <= count
    finally:
        torch.set_num_threads(before)


def test_many_threads_copy_while_it_is_switched():
    failures = []
    stop = threading.Event()

    def work(seed):
        x = torch.randn(64 + seed, 48)
        while not stop.is_set():
            if not torch.equal(x.T.contiguous(), x.T):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        with restride.torch.enabled(min_bytes=NEVER):
            pass
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
