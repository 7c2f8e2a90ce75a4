// What copies that stay in the caches take, on machines with permutes of two vectors: no machine's own, beside the
// machines' numbers in costs.h, which are of copies past the caches.
#pragma once

namespace restride::cpu {

/// What a call in the caches takes to lay out tiles of planes, before InCaches::units of it. (Zen 4, one thread, 17,000
/// random permutations of 300 bytes to 40 KB.)
inline constexpr double kCachedPlanesNs = 1800;

/// What buffered/blocks takes in the caches, before InCaches::units of it: beside other kernels' prices, which hold for
/// all machines there. (Zen 4, one thread, 34,000 random permutations of 16 KB to 4 MB; not measured on others.)
struct BufferedCachedCosts {
  double line_ns = 2.8;
  double byte_line_ns = 0.65;  ///< more of units of a byte ...
  double wide_line_ns = 1.3;   ///< ... and of 16 bytes
  double matrix_ns = 8.5;      ///< of rows and columns in one call
  double column_ns = 0.85;     ///< if its end lies inside a line
  double columns_ns = 0.1;     ///< of a line, for each four columns more that start in one cache set
  double rows_ns = 0.26;       ///< for each four rows more that do
};

/// What tile/units takes in the caches: beside other kernels' prices, which hold for all machines there. (Zen 4, one
/// thread, 38,000 random permutations of 16 KB to 8 MB; not measured on others.)
struct TileCachedCosts {
  double line_ns = 1.9;
  double row_ns = 6.6;            ///< a row of a tile, which is staged
  double column_ns = 0.5;         ///< a column of a tile ...
  double column_byte = 0.25;      ///< ... and more for each byte of its unit
  double ragged_column_ns = 5.2;  ///< more of one that ends inside a line, with no row of its own to go on
};

/// How much longer tile/matrices takes in the caches where its matrices are parts of larger ones. Only ratios, so they
/// are no machine's own. (Zen 4, one thread, 10,000 random permutations of 16 KB to 4 MB.)
struct PartedMatrixCosts {
  double bytes = 1.5;     ///< units of a byte, whose blocks take more shuffles
  double cut = 0.15;      ///< for each column, or row, of a line whose end lies inside the line
  double columns = 0.25;  ///< for each column of a line, and each four columns more that start in one cache set
  double rows = 0.15;     ///< for each four rows more that do; and as much again for each row of a line
};
inline constexpr PartedMatrixCosts kPartedMatrices;

/// What is left of the parts of a bid where the copy stays in the caches: bids' prices are of copies past them. A row
/// each in the registry (families.h). Fitted to 5,500 random layouts of 16 KB to 2.5 MB, in the caches, on one thread
/// of a Zen 4: of the fastest kernel's time the chosen one takes 1.05 times, before 1.14; on a Xeon, for which they
/// were not fitted, 1.08, before 1.13. So these three are no machine's own.
struct InCaches {
  double lines = 1;
  double starts = 1;
  double units = 1;
  /// The kernel transposes blocks of vectors, so CpuMachine::cached_small_blocks or cached_blocks count, too.
  bool blocks = false;
};

}  // namespace restride::cpu
