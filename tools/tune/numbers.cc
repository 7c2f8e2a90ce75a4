#include "tools/tune/numbers.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "src/cpu/planner.h"
#include "src/cuda/planner.h"

namespace restride::tune {
namespace {

using cpu::CpuMachine;

template <class Of, std::size_t kCount>
const plan::Number<Of>* find(const plan::Number<Of> (&numbers)[kCount], std::string_view name) {
  const auto* at = std::find_if(std::begin(numbers), std::end(numbers), [&](const auto& n) { return n.name == name; });
  return at == std::end(numbers) ? nullptr : at;
}

template <class Of>
double get(const plan::Number<Of>& n, const Of& of) {
  if (n.flag != nullptr) return of.*n.flag ? 1 : 0;
  return n.whole != nullptr ? static_cast<double>(of.*n.whole) : of.*n.real;
}

template <class Of>
void set(const plan::Number<Of>& n, Of* of, double value) {
  if (n.flag != nullptr)
    of->*n.flag = value != 0;
  else if (n.whole != nullptr)
    of->*n.whole = std::llround(value);
  else
    of->*n.real = std::round(value * 1e4) / 1e4;  // more digits say nothing
}

/// Calls `visit(number, costs that it is one of)` for the number of this name.
template <class Costs, class Visit>
void visit_cost(Costs& costs, std::string_view name, Visit&& visit) {
  if (const auto* n = find(cuda::kCostNumbers, name)) return visit(*n, costs);
  const std::size_t dot = name.find('.');
  for (const cuda::StagedPart& part : cuda::kStagedParts)
    if (part.name == name.substr(0, dot))
      visit(*find(cuda::kStagedCostNumbers, name.substr(dot + 1)), costs.*part.costs);
}

}  // namespace

std::vector<Tried> tried_numbers(const CpuMachine&) {
  const std::vector<double> steps = {0.35, 0.6, 1.6, 2.8};
  return {
      {"near", {0, 1}},
      {"tile_near", {0, 1}},
      {"tile_least_in_place_bytes", {1, 2, 4, 32}},
      {"tile_side_by_side", {0, 1}},
      {"tile_late", {0, 1}},
      {"tile_column_bytes", {64, 128, 256}},
      {"tile_byte_rows", {64, 128}},
      {"tile_band_columns", {256, 512, 1024, 2048}},
      {"tile_least_rows", {1, 16, 32, 64}},
      {"tile_read_bytes", {128, 256, 512}},
      {"pick_unit_ns", steps, true},
      {"shuffle_line_ns", steps, true},
      {"unit_ns", steps, true},
      {"row_ns", steps, true},
      {"tile_row_ns", steps, true},
      {"tile_column_ns", steps, true},
      {"tile_ragged_column_ns", steps, true},
      {"tile_on_lines_start", {0.1, 0.2, 0.5, 1}},
      {"tile_line_ns", steps, true},
      {"tile_record_line_ns", steps, true},
      {"rows_reversed_byte_ns", steps, true},
      {"rows_record_ns", steps, true},
      {"packed_cycle_ns", {0.25, 0.5, 0.8, 1.2}},
      {"packed_pages", {1, 1.1, 1.3, 1.6}},
      {"packed_short_run_pages", {0, 0.15, 0.4}},
      {"packed_many_runs", {1, 1.3, 1.6, 2.2}},
      {"buffered_dst_run_ns", steps, true},
      {"buffered_src_run_ns", steps, true},
      {"buffered_one_run_pages", {1, 1.15, 1.4, 1.8}},
      {"buffered_pages", {1, 1.3, 1.6, 2.2}},
      {"buffered_meeting_pages", {1.3, 2, 3}},
      {"channels_join_ragged_rows", steps, true},
      {"channels_split_ragged_rows", steps, true},
      {"channels_no_permutes", {1, 1.4, 2}},
      {"gather_unit_ns", steps, true},
  };
}

std::vector<Tried> tried_numbers(const Gpu& gpu) {
  std::vector<Tried> out;
  for (const std::string& name : number_names(gpu)) {
    if (name == "launch_ns") continue;  // large copies do not tell
    const double now = number(gpu, name);
    if (now == 0) continue;                       // a cost that this GPU was not seen to have
    const bool share = now >= 0.5 && now <= 1.5;  // of a copy's speed, or a factor near 1
    out.push_back({name, share ? std::vector{0.9, 0.95, 1.05, 1.1} : std::vector{0.35, 0.6, 1.6, 2.8}, true});
  }
  return out;
}

std::vector<std::string> number_names(const CpuMachine&) {
  std::vector<std::string> out;
  for (const auto& n : cpu::kCpuNumbers) out.emplace_back(n.name);
  return out;
}

std::vector<std::string> number_names(const Gpu&) {
  std::vector<std::string> out;
  for (const auto& n : cuda::kCostNumbers) out.emplace_back(n.name);
  for (const cuda::StagedPart& part : cuda::kStagedParts)
    for (const auto& n : cuda::kStagedCostNumbers) out.push_back(std::string(part.name) + '.' + std::string(n.name));
  return out;
}

double number(const CpuMachine& machine, std::string_view name) { return get(*find(cpu::kCpuNumbers, name), machine); }

double number(const Gpu& gpu, std::string_view name) {
  double out = 0;
  visit_cost(gpu.costs, name, [&](const auto& n, const auto& costs) { out = get(n, costs); });
  return out;
}

void set_number(CpuMachine* machine, std::string_view name, double value) {
  set(*find(cpu::kCpuNumbers, name), machine, value);
}

void set_number(Gpu* gpu, std::string_view name, double value) {
  visit_cost(gpu->costs, name, [&](const auto& n, auto& costs) { set(n, &costs, value); });
}

plan::Decision plan(const layout::Canonical& c, const CpuMachine& machine) { return cpu::plan_cpu(c, machine); }

plan::Decision plan(const layout::Canonical& c, const Gpu& gpu) {
  cuda::CudaMachine machine = gpu.machine;
  machine.costs = &gpu.costs;
  return cuda::plan_cuda(c, machine);
}

}  // namespace restride::tune
