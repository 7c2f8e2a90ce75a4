// What the programs for exchanges by NCCL have in common: nccl_fake.cc, nccl_real.cc. Exit status: 0 all well, 77 no
// GPU and nothing tested, 1 else.
#pragma once

#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include "tests/distributed/multicast.h"
#include "tests/gpu/on_gpu.h"

namespace restride::distributed::test {

using restride::test::DeviceBuffer;
using restride::test::Stream;

inline Side side(const char* text, Element element = DType::kI32) { return {parse_distribution(text), element, {}}; }

class ByMethod final : public Runner {
 public:
  ByMethod(const Comm& comm, Method method)
      : method_(method), inner_(comm, static_cast<std::uint64_t>(comm.size() * 100 + comm.rank())) {}
  void choose(ExchangeOptions& options) override {
    const std::int64_t bound = options.most_workspace_bytes;
    inner_.choose(options);
    options.method = method_;
    if (bound > 0) options.most_workspace_bytes = bound + 4 * 16 * 256;
  }
  void run(Plan& plan, std::vector<Memory>& to, std::vector<Memory>& from) override { inner_.run(plan, to, from); }

 private:
  Method method_;
  OnGpu inner_;
};

inline std::string random_cases(Comm& comm, Method method, int cases) {
  ByMethod runner(comm, method);
  for (int i = 0; i < cases; ++i)
    if (std::string wrong =
            run_case(comm, static_cast<std::uint64_t>(comm.size() * 1'000'000 + i), {Method::kMessages}, runner);
        !wrong.empty())
      return wrong;
  return {};
}

inline ExchangeOptions options_of(bool check_runs, Method method = Method::kMessages) {
  ExchangeOptions options;
  options.method = method;
  options.device = DeviceKind::kCuda;
  options.check_runs = check_runs;
  options.deadline = std::chrono::seconds(30);
  return options;
}

/// A permuted exchange of `n` by `n` floats, timed by the stream: milliseconds, the best of some.
inline std::string timed(Comm& comm, std::int64_t n, bool check_runs, Method method, double* ms) {
  const int ranks = comm.size();
  std::ostringstream shape, over;
  shape << '(' << n << ',' << n << ')';
  over << " over (" << ranks << ')';
  const std::string rows = shape.str() + " as (block[0],*)" + over.str(),
                    columns = shape.str() + " as (*,block[0])" + over.str() + " order (1,0)";
  Plan p =
      plan(side(rows.c_str(), DType::kF32), side(columns.c_str(), DType::kF32), comm, options_of(check_runs, method));
  const std::int64_t bytes = n * n / ranks * 4;
  DeviceBuffer src(static_cast<std::size_t>(bytes)), dst(static_cast<std::size_t>(bytes));
  Stream stream;
  cudaEvent_t begin = nullptr, end = nullptr;
  RESTRIDE_CHECK_CUDA(cudaEventCreate(&begin));
  RESTRIDE_CHECK_CUDA(cudaEventCreate(&end));
  *ms = 1e30;
  for (int i = 0; i < 8; ++i) {
    RESTRIDE_CHECK_CUDA(cudaEventRecord(begin, stream));
    p.run(dst.data(), src.data(), stream);
    RESTRIDE_CHECK_CUDA(cudaEventRecord(end, stream));
    RESTRIDE_CHECK_CUDA(cudaEventSynchronize(end));
    float took = 0;
    RESTRIDE_CHECK_CUDA(cudaEventElapsedTime(&took, begin, end));
    if (i > 0) *ms = std::min(*ms, static_cast<double>(took));
  }
  if (comm.rank() == 0) {
    std::printf("%s", p.explain().c_str());
    std::printf("time       %ld x %ld f32, %s: %.3f ms of the stream, %.1f GB/s of all the tensor's bytes\n",
                static_cast<long>(n), static_cast<long>(n), check_runs ? "checked" : "unchecked", *ms,
                static_cast<double>(bytes) * ranks / *ms / 1e6);
  }
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
  return {};
}

/// Small matrices of 6 bytes: by the library alone, with nothing else on the GPU.
inline std::string small_matrices() {
  restride::Options options;
  options.device = DeviceKind::kCuda;
  const Layout src = parse_layout("b6 (4,2,31):(62,1,2)"), dst = parse_layout("b6 (4,2,31):(62,31,1)");
  const restride::Plan p(dst, src, options, 128, 128);
  DeviceBuffer from(4096), to(4096);
  Stream stream;
  options.stream = stream;
  const int status = p.run(to.data(), from.data(), options);
  stream.synchronize();
  if (status == 0) return {};
  return std::string(cudaGetErrorString(static_cast<cudaError_t>(status))).append("\n").append(p.explain());
}

inline int failures = 0;
inline void report(const char* what, const std::string& wrong) {
  std::printf("%-60s %s\n", what, wrong.empty() ? "ok" : ("FAILED: " + wrong).c_str());
  std::fflush(stdout);
  failures += wrong.empty() ? 0 : 1;
}

/// What main() returns.
inline int run_program(const char* program, void (*all_tests)()) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("%s SKIPPED, nothing was tested: no GPU\n", program);
    return 77;
  }
  try {
    all_tests();
  } catch (const std::exception& e) {
    report(program, e.what());
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace restride::distributed::test
