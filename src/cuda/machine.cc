#include "src/cuda/machine.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "src/base/json_text.h"

namespace restride::cuda {
namespace {

/// The GPUs that were measured.
constexpr GpuNumbers kKnownGpus[] = {{"NVIDIA H200", 9, 0, 4250, kH200Costs}, {"NVIDIA H100", 9, 0, 2900, kH100Costs}};

constexpr plan::Number<GpuNumbers> kTraits[] = {{"cc_major", nullptr, &GpuNumbers::cc_major},
                                                {"cc_minor", nullptr, &GpuNumbers::cc_minor},
                                                {"copy_bytes_per_ns", &GpuNumbers::copy_bytes_per_ns}};

[[noreturn]] void unknown(std::string_view name) {
  throw ParseError(fmt::format("'{}' is no number of a GPU's", name));
}

/// The costs of packed/staged, where `member` has them.
bool read_staged(const base::JsonMember& member, Costs* costs) {
  for (const StagedPart& part : kStagedParts) {
    if (part.name != member.key) continue;
    if (member.value.object() == nullptr) throw ParseError(fmt::format("'{}' is no object", part.name));
    for (const base::JsonMember& m : *member.value.object())
      if (!plan::read_number(m, kStagedCostNumbers, &(costs->*part.costs))) unknown(m.key);
    return true;
  }
  return false;
}

/// How far a GPU is from one that was measured: first by compute capability, then by what memory moves.
struct Distance {
  std::int64_t capability = 0;
  double bandwidth = 0;
  friend auto operator<=>(const Distance&,
                          const Distance&) = default;  // NOLINT(modernize-use-nullptr): takes <=> for 0
};

Distance between(const GpuNumbers& known, const CudaMachine& gpu) {
  const std::int64_t capability = known.cc_major * 10 + known.cc_minor - (gpu.cc_major * 10 + gpu.cc_minor);
  return {std::abs(capability), std::abs(std::log2(known.copy_bytes_per_ns / gpu.copy_bytes_per_ns))};
}

}  // namespace

void take_nearest_costs(std::span<const GpuNumbers> own, CudaMachine* gpu) noexcept {
  const GpuNumbers* nearest = own.empty() ? &kKnownGpus[0] : &own[0];
  for (const std::span<const GpuNumbers> list : {own, std::span<const GpuNumbers>(kKnownGpus)})
    for (const GpuNumbers& known : list)
      if (between(known, *gpu) < between(*nearest, *gpu)) nearest = &known;
  gpu->name = nearest->name;
  gpu->costs = &nearest->costs;
}

std::string to_json(const GpuNumbers& gpu) {
  std::string out = fmt::format("{{\"name\": {}", base::json_quoted(gpu.name));
  plan::append_numbers(&out, kTraits, gpu);
  plan::append_numbers(&out, kCostNumbers, gpu.costs);
  for (const StagedPart& part : kStagedParts) {
    out += fmt::format(", \"{}\": {{", part.name);
    plan::append_numbers(&out, kStagedCostNumbers, gpu.costs.*part.costs);
    out += '}';
  }
  return out += '}';
}

GpuNumbers gpu_numbers_from(const base::JsonValue& in) {
  if (in.object() == nullptr) throw ParseError("'gpus' holds something else than objects");
  GpuNumbers gpu{plan::machine_name(in), 0, 0, 0, kH200Costs};
  for (const plan::Number<GpuNumbers>& trait : kTraits)
    if (in.find(trait.name) == nullptr) throw ParseError(fmt::format("a GPU needs '{}'", trait.name));
  for (const base::JsonMember& m : *in.object()) {
    if (m.key == "name" || plan::read_number(m, kTraits, &gpu)) continue;
    if (!plan::read_number(m, kCostNumbers, &gpu.costs) && !read_staged(m, &gpu.costs)) unknown(m.key);
  }
  return gpu;
}

}  // namespace restride::cuda
