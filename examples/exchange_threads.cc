// Ranks that are threads: rows become columns, transposed on the way, and the plan says who sends what to whom.
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include <restride/distributed.hpp>
namespace dist = restride::distributed;
using restride::DType;

int main() {
  constexpr int kRanks = 4;
  constexpr std::int64_t kRows = 12, kColumns = 8;
  const dist::Distribution rows = dist::parse_distribution("(12,8) as (block[0],*) over (4)");
  // Each rank gets two columns, and its memory has them one behind the other: axis 0 fastest.
  const dist::Distribution columns = dist::parse_distribution("(12,8) as (*,block[0]) over (4) order (1,0)");

  dist::Threads world(kRanks);
  std::vector<int> wrong(kRanks, 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      std::vector<std::int32_t> in(kRows / kRanks * kColumns), out(kRows * kColumns / kRanks);
      for (std::size_t i = 0; i < in.size(); ++i)
        in[i] = rank * static_cast<std::int32_t>(in.size()) + static_cast<std::int32_t>(i);

      // All ranks call plan() once, and run() as often as they like.
      dist::Plan plan = dist::plan({rows, DType::kI32, {}}, {columns, DType::kI32, {}}, world.comm(rank));
      plan.run(out.data(), in.data());

      if (rank == 1) std::printf("%s", plan.explain().c_str());
      for (std::int64_t c = 0; c < 2; ++c)
        for (std::int64_t r = 0; r < kRows; ++r)
          wrong[static_cast<std::size_t>(rank)] +=
              out[static_cast<std::size_t>(c * kRows + r)] != r * kColumns + 2 * rank + c;
    });
  for (std::thread& t : threads) t.join();
  for (int w : wrong)
    if (w != 0) return 1;
  return 0;
}
