#!/usr/bin/env python3
"""Writes bench/cases/odd.json: permutations of three to six modes of odd extents, batches of odd matrices, long and short
columns, pairs taken apart, of every element size; a reversal of six modes, eight modes, a cube of complex numbers.
Seeded, so that the file is the same at every run.

Usage: scripts/odd_cases.py > bench/cases/odd.json
"""
import json
import math
import random

SEED = 20261123
SIDE_BYTES = 96 << 20  # of a case, about
DTYPES = {1: "u8", 2: "f16", 4: "f32", 8: "f64", 16: "c128"}


def odd(rng, low, high):
    return rng.randrange(low | 1, high + 1, 2)


def case(name, kind, shape, axes, size):
    return {"name": f"{name}_{DTYPES[size]}", "class": kind, "shape": shape, "axes": axes, "src": DTYPES[size],
            "dst": DTYPES[size]}


def permutation(rng, rank, size):
    """Modes of 7 to 120, their product about SIDE_BYTES; every mode changes its place, the last one above all."""
    per_mode = (SIDE_BYTES / size) ** (1 / rank)
    shape = [min(121, max(7, odd(rng, int(per_mode * 0.7), int(per_mode * 1.4)))) for _ in range(rank)]
    while True:
        axes = rng.sample(range(rank), rank)
        if axes[-1] != rank - 1 and all(axes[i] + 1 != axes[i + 1] for i in range(rank - 1)):
            break
    shape[axes[0]] = max(7, round(SIDE_BYTES / size / math.prod(shape) * shape[axes[0]]) | 1)
    return case("odd_" + "x".join(map(str, shape)) + "_" + "".join(map(str, axes)), "odd permutations", shape, axes, size)


def batch(rng, size):
    rows, cols = odd(rng, 7, 119), odd(rng, 7, 119)
    count = SIDE_BYTES // size // (rows * cols)
    return case(f"odd_batch_{rows}x{cols}", "odd batches", [count, rows, cols], [0, 2, 1], size)


def main():
    rng = random.Random(SEED)
    cases = []
    for size in DTYPES:
        cases += [permutation(rng, rank, size) for rank in ((3, 4, 4, 5, 6) if size < 16 else (3, 4, 5))]
        cases += [batch(rng, size) for _ in range(3)]
    cases += [case("odd_batch_35x67", "odd batches", [20000, 35, 67], [0, 2, 1], 2),
              case("odd_batch_12x12", "odd batches", [699051, 12, 12], [0, 2, 1], 1),
              case("odd_pairs_64", "odd batches", [393216, 64, 2], [0, 2, 1], 2),
              case("odd_batch_13x11x7", "odd batches", [50293, 13, 11, 7], [0, 3, 2, 1], 2),
              case("odd_columns_100", "odd columns", [1006633, 100], [1, 0], 1),
              case("odd_columns_101", "odd columns", [498333, 101], [1, 0], 2)]
    cases += [case(f"odd_short_columns_{units}", "short columns", [units, SIDE_BYTES // size // units], [1, 0], size)
              for units, size in ((311, 1), (277, 2), (243, 4), (203, 8))]
    cases += [case("odd_reverse6", "odd permutations", [17, 19, 15, 17, 19, 15], [5, 4, 3, 2, 1, 0], 4),
              case("odd_permute8", "eight modes", [9, 11, 7, 9, 11, 7, 9, 11], [3, 6, 0, 4, 7, 1, 5, 2], 2),
              {"name": "odd_cube_229_c64", "class": "cubes", "shape": [229, 229, 229], "axes": [2, 1, 0], "src": "c64",
               "dst": "c64"}]
    lines = ",\n  ".join(json.dumps(c) for c in cases)
    print('{"source": "Odd extents, made by scripts/odd_cases.py with a fixed seed.",\n "cases": [\n  ' + lines + "\n ]}")


if __name__ == "__main__":
    main()
