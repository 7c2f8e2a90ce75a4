"""A copy inside a function that jax.jit compiles: attention heads, with the gradient."""
import jax

jax.config.update("jax_platforms", "cpu")
import jax.numpy as jnp  # noqa: E402
import restride.jax  # noqa: E402


@jax.jit
def heads(x):
    return restride.jax.rearrange(x * 2, "b s (h d) -> b h s d", h=8)


x = jnp.arange(2 * 4 * 64.0).reshape(2, 4, 64)
y = heads(x)
assert bool((y == (x * 2).reshape(2, 4, 8, 8).transpose(0, 2, 1, 3)).all())
gradient = jax.grad(lambda x: (heads(x) ** 2).sum())(x)
assert bool((gradient == 8 * x).all())
print(f"heads {y.shape}, gradient {gradient.shape}")
