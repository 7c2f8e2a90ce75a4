"""A batch of images becomes planes of floats, in one pass; a plan serves the batches that follow."""
import numpy as np
import restride

batch = np.random.default_rng(0).integers(0, 256, (8, 120, 160, 3), np.uint8)
planes = restride.permute_copy(batch, (0, 3, 1, 2), dtype=np.float32)
assert np.array_equal(planes, batch.transpose(0, 3, 1, 2))

plan = restride.plan(planes, batch.transpose(0, 3, 1, 2), cast=True)
for _ in range(3):
    plan.run(planes, batch.transpose(0, 3, 1, 2))
print(plan)
print(restride.bench(planes, batch.transpose(0, 3, 1, 2), cast=True, seconds=0.02))
