#include "src/distributed/agreement.h"

#include <fmt/format.h>

#include <algorithm>

namespace restride::distributed {
namespace {

const char* verb(CallKind kind) { return kind == CallKind::kRun ? "run" : "plan"; }

}  // namespace

std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

void require_agreement(const std::vector<Fingerprint>& all) {
  const Fingerprint& first = all[0];
  if (first.magic == Fingerprint{}.magic && first.status == 0 &&
      std::all_of(all.begin(), all.end(), [&](const Fingerprint& f) { return f == first; }))
    return;
  std::vector<int> wrong;
  const auto unlike = [&](const auto& member) {
    wrong.clear();
    for (std::size_t r = 1; r < all.size(); ++r)
      if (member(all[r]) != member(all[0])) wrong.push_back(static_cast<int>(r));
    return !wrong.empty();
  };
  const auto fail = [&](const std::string& what) { throw AgreementError(what); };
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r].magic != Fingerprint{}.magic) wrong.push_back(static_cast<int>(r));
  if (!wrong.empty())
    fail(named_ranks(wrong) + " sent no fingerprint of restride; use the communicator for nothing else meanwhile");
  if (unlike([](const Fingerprint& f) { return f.version; }))
    fail(named_ranks(wrong) + " has another version of restride than rank 0; install one version everywhere");
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r].status != 0) wrong.push_back(static_cast<int>(r));
  if (!wrong.empty())
    fail(fmt::format("{} could not {}: see the error there; dst is as it was", named_ranks(wrong),
                     verb(all[static_cast<std::size_t>(wrong[0])].kind)));
  if (unlike([](const Fingerprint& f) { return f.kind; }))
    fail(fmt::format("{} calls {} where rank 0 calls {}; make and run plans in the same order on all ranks",
                     named_ranks(wrong), verb(all[static_cast<std::size_t>(wrong[0])].kind), verb(all[0].kind)));
  if (unlike([](const Fingerprint& f) { return f.sequence; }))
    fail(
        fmt::format("{} is at plan {} of the communicator where rank 0 is at plan {}; make and run plans in the same "
                    "order on all ranks",
                    named_ranks(wrong), all[static_cast<std::size_t>(wrong[0])].sequence, all[0].sequence));
  if (unlike([](const Fingerprint& f) { return f.run; }))
    fail(fmt::format("{} is at run {} of the plan where rank 0 is at run {}; run plans in the same order on all ranks",
                     named_ranks(wrong), all[static_cast<std::size_t>(wrong[0])].run, all[0].run));
  const auto same = [&](const char* what, const auto& member) {
    if (unlike(member))
      fail(fmt::format("{} has {} than rank 0; plan with the same on all ranks", named_ranks(wrong), what));
  };
  same("another number of tensors or another global shape", [](const Fingerprint& f) { return f.shapes; });
  same("other elements", [](const Fingerprint& f) { return f.elements; });
  same("another source distribution", [](const Fingerprint& f) { return f.sources; });
  same("another target distribution", [](const Fingerprint& f) { return f.targets; });
  same("another method, kind of device, or other checks,", [](const Fingerprint& f) { return f.options; });
}

}  // namespace restride::distributed
