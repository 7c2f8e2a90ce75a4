#include "tools/tune/numbers.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "src/cpu/numbers.h"
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
  std::vector<Tried> out;
  for (const plan::FittedNumber& n : cpu::kFittedCpuNumbers)
    out.push_back({std::string(n.name), {n.tried, n.tried + n.tries}, n.factors});
  return out;
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
