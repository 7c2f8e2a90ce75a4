#!/usr/bin/env python3
"""Compares what `./dev demo` wrote with NumPy's own computation: demo_check.py PHOTO FOLDER."""
import pathlib
import sys

import numpy as np


def expectations(photo: np.ndarray) -> dict[str, np.ndarray]:
    patches = photo.reshape(32, 16, 32, 16, 3).transpose(0, 2, 1, 3, 4).reshape(1024, 768)
    return {
        "planes_f32.npy": photo.transpose(2, 0, 1).astype(np.float32),
        "planes_f16.npy": photo.transpose(2, 1, 0).astype(np.float16),
        "patches.npy": patches,
        "face_mirrored.npy": photo[16:208, 128:320][:, ::-1],
        "back.npy": photo,
    }


def main() -> int:
    photo = np.load(sys.argv[1])
    failed = 0
    for name, expected in expectations(photo).items():
        got = np.load(pathlib.Path(sys.argv[2]) / name)
        same = got.dtype == expected.dtype and got.shape == expected.shape and np.array_equal(got, expected)
        failed += not same
        print(f"{'equal to' if same else 'DIFFERS from'} NumPy's: {name:<18} {got.dtype} {got.shape}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
