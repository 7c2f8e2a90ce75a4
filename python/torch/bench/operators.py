#!/usr/bin/env python3
"""torch's operators beside copy_ with and without restride under them, in turns, each as a program calls it.

Usage: python/torch/bench/operators.py [--threads 1] [--reps 7] [--ops NAME ...] [--json OUT]

Every output is compared first, with its strides. Results are allocated by torch each time, so large ones are fresh memory.
A turn is torch, restride and torch again, the other way round every other time. A ratio is torch's time over ours, the median
of the turns'; `itself` is torch's over its own, by which the machine's noise shows. Of the operators that restride.torch takes, all are on.
"""
import argparse
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

NEVER = 2**60
torch.manual_seed(0)
IMAGES = torch.randn(16, 64, 56, 56)
PIXELS = torch.randint(0, 256, (8, 3, 480, 640), dtype=torch.uint8)
VOLUME = torch.randint(-1000, 3000, (160, 256, 256)).to(torch.int16)
WINDOWS = torch.randn(8, 56, 56, 96)
MATRIX = torch.randn(1024, 1024)
HEADS = torch.randn(8, 128, 16, 64)
LAST = IMAGES.to(memory_format=torch.channels_last)
SUPER = torch.randn(4, 48, 120, 160)


def foreach_copy():
    out = [torch.empty(1024, 1024) for _ in range(4)]
    torch._foreach_copy_(out, [MATRIX.T] * 4)
    return out[0]


CASES = {
    "cat rows": lambda: torch.cat([IMAGES, IMAGES], 0),
    "cat channels": lambda: torch.cat([IMAGES, IMAGES], 1),
    "cat last": lambda: torch.cat([HEADS, HEADS], -1),
    "cat channels_last": lambda: torch.cat([LAST, LAST], 1),
    "cat transposed": lambda: torch.cat([MATRIX.T, MATRIX.T], 0),
    "cat transposed small": lambda: torch.cat([MATRIX[:96, :96].T, MATRIX[:96, :96].T], 0),
    "cat heads": lambda: torch.cat([HEADS.transpose(1, 2), HEADS.transpose(1, 2)], 2),
    "stack rows": lambda: torch.stack([IMAGES, IMAGES]),
    "stack last": lambda: torch.stack([MATRIX, MATRIX], -1),
    "stack transposed": lambda: torch.stack([MATRIX.T, MATRIX.T]),
    "flip columns f32": lambda: IMAGES.flip(-1),
    "flip columns u8": lambda: PIXELS.flip(-1),
    "flip rows u8": lambda: PIXELS.flip(-2),
    "flip channels u8": lambda: PIXELS.permute(0, 2, 3, 1).contiguous().flip(-1),
    "flip volume": lambda: VOLUME.flip(0, 1, 2),
    "flip volume outer": lambda: VOLUME.flip(0),
    "flip small": lambda: MATRIX[:96, :96].flip(1),
    "flip view": lambda: PIXELS.permute(0, 2, 3, 1).flip(2),
    "roll window": lambda: WINDOWS.roll((-3, -3), (1, 2)),
    "roll rows": lambda: WINDOWS.roll(3, 1),
    "roll last": lambda: MATRIX.roll(1, 1),
    "roll flat": lambda: MATRIX.roll(1),
    "pixel_shuffle": lambda: torch.pixel_shuffle(SUPER, 4),
    "pixel_shuffle 2": lambda: torch.pixel_shuffle(IMAGES, 2),
    "pixel_shuffle channels_last": lambda: torch.pixel_shuffle(LAST, 2),
    "pixel_unshuffle": lambda: torch.pixel_unshuffle(IMAGES, 2),
    "pixel_unshuffle u8": lambda: torch.pixel_unshuffle(PIXELS, 4),
    "_foreach_copy_": foreach_copy,
    "split_with_sizes_copy": lambda: torch.split_with_sizes_copy(HEADS, [32, 32], -1)[0],
}


def bits(x):
    return x.contiguous().view(-1).view(torch.uint8)


def measure(name, call, reps):
    with torch.inference_mode():
        restride.torch.enable(min_bytes=NEVER)
        expected = call()
        restride.torch.enable(min_bytes=restride.torch.MIN_BYTES)
        restride.torch.stats(reset=True)
        got = call()
        operators = restride.torch.stats().operators
        if got.stride() != expected.stride() or not torch.equal(bits(got), bits(expected)):
            raise ValueError(f"{name}: another result with restride")
        times = {"torch": [], "restride": [], "again": []}
        start = time.perf_counter()
        call()
        inner = max(1, int(2e-3 / (time.perf_counter() - start)))
        turns = [("torch", NEVER), ("restride", restride.torch.MIN_BYTES), ("again", NEVER)]
        for _ in range(reps):
            for who, least in turns:
                restride.torch.enable(min_bytes=least)
                start = time.perf_counter()
                for _ in range(inner):
                    call()
                times[who].append((time.perf_counter() - start) / inner)
            turns.reverse()

    def ratio(who):
        return round(statistics.median(theirs / its for theirs, its in zip(times["torch"], times[who])), 3)

    return {"name": name, "ratio": ratio("restride"), "itself": ratio("again"),
            "us": round(statistics.median(times["restride"]) * 1e6, 1), "taken": sum(taken for _, taken in operators.values())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("--ops", nargs="*", default=[""])
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = []
    for name, call in CASES.items():
        if name.startswith(tuple(arguments.ops)):
            rows.append(measure(name, call, arguments.reps))
            print("{name:<28} {ratio:7.3f}  torch itself {itself:7.3f}  {us:10.1f} us  {taken} taken".format(**rows[-1]), flush=True)
    if arguments.json:
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
        result = {"device": cpu, "threads": arguments.threads, "torch": torch.__version__, "restride": restride.__version__,
                  "command": " ".join(["python/torch/bench/operators.py", *sys.argv[1:]]), "operators": rows}  # fmt: skip
        arguments.json.write_text(result_file.text(result) + "\n")


if __name__ == "__main__":
    main()
