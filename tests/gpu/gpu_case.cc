#include "tests/gpu/gpu_case.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/api/plan_impl.h"
#include "src/base/checked.h"
#include "src/cuda/kernels.h"

namespace restride::test {
namespace {

constexpr std::size_t kArenaBytes = std::size_t{64} << 20;  // more where a layout leaves wide gaps

std::int64_t alignment_of(const void* p) {
  return power_of_two_divisor(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p)), 128);
}

/// Where an arena's bytes start on the device, so that its data pointer is `skew` modulo 128.
std::byte* place(const DeviceBuffer& buffer, const Arena& arena, std::int64_t skew) {
  return buffer.data() + (((skew - arena.origin()) % 128) + 128) % 128;
}

std::size_t first_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

}  // namespace

struct GpuBench::Job {
  const Case& c;
  Arena src, dst;
  std::vector<std::uint8_t> expected, got;
  std::byte* src_base = nullptr;  // of the arenas' bytes on the device
  std::byte* dst_base = nullptr;
  void* dst_data() const { return dst_base + dst.origin(); }
  const void* src_data() const { return src_base + src.origin(); }
};

GpuBench::GpuBench() : src_(kArenaBytes), dst_(kArenaBytes) {}

void GpuBench::check(const Case& c, std::int64_t dst_skew, std::int64_t src_skew, std::uint64_t seed) {
  check_runs(c, dst_skew, src_skew, seed, [this](Job& job) { run_candidates(job); });
}

void GpuBench::check_plan(const Case& c, const Plan& plan, std::int64_t dst_skew, std::int64_t src_skew,
                          std::uint64_t seed) {
  check_runs(c, dst_skew, src_skew, seed, [&](Job& job) { run_one(job, plan, "given"); });
}

template <class Run>
void GpuBench::check_runs(const Case& c, std::int64_t dst_skew, std::int64_t src_skew, std::uint64_t seed, Run run) {
  Job job{c, Arena(c.src, 0, seed), Arena(c.dst, 0, ~seed), {}, {}, nullptr, nullptr};
  const std::size_t needed = std::max(job.src.bytes().size(), job.dst.bytes().size()) + 128;
  src_.reserve(needed);
  dst_.reserve(needed);
  const std::vector<std::uint8_t> before = job.dst.bytes();
  naive_copy(c.dst, job.dst.data(), c.src, job.src.data());
  job.expected = job.dst.bytes();
  job.dst.bytes() = before;
  {
    Options on_cpu;
    on_cpu.device = DeviceKind::kCpu;
    on_cpu.reshape = true;
    Plan(c.dst, c.src, on_cpu).run(job.dst.data(), job.src.data());
    ASSERT_EQ(first_difference(job.dst.bytes(), job.expected), job.expected.size())
        << "the CPU differs from the naive loop";
    job.dst.bytes() = before;
  }
  job.got.resize(job.expected.size());
  job.src_base = place(src_, job.src, src_skew);
  job.dst_base = place(dst_, job.dst, dst_skew);
  upload(job.src_base, job.src.bytes(), stream_);
  run(job);
  if (::testing::Test::HasFatalFailure()) return;
  std::vector<std::uint8_t> src_after(job.src.bytes().size());
  download(src_after, job.src_base, stream_);
  ASSERT_TRUE(src_after == job.src.bytes()) << "src was changed";
}

void GpuBench::run_candidates(Job& job) {
  Options options;
  options.device = DeviceKind::kCuda;
  options.reshape = true;
  const std::int64_t dst_align = alignment_of(job.dst_data());
  const std::int64_t src_align = alignment_of(job.src_data());
  const Plan plan(job.c.dst, job.c.src, options, dst_align, src_align);
  run_one(job, plan, "default");
  if (job.c.dst.elements() == 0) return;
  for (const plan::Candidate& k : plan.impl().decision.others) {
    if (::testing::Test::HasFatalFailure()) return;
    if (!k.applies) continue;
    plan::Decision decision = plan.impl().decision;
    decision.chosen = k;
    run_one(job, Plan(api::with_decision(plan.impl(), decision)), "candidate");
  }
  for (const cuda::Kernel& kernel : cuda::kernels()) {
    if (::testing::Test::HasFatalFailure()) return;
    options.family = kernel.name.text;
    try {
      run_one(job, Plan(job.c.dst, job.c.src, options, dst_align, src_align), "forced");
    } catch (const ArgumentError&) {
      continue;  // does not claim these layouts
    }
  }
}

void GpuBench::run_one(Job& job, const Plan& plan, const std::string& what) {
  upload(job.dst_base, job.dst.bytes(), stream_);  // nothing of an earlier copy may pass for this one's
  Options on_stream;
  on_stream.stream = static_cast<cudaStream_t>(stream_);
  const int rc = plan.run(job.dst_data(), job.src_data(), on_stream);
  ASSERT_EQ(rc, 0) << what << "\n" << plan.explain();
  download(job.got, job.dst_base, stream_);
  const std::size_t at = first_difference(job.got, job.expected);
  if (at < job.expected.size())
    FAIL() << what << ": byte " << static_cast<std::int64_t>(at) - job.dst.origin() << " of dst is " << int{job.got[at]}
           << " where " << int{job.expected[at]} << " should be and " << int{job.dst.bytes()[at]} << " was\n"
           << plan.explain();
  ++copies_;
  for (std::size_t f = 0; f < kFamilies.size(); ++f)
    if (plan.family() == kFamilies[f]) ++made_[f];
}

std::string GpuBench::claims() const {
  std::string out;
  for (std::size_t f = 0; f < kFamilies.size(); ++f)
    out += (f == 0 ? "" : ", ") + std::string(kFamilies[f]) + " " + std::to_string(made_[f]);
  return out;
}

}  // namespace restride::test
