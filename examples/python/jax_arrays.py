"""JAX arrays, which have no strided views, are permuted and flipped into new JAX arrays (on the CPU)."""
import jax

jax.config.update("jax_platforms", "cpu")
import jax.numpy as jnp  # noqa: E402
import restride  # noqa: E402

x = jnp.arange(24.0).reshape(2, 3, 4)
y = restride.permute_copy(x, (2, 0, 1))
assert isinstance(y, jax.Array) and bool((y == x.transpose(2, 0, 1)).all())
assert bool((restride.flip_copy(x, 0) == x[::-1]).all())
print(f"{type(y).__name__} {y.shape}")
