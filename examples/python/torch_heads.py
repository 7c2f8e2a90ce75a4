"""Attention heads to the front, with a gradient, and the same under torch.compile; on a GPU where there is one."""
import restride.torch
import torch

device = "cuda" if torch.cuda.is_available() and restride.info()["cuda"]["devices"] else "cpu"
x = torch.randn(2, 128, 8 * 64, device=device, requires_grad=True)


def heads(x):
    return restride.torch.rearrange(x, "b s (h d) -> b h s d", h=8)


heads(x).square().sum().backward()
assert torch.allclose(x.grad, 2 * x)
compiled = torch.compile(heads, fullgraph=True, backend="aot_eager")
assert torch.equal(compiled(x), x.reshape(2, 128, 8, 64).permute(0, 2, 1, 3))
print(f"heads on {device}: {tuple(heads(x).shape)}")
