"""The exchanges that bench/exchange_torch.py and bench/exchange_jax.py time."""


def bounds(extent: int, ranks: int, ceil: bool) -> list[int]:
    """Where the parts of an axis begin, and its end: balanced, or in parts of one size as DTensor and JAX deal them."""
    if ceil:
        return [min(extent, -(-extent // ranks) * r) for r in range(ranks + 1)]
    return [extent // ranks * r + min(r, extent % ranks) for r in range(ranks + 1)]


class Case:
    """`shape` is split along `before` and is to be split along `after`, each rank's part lying in the order `order`."""

    def __init__(self, name, shape, dtype, before, after, order, ceil=False):
        self.name, self.shape, self.dtype = name, shape, dtype
        self.before, self.after, self.order, self.ceil = before, after, order, ceil

    def text(self, axis: int, order: tuple[int, ...], ranks: int) -> str:
        kind = "ceil" if self.ceil else "block"
        axes = ",".join(f"{kind}[0]" if a == axis else "*" for a in range(len(self.shape)))
        element = {"float32": "f32", "bfloat16": "bf16"}[self.dtype]
        shape = ",".join(map(str, self.shape))
        in_order = "" if order == tuple(range(len(order))) else f" order ({','.join(map(str, order))})"
        return f"{element} ({shape}) as ({axes}) over ({ranks}){in_order}"


def cases(ranks: int, mib: int) -> list[Case]:
    elements = mib * ranks << 18  # of 4 bytes
    n, bf = int(elements**0.5) // 64 * 64, int((2 * elements) ** 0.5) // 64 * 64
    depth = max(1, elements // (512 * 768 * ranks)) * ranks
    tokens = max(1, 2 * elements // (32 * 128 * ranks)) * ranks
    f32, bf16 = "float32", "bfloat16"
    return [
        Case("2-D transpose f32", (n, n), f32, 0, 1, (1, 0)),
        Case("2-D transpose bf16", (bf, bf), bf16, 0, 1, (1, 0)),
        Case("3-D axis swap f32", (depth, 512, 768), f32, 0, 1, (1, 0, 2)),
        Case("sequence to heads bf16", (tokens, 32, 128), bf16, 0, 1, (1, 0, 2)),
        Case("heads to sequence bf16", (tokens, 32, 128), bf16, 1, 0, (0, 1, 2)),
        Case("uneven f32", (n - 61, n - 23), f32, 0, 1, (1, 0)),
        Case("rows to columns f32", (n, n), f32, 0, 1, (0, 1), ceil=True),
        Case("rows to columns bf16", (bf, bf), bf16, 0, 1, (0, 1), ceil=True),
    ]
