// What the sources hold and how outputs are checked on the device: a value that depends on the position alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "lab/device.h"

namespace restride::lab {

/// Element i of the source. 4-byte elements are floats in [-512, 512) with 23 random bits, so that the cast
/// to f16 rounds them; smaller ones are random bits.
void fill_source(void* src, std::int64_t elements, int element_bytes, cudaStream_t stream);

/// Adds to *wrong the number of elements of `dst` that are not what the task's rung should have put there.
/// Reads no source: the expected value follows from the position.
void count_wrong(const Task& task, int element_bytes, const void* dst, unsigned long long* wrong, cudaStream_t stream);

}  // namespace restride::lab
