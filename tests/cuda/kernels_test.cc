// The registry: rows as the planner, plans and kernels' sources see them.
#include "src/cuda/kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "src/cuda/planner.h"
#include "tests/cuda/replay.h"

namespace restride {
namespace {

/// Every source of a kernel.
std::string all_sources() {
  std::ostringstream out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(RESTRIDE_TEST_DATA "/../src/cuda"))
    if (entry.path().extension() == ".cu") out << std::ifstream(entry.path()).rdbuf();
  return out.str();
}

TEST(CudaKernels, HaveOneNameEachThatStartsWithTheirFamily) {
  std::set<std::string_view> names;
  for (const cuda::Kernel& k : cuda::kernels()) {
    EXPECT_TRUE(names.insert(k.name.text).second) << k.name.text;
    EXPECT_TRUE(k.name.text.starts_with(std::string(name(k.name.family)) + "/")) << k.name.text;
    EXPECT_EQ(cuda::find_kernel(k.name.text), &k);
  }
  EXPECT_EQ(cuda::find_kernel("tile"), nullptr);
}

TEST(CudaKernels, HaveALauncherWhereTheyWereCompiled) {
  for (const cuda::Kernel& k : cuda::kernels()) EXPECT_EQ(k.launch != nullptr, RESTRIDE_HAS_CUDA == 1) << k.name.text;
}

TEST(CudaKernels, AreCalledInAProfilerAsInAPlan) {
  const std::string sources = all_sources();
  for (const cuda::Kernel& k : cuda::kernels()) {
    const bool run = k.name.family == plan::Family::kRun;  // moved by rows' kernels
    const std::string_view kernel = k.name.text.substr(k.name.text.find('/') + 1);
    const std::string symbol = fmt::format("{}_{}_kernel", run ? "rows" : name(k.name.family), kernel);
    EXPECT_EQ(k.symbol, symbol);
    EXPECT_NE(sources.find(" " + symbol + "("), std::string::npos) << symbol;
  }
}

TEST(CudaKernels, ThatShareABidStandTogether) {
  std::set<cuda::Bidder*> seen;
  const auto rows = cuda::kernels();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && rows[i].bid == rows[i - 1].bid) continue;
    EXPECT_TRUE(seen.insert(rows[i].bid).second) << rows[i].name.text;
  }
}

TEST(CudaKernels, EachSayWhyTheyDoNotApply) {
  for (const char* src : {"f32 (40,30)", "u8 (40,30):(1,40)", "f32 (40,30):(1,40)"}) {
    const plan::Decision decision = cuda::plan_cuda(cuda_test::canonical("f32 (40,30)", src), {});
    EXPECT_EQ(decision.others.size() + 1, cuda::kernels().size());
    for (const plan::Candidate& k : decision.others) EXPECT_TRUE(k.applies || !k.reason.empty()) << k.kernel.text;
  }
}

/// Kernels that leave a copy to a faster one of their family can be asked for all the same.
TEST(CudaKernels, ThatStandBackRunWhereTheyAreNamed) {
  const auto kernel = [](const char* dst, const char* src, const char* forced = "") {
    return std::string(cuda::plan_cuda(cuda_test::canonical(dst, src), {}, forced).chosen.kernel.text);
  };
  const char *matrix = "u8 (4096,4096)", *across = "u8 (4096,4096):(1,4096)";
  EXPECT_EQ(kernel(matrix, across), "tile/aligned");
  EXPECT_EQ(kernel(matrix, across, "tile"), "tile/aligned");
  EXPECT_EQ(kernel(matrix, across, "tile/unaligned"), "tile/unaligned");
  EXPECT_EQ(kernel(matrix, across, "tile/registers"), "tile/registers");
  const char *planes = "f32 (3,4800)", *records = "f32 (3,4800):(1,3)";
  EXPECT_EQ(kernel(planes, records, "packed"), "packed/records");
  EXPECT_EQ(kernel(planes, records, "packed/planes"), "packed/planes");
  EXPECT_EQ(kernel("f32 (4800,3)", "f32 (4800,3):(1,4800)", "packed/direct"), "packed/direct");
  EXPECT_EQ(kernel(planes, records, "packed/staged"), "packed/staged");
  for (const plan::Candidate& k : cuda::plan_cuda(cuda_test::canonical(matrix, across), {}).others)
    EXPECT_FALSE(k.applies && (k.kernel.text == "tile/unaligned" || k.kernel.text == "tile/registers"));
}

}  // namespace
}  // namespace restride
