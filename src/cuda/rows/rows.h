// The kernels of rows, and of run, as the registry sees them.
#pragma once

#include <span>

#include "src/cuda/kernel.h"

namespace restride::cuda {

void bid_lines(const Request& request, std::span<Candidate> bids);   ///< of run/words, run/cast, rows/words, rows/cast
void bid_pixels(const Request& request, std::span<Candidate> bids);  ///< of rows/pixels
void bid_short(const Request& request, std::span<Candidate> bids);   ///< of rows/short

void prepare_lines(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);
void prepare_pixels(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);
void prepare_short(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);

Launcher launch_rows_words, launch_rows_cast, launch_rows_pixels, launch_rows_short;

}  // namespace restride::cuda
