// Exchanges of memory of GPUs between ranks that are threads. Ranks take turns at the GPUs there are; on one they share
// it, which leaves out peer access alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>

#include "tests/distributed/random_exchange.h"
#include "tests/distributed/thread_ranks.h"
#include "tests/gpu/device_check.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/on_gpu.h"

namespace restride::distributed {
namespace {

using restride::test::DeviceBuffer;
using restride::test::download;
using restride::test::HeldStream;
using restride::test::Stream;
using restride::test::upload;
using test::on_threads;
using test::OnGpu;
using test::take_gpu;
using Said = std::vector<std::string>;

ExchangeOptions on_gpu(int gpu) {
  ExchangeOptions options;
  options.device = DeviceKind::kCuda;
  options.cuda_device = gpu;
  options.deadline = std::chrono::seconds(60);
  return options;
}

Side side(const char* text, Element element = DType::kI32) { return {parse_distribution(text), element, {}}; }

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

/// All ranks are here.
void meet(Comm& comm) {
  comm.allgather(nullptr, nullptr, 0, "the test", std::chrono::steady_clock::now() + std::chrono::seconds(60));
}

/// Cases a number of ranks: RESTRIDE_CASES counts the layouts of a whole test run, 20,000 or 2,000.
std::int64_t cases() {
  const char* text = std::getenv("RESTRIDE_CASES");
  return std::max<std::int64_t>(5, (text != nullptr ? std::atoll(text) : 2000) / 100);
}

class GpuExchanges : public testing::TestWithParam<int> {};

TEST_P(GpuExchanges, BringEveryElementAndTouchNothingElse) {
  const int ranks = GetParam();
  const std::int64_t count = cases();
  Threads world(ranks);
  for (const std::string& wrong : on_threads(world, [&](Comm& comm) {
         OnGpu gpu(comm, static_cast<std::uint64_t>(ranks * 100 + comm.rank()));
         for (std::int64_t i = 0; i < count; ++i)
           if (std::string wrong =
                   test::run_case(comm, static_cast<std::uint64_t>(ranks * 1'000'000 + i), {Method::kAuto}, gpu);
               !wrong.empty()) {
             comm.abort(wrong);
             return wrong;
           }
         return std::string();
       }))
    EXPECT_EQ(wrong, "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, GpuExchanges, testing::Range(1, 9));

constexpr int kRanks = 3;
constexpr std::int32_t kSide = 96, kPart = kSide / kRanks, kElements = kSide * kPart;
constexpr std::size_t kBytes = sizeof(std::int32_t) * kElements;
const char* const kRows = "(96,96) as (block[0],*) over (3)";
const char* const kColumns = "(96,96) as (*,block[0]) over (3)";

std::vector<std::uint8_t> bytes_of(const std::vector<std::int32_t>& numbers) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(numbers.data());
  return {begin, begin + numbers.size() * sizeof(std::int32_t)};
}

/// A rank's rows; element (i, j) is 96 i + j and `more`.
std::vector<std::uint8_t> rows_of(int rank, int more) {
  std::vector<std::int32_t> v(kElements);
  std::iota(v.begin(), v.end(), rank * kElements + more);
  return bytes_of(v);
}

std::vector<std::uint8_t> columns_of(int rank, int more) {
  std::vector<std::int32_t> v;
  for (std::int32_t i = 0; i < kSide; ++i)
    for (std::int32_t j = 0; j < kPart; ++j) v.push_back(i * kSide + rank * kPart + j + more);
  return bytes_of(v);
}

/// A rank of rows that become columns, which has run once, so that all kernels are loaded.
struct Ready {
  explicit Ready(Comm& comm) : gpu(take_gpu(comm)), src(kBytes), dst(kBytes) {
    p.emplace(plan(side(kRows), side(kColumns), comm, on_gpu(gpu)));
    upload(src.data(), rows_of(comm.rank(), 0), stream);
    p->run(dst.data(), src.data(), stream);
    upload(dst.data(), clear, stream);
    stream.synchronize();
    restride::test::launch_delay(1, stream);
    meet(comm);
  }
  std::vector<std::uint8_t> got(cudaStream_t on) {
    std::vector<std::uint8_t> out(kBytes);
    download(out, dst.data(), on);
    return out;
  }
  std::string works(Comm& comm) {
    upload(src.data(), rows_of(comm.rank(), 7), stream);
    p->run(dst.data(), src.data(), stream);
    return got(stream) == columns_of(comm.rank(), 7) ? "works" : "wrong elements";
  }

  int gpu;
  DeviceBuffer src, dst;
  Stream stream;
  std::optional<Plan> p;
  const std::vector<std::uint8_t> clear = std::vector<std::uint8_t>(kBytes, 0x5a);
};

TEST(GpuExchange, NothingIsStoredBeforeTheTargetsStreamIsThere) {
  Threads world(kRanks);
  for (const std::string& wrong : on_threads(world, [](Comm& comm) -> std::string {
         Ready r(comm);
         Stream other;
         // Of one rank alone: CUDA may run all streams' host functions by one thread.
         std::optional<HeldStream> held;
         if (comm.rank() == 1) held.emplace();
         cudaStream_t stream = held ? held->stream() : static_cast<cudaStream_t>(r.stream);
         // Behind what holds it up, rank 1 writes to dst itself; only then may others.
         RESTRIDE_CHECK_CUDA(cudaMemsetAsync(r.dst.data(), 0x77, kBytes, stream));
         r.p->run(r.dst.data(), r.src.data(), stream);
         meet(comm);  // every rank's run has returned, although no rank's can have ended
         std::string wrong;
         std::this_thread::sleep_for(std::chrono::milliseconds(20));  // for what is stored too early to be there
         if (held && r.got(other) != r.clear) wrong = "stored too early; ";
         if (cudaStreamQuery(stream) != cudaErrorNotReady) wrong += "it did not wait for rank 1; ";
         meet(comm);
         if (held) held->release();
         return wrong + (r.got(stream) == columns_of(comm.rank(), 0) ? "" : "wrong elements");
       }))
    EXPECT_EQ(wrong, "");
}

TEST(GpuExchange, WhatComesBehindOnAStreamFindsDstAndMayChangeSrc) {
  Threads world(kRanks);
  constexpr int kTimes = 40, kSets = 4;
  for (const std::string& wrong : on_threads(world, [](Comm& comm) -> std::string {
         Ready r(comm);
         DeviceBuffer sets(kBytes * kSets), results(kBytes * kTimes);
         for (int k = 0; k < kSets; ++k) {
           upload(sets.data() + kBytes * static_cast<std::size_t>(k), rows_of(comm.rank(), 1000 * k), r.stream);
           r.stream.synchronize();
         }
         const auto move = [&](std::byte* to, const std::byte* from) {
           RESTRIDE_CHECK_CUDA(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToDevice, r.stream));
         };
         for (int i = 0; i < kTimes; ++i) {
           if ((i + comm.rank()) % 3 == 0) restride::test::launch_delay(100 + 50 * comm.rank(), r.stream);
           move(r.src.data(), sets.data() + kBytes * static_cast<std::size_t>(i % kSets));
           r.p->run(r.dst.data(), r.src.data(), r.stream);
           RESTRIDE_CHECK_CUDA(cudaMemsetAsync(r.src.data(), 0xee, kBytes, r.stream));
           move(results.data() + kBytes * static_cast<std::size_t>(i), r.dst.data());
           RESTRIDE_CHECK_CUDA(cudaMemsetAsync(r.dst.data(), 0xdd, kBytes, r.stream));
         }
         std::vector<std::uint8_t> out(kBytes);
         for (int i = 0; i < kTimes; ++i) {
           download(out, results.data() + kBytes * static_cast<std::size_t>(i), r.stream);
           if (out != columns_of(comm.rank(), 1000 * (i % kSets))) return "run " + std::to_string(i);
         }
         return "";
       }))
    EXPECT_EQ(wrong, "");
}

TEST(GpuExchange, LargePiecesArePermutedOnTheWay) {
  // All ranks' rows are one matrix; each gets its columns with the other axis fastest.
  constexpr int kOver = 4;
  constexpr std::int64_t kN = 4096, kColumnsOf = kN / kOver;
  int gpu = 0;
  RESTRIDE_CHECK_CUDA(cudaSetDevice(gpu));
  DeviceBuffer whole(kN * kN * 4);
  restride::test::fill_hashed(whole.data(), kN * kN * 4, 1, nullptr);
  RESTRIDE_CHECK_CUDA(cudaDeviceSynchronize());
  Threads world(kOver);
  for (const std::string& wrong : on_threads(world, [&](Comm& comm) -> std::string {
         RESTRIDE_CHECK_CUDA(cudaSetDevice(gpu));
         Plan p = plan(side("(4096,4096) as (block[0],*) over (4)", DType::kF32),
                       side("(4096,4096) as (*,block[0]) over (4) order (1,0)", DType::kF32), comm, on_gpu(gpu));
         DeviceBuffer mine(kN * kColumnsOf * 4);
         Stream stream;
         p.run(mine.data(), whole.data() + comm.rank() * kN * kColumnsOf * 4, stream);
         stream.synchronize();
         Layout columns = strided(DType::kF32, std::vector<std::int64_t>{kN, kColumnsOf},
                                  std::vector<std::int64_t>{kN * 4, 4}, comm.rank() * kColumnsOf * 4);
         const std::int64_t different = restride::test::count_differences(
             mine.data(), permute(contiguous(DType::kF32, {kColumnsOf, kN}), {1, 0}), whole.data(), columns, stream);
         return different == 0 ? "" : std::to_string(different) + " elements differ";
       }))
    EXPECT_EQ(wrong, "");
}

TEST(GpuExchange, ACapturedStreamIsRefusedAndStaysAsItWas) {
  Threads world(kRanks);
  const Said said = on_threads(world, [](Comm& comm) -> std::string {
    Ready r(comm);
    r.stream.synchronize();
    if (comm.rank() == 1) RESTRIDE_CHECK_CUDA(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal));
    std::string out;
    try {
      r.p->run(r.dst.data(), r.src.data(), r.stream);
    } catch (const UnsupportedError& e) {
      out = begins(e.what(), "the stream is being captured") ? "captured" : e.what();
    } catch (const AgreementError& e) {
      out = e.what();
    }
    if (comm.rank() == 1) {
      cudaGraph_t graph = nullptr;
      RESTRIDE_CHECK_CUDA(cudaStreamEndCapture(r.stream, &graph));
      RESTRIDE_CHECK_CUDA(cudaGraphDestroy(graph));
    }
    if (r.got(r.stream) != r.clear) return "written";
    return out + "; " + r.works(comm);
  });
  const std::string others = "rank 1 could not run: see the error there; dst is as it was; works";
  EXPECT_EQ(said, (Said{others, "captured; works", others}));
}

TEST(GpuExchange, WrongMemoryStopsTheRunBeforeAByteIsWritten) {
  Threads world(kRanks);
  const Said said = on_threads(world, [](Comm& comm) -> std::string {
    Ready r(comm);
    std::vector<std::int32_t> host(kElements, 3);
    std::string out;
    try {
      r.p->run(comm.rank() == 1 ? static_cast<void*>(host.data()) : r.dst.data(), r.src.data(), r.stream);
    } catch (const Error& e) {
      out = std::string(e.what()) + "; ";
    }
    if (r.got(r.stream) != r.clear || host != std::vector<std::int32_t>(kElements, 3)) return "written";
    Plan of_host = plan(side(kRows), side(kColumns), comm);
    try {
      of_host.run(r.dst.data(), host.data());
    } catch (const DeviceError& e) {
      out += "DeviceError; ";
    } catch (const Error& e) {
      out += e.what();
    }
    return out + r.works(comm);
  });
  EXPECT_EQ(said[0], "rank 1 could not run: see the error there; dst is as it was; DeviceError; works");
  EXPECT_TRUE(begins(said[1], "dst of tensor 0 on rank 1 is in host memory, but the plan is for cuda:")) << said[1];
  EXPECT_NE(said[1].find("DeviceError; works"), std::string::npos);
}

TEST(GpuExchange, ARankThatDoesNotRunLeavesNoStreamWaiting) {
  Threads world(kRanks);
  const Said said = on_threads(world, [](Comm& comm) -> std::string {
    const int gpu = take_gpu(comm);
    DeviceBuffer src(kBytes), dst(kBytes);
    ExchangeOptions options = on_gpu(gpu);
    options.deadline = std::chrono::milliseconds(500);
    Plan p = plan(side(kRows), side(kColumns), comm, options);
    Stream stream;
    RESTRIDE_CHECK_CUDA(cudaMemsetAsync(dst.data(), 0x5a, kBytes, stream));
    if (comm.rank() == 2) return "gone";
    std::string out;
    try {
      p.run(dst.data(), src.data(), stream);
    } catch (const DeadlineError& e) {
      out = e.what();
    }
    std::vector<std::uint8_t> got(kBytes);
    download(got, dst.data(), stream);
    return got == std::vector<std::uint8_t>(kBytes, 0x5a) ? out : "written";
  });
  for (int r : {0, 1})
    EXPECT_TRUE(begins(said[static_cast<std::size_t>(r)], "rank 2 did not come to run before the deadline")) << said[0];
}

TEST(GpuExchange, APlanMayEndBeforeOtherRanksHaveWaitedForIt) {
  Threads world(kRanks);
  for (const std::string& wrong : on_threads(world, [](Comm& comm) -> std::string {
         Ready r(comm);
         for (int i = 0; i < 30; ++i) {
           Plan p = plan(side(kRows), side(kColumns), comm, on_gpu(r.gpu));
           if ((i + comm.rank()) % 3 == 0) restride::test::launch_delay(200, r.stream);
           upload(r.src.data(), rows_of(comm.rank(), i), r.stream);
           p.run(r.dst.data(), r.src.data(), r.stream);
           if ((i + comm.rank()) % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
           p = plan(side(kColumns), side(kRows), comm, on_gpu(r.gpu));  // the first one ends here
           if (r.got(r.stream) != columns_of(comm.rank(), i)) {
             comm.abort("wrong elements");
             return "wrong elements";
           }
         }
         return "";
       }))
    EXPECT_EQ(wrong, "");
}

TEST(GpuExchange, AModelAmongGpusIsAnErrorOnAll) {
  Threads world(kRanks);
  const Said said = on_threads(world, [](Comm& comm) -> std::string {
    try {
      plan(side(kRows), side(kColumns), comm, on_gpu(comm.rank() == 1 ? kModelDevice : take_gpu(comm)));
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  });
  for (const std::string& s : said) EXPECT_TRUE(begins(s, "rank 1 plans for a model of a GPU")) << s;
}

TEST(GpuExchange, SaysWhatItDoes) {
  Threads world(1);
  Plan p = plan(side("(2,3) as (*,*) over (1)"), side("(2,3) as (*,*) over (1)"), world.comm(0), on_gpu(0));
  EXPECT_NE(p.explain().find("engine     fused of 1 by threads: cuda:0 stores into the memory of 0 other ranks"),
            std::string::npos)
      << p.explain();
  EXPECT_EQ(p.workspace_bytes(), 0);
}

}  // namespace
}  // namespace restride::distributed
