// Tile's kernels as the registry sees them.
#pragma once

#include <span>

#include "src/cuda/kernel.h"

namespace restride::cuda {

void bid_tiles(const Request& request, std::span<Candidate> bids);   ///< of tile/aligned, /registers, /unaligned, /bulk
void bid_chains(const Request& request, std::span<Candidate> bids);  ///< of tile/chains
void bid_unaligned_chains(const Request& request, std::span<Candidate> bids);  ///< of tile/unaligned_chains
void bid_pixel_tiles(const Request& request, std::span<Candidate> bids);       ///< of tile/pixels

void prepare_tiles(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);
void prepare_bulk_tiles(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);
void prepare_chains(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);
void prepare_unaligned_chains(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);
void prepare_pixel_tiles(const layout::Canonical& c, const Candidate& chosen, CudaArgs& out);

Launcher launch_tile_aligned, launch_tile_registers, launch_tile_unaligned, launch_tile_bulk, launch_tile_chains,
    launch_tile_pixels, launch_tile_unaligned_chains;

/// tile/unaligned_chains for units that are converted.
int launch_unaligned_chains_cast(const UnalignedChainArgs& c, const Units& units, const Launch& on) noexcept;

/// tile/aligned for the tiles of another kernel: of tile/bulk, where the driver cannot describe the source.
int launch_aligned_tiles(const TileArgs& tiles, const Units& units, const Launch& on) noexcept;

}  // namespace restride::cuda
