#include "tools/explain_exchange.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <restride/distributed.hpp>

#include "tools/commands.h"
#include "tools/io/json_text.h"
#include "tools/io/text.h"

namespace restride::tools {
namespace {

using namespace distributed;
using nlohmann::ordered_json;

struct Side {
  Element element;
  Distribution distribution;
};

Side side_of(const std::string& what, std::string_view text, const Element* otherwise) {
  const std::string_view word = text.substr(0, text.find_first_of(" \t("));
  Side out;
  if (const std::optional<Element> element = parse_element(word)) {
    out.element = *element;
    text.remove_prefix(word.size());
  } else if (word.empty() && otherwise != nullptr) {
    out.element = *otherwise;
  } else {
    throw UsageError(fmt::format("explain '{}': {}; write a dtype in front of the shape, as in 'f32 (64,32) as ...'",
                                 what, word.empty() ? "the dtype is missing" : fmt::format("'{}' is no dtype", word)));
  }
  out.distribution = from_command_line<Error>([&] { return parse_distribution(io::trimmed(text)); });
  return out;
}

ordered_json pairs_json(const std::vector<Pair>& pairs) {
  ordered_json out = ordered_json::array();
  for (const Pair& p : pairs)
    out.push_back({{"from", p.from},
                   {"to", p.to},
                   {"bytes", p.bytes},
                   {"pieces", p.pieces},
                   {"read_run", p.read_run},
                   {"write_run", p.write_run}});
  return out;
}

void print_json(const Exchange& x, int rank, const LinkCosts& costs) {
  const Summary s = x.summary(costs);
  ordered_json out;
  out["src"] = to_string(x.src_element()) + ' ' + to_string(x.src());
  out["dst"] = to_string(x.dst_element()) + ' ' + to_string(x.dst());
  out["ranks"] = x.ranks();
  out["minimum_bytes"] = s.minimum_bytes;
  out["moved_bytes"] = s.moved_bytes;
  out["kept_bytes"] = s.kept_bytes;
  out["messages"] = s.messages;
  out["most_messages"] = s.most_messages;
  out["message_bytes"] = {s.shortest_message, s.longest_message};
  out["read_run_bytes"] = {s.shortest_read_run, s.longest_read_run};
  out["write_run_bytes"] = {s.shortest_write_run, s.longest_write_run};
  out["most_sent"] = s.most_sent;
  out["most_received"] = s.most_received;
  out["most_staged"] = s.most_staged;
  out["senders"] = s.senders;
  out["receivers"] = s.receivers;
  out["predicted_us"] = s.predicted_us;
  if (rank >= 0) {
    out["sends"] = pairs_json(x.sends(rank));
    out["receives"] = pairs_json(x.receives(rank));
  }
  out["exchange"] = io::parse_report(x.serialize());
  fmt::print("{}\n", io::json_text(out));
}

}  // namespace

bool names_exchange(std::string_view what) {
  const std::string_view left = what.substr(0, what.find("->"));
  return left.find(") as (") != std::string_view::npos || left.find(") boxes") != std::string_view::npos;
}

void explain_exchange(const std::string& what, int rank, bool json, const LinkCosts& costs) {
  const std::size_t arrow = what.find("->");
  if (arrow == std::string::npos)
    throw UsageError(
        fmt::format("explain '{}': one distribution; write '-> ...' behind it, and the one that it turns into", what));
  const Side src = side_of(what, io::trimmed(std::string_view(what).substr(0, arrow)), nullptr);
  const Side dst = side_of(what, io::trimmed(std::string_view(what).substr(arrow + 2)), &src.element);
  const Exchange x(src.distribution, src.element, dst.distribution, dst.element);
  if (rank >= x.ranks()) throw UsageError(fmt::format("--rank {}: there are ranks 0 to {}", rank, x.ranks() - 1));
  if (!(costs.message_us >= 0) || !(costs.link_gbps > 0))
    throw UsageError("--message-us and --link-gbps are positive numbers");
  if (json) return print_json(x, rank, costs);
  fmt::print("{}", x.explain(rank, 16, costs));
}

}  // namespace restride::tools
