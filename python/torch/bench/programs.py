#!/usr/bin/env python3
"""Whole programs with and without restride under torch, in turns; outputs are compared bit by bit.

Usage: python/torch/bench/programs.py [--device cpu] [--threads N] [--seconds 8] [--scale 1.0] [--only NAME]... [--json OUT] [--trace OUT]

Random weights, shapes of real programs; --scale makes batches smaller. A time is that of as many runs as take 20 ms on a
GPU, one run on a CPU. A turn is torch, restride and torch again, the other way round every other time, until --seconds are
over, five times at least. A ratio is torch's time over ours, the median of the turns'; `itself` is torch's over its own,
by which the machine's noise shows. Nothing in a program knows of restride.
--trace writes which copies the programs make on the CPU, without restride; tests/test_same_bits.py replays those of
tests/program_copies.json.
"""
import argparse
import contextlib
import json
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts")]
import result_file  # noqa: E402
import restride.torch  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

NEVER = 2**60


def image_loader(device, n):
    """u8 HWC batches become normalised f32 CHW."""
    images = torch.randint(0, 256, (n(32), 224, 224, 3), dtype=torch.uint8, device=device)
    mean = torch.tensor([0.485, 0.456, 0.406], device=device)[:, None, None]
    std = torch.tensor([0.229, 0.224, 0.225], device=device)[:, None, None]

    def run():
        planes = images.permute(0, 3, 1, 2).to(torch.float32, memory_format=torch.contiguous_format)
        return planes.div_(255).sub_(mean).div_(std)

    return run


def vit_patch_embedding(device, n):
    """Images are cut into 16x16 patches, and those projected."""
    images = torch.randn(n(16), 3, 224, 224, device=device)
    project = nn.Linear(768, 384).to(device)

    def run():
        patches = images.reshape(-1, 3, 14, 16, 14, 16).permute(0, 2, 4, 1, 3, 5).reshape(-1, 196, 768)
        return project(patches)

    return run


def resnet_channels_last(device, n):
    """A batch goes to channels_last, through three convolutions, and back."""
    images = torch.randn(n(8), 64, 56, 56, device=device)
    block = nn.Sequential(nn.Conv2d(64, 64, 1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 1))
    block = block.to(device).to(memory_format=torch.channels_last)

    def run():
        return block(images.contiguous(memory_format=torch.channels_last)).contiguous()

    return run


def checkpoint_load(device, n):
    """Expert weights of one byte, stored transposed, become the layout of a model."""
    stored = torch.randint(0, 256, (n(8), 5120, 2048), dtype=torch.uint8, device=device)
    stored = stored.view(torch.float8_e4m3fn)

    def run():
        return stored.transpose(1, 2).contiguous()

    return run


def kv_cache(device, n):
    """Keys and values of a token at a time are appended; attention reads them with heads in front."""
    steps, heads, width, batch = 64, 16, 64, n(8)
    cache = torch.zeros(2, batch, heads, 256 + steps, width, dtype=torch.bfloat16, device=device)
    tokens = torch.randn(steps, 2, batch, 1, heads, width, device=device).bfloat16()

    def run():
        for t in range(steps):
            cache[:, :, :, 256 + t : 257 + t] = tokens[t].transpose(2, 3)
        keys = cache[0].permute(0, 1, 3, 2).contiguous()
        return cache[0][:, :, -1:] @ keys

    return run


def einops_heavy(device, n):
    """An attention block whose every step is a rearrange."""
    from einops import rearrange

    x = torch.randn(n(8), 32, 32, 256, device=device)
    qkv = nn.Linear(256, 768, bias=False).to(device)

    def run():
        windows = rearrange(x, "b (h p) (w q) c -> (b h w) (p q) c", p=8, q=8)
        q, k, v = (rearrange(t, "n s (h d) -> n h s d", h=8).contiguous() for t in qkv(windows).chunk(3, -1))
        y = torch.softmax(q @ k.transpose(-1, -2) / 32**0.5, -1) @ v
        y = rearrange(y, "n h s d -> n s (h d)")
        return rearrange(y, "(b h w) (p q) c -> b c (h p) (w q)", h=4, w=4, p=8)

    return run


def medical_volume(device, n):
    """A 3-D image is turned and flipped into another orientation."""
    volume = torch.randint(-1000, 3000, (256, 256, n(160)), device=device).to(torch.int16)

    def run():
        return volume.permute(2, 1, 0).contiguous().flip(1).permute(1, 2, 0).contiguous().float()

    return run


PROGRAMS = [image_loader, vit_patch_embedding, resnet_channels_last, checkpoint_load, kv_cache, einops_heavy, medical_volume]


def seconds(run, device, count=1):
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        run()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def measure(program, device, least_seconds, scale):
    torch.manual_seed(0)
    run = program(device, lambda count: max(1, int(count * scale)))
    outputs, times = {}, {"torch": [], "restride": [], "again": []}
    with torch.inference_mode():
        for least, who in ((NEVER, "torch"), (restride.torch.MIN_BYTES, "restride")):
            restride.torch.enable(min_bytes=least)
            restride.torch.stats(reset=True)
            outputs[who] = run().contiguous().view(-1).view(torch.uint8).clone()
        taken = restride.torch.stats().taken
        if not torch.equal(*outputs.values()):
            raise ValueError(f"{program.__name__}: other bits with restride")
        count = 1 + int(20e-3 / seconds(run, device)) if device == "cuda" else 1
        turns = [("torch", NEVER), ("restride", restride.torch.MIN_BYTES), ("again", NEVER)]
        start = time.perf_counter()
        while len(times["torch"]) < 5 or time.perf_counter() < start + least_seconds:
            for who, least in turns:
                restride.torch.enable(min_bytes=least)
                times[who].append(seconds(run, device, count))
            turns.reverse()

    def ratio(who):
        return round(statistics.median(theirs / its for theirs, its in zip(times["torch"], times[who])), 3)

    return {"name": program.__name__, "ratio": ratio("restride"), "itself": ratio("again"), "turns": len(times["torch"]),
            "ms": round(statistics.median(times["restride"]) * 1e3, 3), "copies_taken": taken}


def trace(scale):
    """Every different copy_ of the programs: shape, strides and dtypes."""
    found = {}

    def record(self, src, non_blocking=False):
        if isinstance(src, torch.Tensor):  # no number
            key = (tuple(self.shape), self.stride(), str(self.dtype), tuple(src.shape), src.stride(), str(src.dtype))
            found.setdefault(key, program.__name__)
        with contextlib.suppress(TypeError):  # bf16, whose values do not matter here
            self.numpy()[...] = src.numpy() if isinstance(src, torch.Tensor) else src
        return self

    library = torch.library.Library("aten", "IMPL")
    library.impl("copy_", record, "CPU")
    for program in PROGRAMS:
        run = program("cpu", lambda count: max(1, int(count * scale)))
        with torch.inference_mode():
            run()
    names = ("shape", "strides", "dtype", "src_shape", "src_strides", "src_dtype")
    return [{"program": who, **dict(zip(names, key))} for key, who in found.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", action="append", choices=[program.__name__ for program in PROGRAMS])
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--trace", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    if arguments.trace:
        arguments.trace.write_text(result_file.text({"copies": trace(arguments.scale)}) + "\n")
        return
    rows = []
    for program in PROGRAMS:
        if arguments.only and program.__name__ not in arguments.only:
            continue
        rows.append(measure(program, arguments.device, arguments.seconds, arguments.scale))
        print("{name:<24} {ratio:7.3f}  torch itself {itself:7.3f}  {ms:10.3f} ms  {copies_taken} copies by restride".format(**rows[-1]), flush=True)
    if arguments.json:
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
        result = {"device": torch.cuda.get_device_name() if arguments.device == "cuda" else cpu,
                  "threads": torch.get_num_threads(), "torch": torch.__version__, "restride": restride.__version__,
                  "command": " ".join(["python/torch/bench/programs.py", *sys.argv[1:]]), "programs": rows}  # fmt: skip
        arguments.json.write_text(result_file.text(result) + "\n")


if __name__ == "__main__":
    main()
