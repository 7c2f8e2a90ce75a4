"""torch's own operators with restride under them: bit for bit what torch does, on random pairs, casts, programs' copies and
torch's own samples.

RESTRIDE_CASES sets how many random pairs are drawn (100,000).
"""
import contextlib
import json
import os
import pathlib
import random

import pytest
import torch
from beside_torch import DEVICES, NEVER, bits, by_torch, restride_torch

import restride.torch

CASES = int(os.environ.get("RESTRIDE_CASES", "100000"))

MOVED = [torch.bool, torch.uint8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.float16, torch.bfloat16,
         torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2,
         torch.float8_e4m3fnuz]  # fmt: skip
CAST = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
        torch.float32, torch.float64]  # fmt: skip


def random_pair(rng):
    """Two tensors of one shape with strides of many kinds, and the memory of the first."""
    rank = rng.choice([1, 2, 2, 3, 3, 4, 5])
    shape = [rng.choice([1, 2, 3, 4, 5, 7, 8, 16, 33, 64]) for _ in range(rank)]
    while torch.Size(shape).numel() > 2048:
        shape[rng.randrange(rank)] = 2
    to = rng.choice(MOVED)
    of = to if rng.random() < 0.6 or to not in CAST else rng.choice(CAST)

    def laid_out(dtype, writes):
        order = rng.sample(range(rank), rank) if rng.random() < 0.8 else list(range(rank))
        steps = [1] * rank
        steps[rng.randrange(rank)] = rng.choice([1, 1, 2, 3])
        extents = [shape[axis] * steps[axis] + rng.choice([0, 0, 1]) for axis in order]
        memory = torch.randint(-60, 60, extents) if dtype != torch.bool else torch.randint(0, 2, extents)
        if dtype.itemsize == 1 and dtype.is_floating_point or rng.random() < 0.2 and dtype not in (torch.bool,) and of == to:
            memory = torch.randint(0, 256, [*extents, dtype.itemsize], dtype=torch.uint8).view(dtype).squeeze(-1)
        else:
            memory = memory.to(dtype)
        view = memory.permute([order.index(axis) for axis in range(rank)])
        view = view[tuple(slice(0, n * s, s) for n, s in zip(shape, steps))]
        if not writes and rng.random() < 0.1:
            axis = rng.randrange(rank)
            view = view.select(axis, 0).unsqueeze(axis).expand(shape)
        return memory, view

    memory, dst = laid_out(to, True)
    return memory, dst, laid_out(of, False)[1]


def test_random_pairs_are_the_same_bit_for_bit():
    rng = random.Random(5)
    torch.manual_seed(5)
    library = restride_torch.load()
    for _ in range(CASES):
        memory, dst, src = random_pair(rng)
        other = memory.clone()
        by_native = other.as_strided(dst.shape, dst.stride(), dst.storage_offset())
        library.restride_torch_enable(NEVER, b"copy_")
        by_native.copy_(src)
        library.restride_torch_enable(0, b"copy_")
        dst.copy_(src)
        same = torch.equal(memory.view(torch.uint8), other.view(torch.uint8))
        assert same, (dst.shape, dst.stride(), dst.dtype, src.stride(), src.dtype)
    assert restride.torch.stats().taken > CASES // 2


def test_float_casts_of_every_half():
    every = torch.arange(65536).to(torch.uint16).view(torch.float16).reshape(256, 256)
    for of in (every, every.view(torch.bfloat16)):
        for to in (torch.float32, torch.float64):
            expected = by_torch(lambda: of.T.to(to))
            got = of.T.to(to)
            assert torch.equal(torch.nan_to_num(got, 7.0), torch.nan_to_num(expected, 7.0))
    wide = torch.randn(512, 512) * 10 ** torch.randint(-45, 38, (512, 512)).float()
    for to in (torch.float16, torch.bfloat16, torch.float64):
        assert torch.equal(bits(wide.T.to(to)), bits(by_torch(lambda: wide.T.to(to))))


def of_words(name):
    return getattr(torch, name.removeprefix("torch."))


def strided(shape, strides, dtype):
    """A tensor of random bytes that are finite numbers of every dtype."""
    size = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))
    memory = torch.randint(0, 64, (size * dtype.itemsize,), dtype=torch.uint8).view(dtype)
    return memory, memory.as_strided(shape, strides)


COPIES = json.loads((pathlib.Path(__file__).parent / "program_copies.json").read_text())["copies"]


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: copy["program"])
def test_copies_of_whole_programs_are_the_same_bit_for_bit(copy):
    memory, dst = strided(copy["shape"], copy["strides"], of_words(copy["dtype"]))
    other = memory.clone()
    _, src = strided(copy["src_shape"], copy["src_strides"], of_words(copy["src_dtype"]))
    by_torch(lambda: other.as_strided(dst.shape, dst.stride()).copy_(src))
    dst.copy_(src)
    assert torch.equal(memory.view(torch.uint8), other.view(torch.uint8))


# ---- torch's own samples


OPERATORS = ["nn.functional.pixel_shuffle", "nn.functional.pixel_unshuffle", "hstack", "vstack", "dstack",
             "column_stack", "split_with_sizes_copy", "split_with_sizes", "clone", "contiguous", "reshape", "permute", "cat", "stack", "flip", "roll", "tile", "repeat", "expand_copy",
             "transpose_copy", "permute_copy", "to", "double", "half", "bfloat16", "float", "long", "einsum", "matmul",
             "index_put", "split", "unfold_copy", "as_strided_scatter", "slice_scatter", "select_scatter",
             "diagonal_scatter", "ravel", "flatten", "movedim", "rot90", "fliplr", "block_diag", "cdist", "masked_fill"]  # fmt: skip


def op_infos():
    with contextlib.suppress(ImportError):
        from torch.testing._internal.common_methods_invocations import op_db

        return [op for op in op_db if op.name in OPERATORS]
    return []


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("op", op_infos(), ids=lambda op: op.formatted_name)
@pytest.mark.filterwarnings("ignore")
def test_torch_s_samples(op, device):
    for dtype in [d for d in (torch.float32, torch.complex64, torch.uint8, torch.bfloat16) if d in op.supported_dtypes(device)]:
        for sample in op.sample_inputs(device, dtype, requires_grad=False):
            def call():
                torch.manual_seed(0)
                return op(sample.input, *sample.args, **sample.kwargs)

            expected, got = by_torch(call), call()
            torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)
