// Random exchanges as every rank of an engine runs and checks them, whatever the engine: all ranks draw the same case
// from a seed, each draws its own layouts, and each computes from the target's distribution alone what it must have.
#pragma once

#include <string>
#include <vector>

#include "src/distributed/regions.h"
#include "tests/distributed/random_distribution.h"

namespace restride::distributed::test {

/// The value of a global element: a hash of its linear index, so that neither order nor cut integers go unnoticed.
inline std::uint64_t hash_of_index(std::uint64_t i, std::uint64_t salt) {
  std::uint64_t z = i + salt * 0x9e3779b97f4a7c15 + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Memory for regions by any layouts, with canaries around and between the elements.
class Memory {
 public:
  Memory(std::vector<Layout> layouts, std::uint8_t canary);
  void* data() { return bytes_.data() + origin_; }
  std::int64_t origin() const { return origin_; }  ///< of `data` in `bytes`
  const std::vector<Layout>& layouts() const { return layouts_; }
  std::vector<std::uint8_t>& bytes() { return bytes_; }
  /// Writes all elements of a rank, or of what it should have.
  void fill(const Distribution& d, int rank, std::uint64_t salt, bool cast);

 private:
  std::vector<Layout> layouts_;
  std::vector<std::uint8_t> bytes_;
  std::int64_t origin_ = 0;
};

/// Layouts of a rank's regions with gaps, other orders, and backwards; each behind the one before.
std::vector<Layout> random_layouts(Rng& rng, const Distribution& d, int rank, Element element);

/// Runs a plan on copies of a rank's memory elsewhere, and brings both sides back; this one on the memory itself.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual void choose(ExchangeOptions& options) { static_cast<void>(options); }
  virtual void run(Plan& plan, std::vector<Memory>& to, std::vector<Memory>& from);
};

/// Runs one random case as this rank. `methods`: those to draw from. Returns what went wrong, with the case; empty: all
/// well.
std::string run_case(Comm& comm, std::uint64_t seed, const std::vector<Method>& methods, Runner& runner);
std::string run_case(Comm& comm, std::uint64_t seed, const std::vector<Method>& methods);

}  // namespace restride::distributed::test
