#include "tools/bench/team.h"

#include <thread>
#include <vector>

namespace restride::bench {

void Team::run(const std::function<void(int)>& body) const {
#ifdef _OPENMP
#pragma omp parallel for num_threads(size_) schedule(static, 1)
  for (int i = 0; i < size_; ++i) body(i);
#else
  std::vector<std::thread> others;
  for (int i = 1; i < size_; ++i) others.emplace_back([&body, i] { body(i); });
  body(0);
  for (std::thread& thread : others) thread.join();
#endif
}

}  // namespace restride::bench
