"""CuPy arrays are copied on CuPy's current stream, behind what is there; nothing is waited for."""
import cupy
import restride

stream = cupy.cuda.Stream(non_blocking=True)
with stream:
    x = cupy.arange(1024 * 1024, dtype=cupy.float32).reshape(1024, 1024)
    y = restride.contiguous(x[::-1].T)
    stream.synchronize()
assert bool((y == x[::-1].T).all())
print(f"copied on {stream}")
