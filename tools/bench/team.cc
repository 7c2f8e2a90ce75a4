#include "tools/bench/team.h"

#include "src/cpu/team/team.h"

namespace restride::bench {

void Team::run(const std::function<void(int)>& body) const {
  cpu::run_tasks(
      nullptr, size_, size_, [](void* f, int i) { (*static_cast<const std::function<void(int)>*>(f))(i); },
      const_cast<std::function<void(int)>*>(&body));
}

}  // namespace restride::bench
