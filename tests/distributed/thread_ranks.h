// Runs a function as every rank of a Threads.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <restride/distributed.hpp>

namespace restride::distributed::test {

/// What each rank's `body` returned, or the message of what it threw.
inline std::vector<std::string> on_threads(Threads& world, const std::function<std::string(Comm&)>& body) {
  std::vector<std::string> out(static_cast<std::size_t>(world.size()));
  std::vector<std::thread> threads;
  for (int r = 0; r < world.size(); ++r)
    threads.emplace_back([&, r] {
      try {
        out[static_cast<std::size_t>(r)] = body(world.comm(r));
      } catch (const AgreementError& e) {
        out[static_cast<std::size_t>(r)] = std::string("AgreementError: ") + e.what();
      } catch (const DeadlineError& e) {
        out[static_cast<std::size_t>(r)] = std::string("DeadlineError: ") + e.what();
      } catch (const std::exception& e) {
        out[static_cast<std::size_t>(r)] = std::string("error: ") + e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  return out;
}

}  // namespace restride::distributed::test
