"""What the tests of this folder share: the same by torch itself, and tensors as bits."""
import pytest
import torch

restride_torch = pytest.importorskip("restride_torch")
import restride.torch  # noqa: E402

NEVER = 2**60  # min_bytes with which everything is left to torch
DEVICES = ["cpu", *(["cuda"] if restride_torch.load().restride_torch_with_cuda() and torch.cuda.is_available() else [])]


def by_torch(function):
    with restride.torch.enabled(min_bytes=NEVER):
        return function()


def bits(x):
    x = x.contiguous()
    return torch.view_as_real(x).flatten().view(torch.uint8) if x.is_complex() else x.flatten().view(torch.uint8)
