// Exchanges in figures and in words.
#include <fmt/format.h>

#include <algorithm>

#include "src/distributed/exchange.h"

namespace restride::distributed {
namespace {

/// Adds a run or a message to a longest and a shortest; 0 is none yet.
void widen(std::int64_t lo, std::int64_t hi, std::int64_t& shortest, std::int64_t& longest) {
  shortest = shortest == 0 ? lo : std::min(shortest, lo);
  longest = std::max(longest, hi);
}

std::vector<Pair> pairs_of(const Exchange& x, int rank, bool sent) {
  const Exchange::Impl& p = x.impl();
  std::vector<Pair> out;
  const auto add = [&](const PartView& v) {
    std::int64_t pieces = 1;
    for (const AxisMeeting* m : v.axes) pieces *= static_cast<std::int64_t>(m->pieces.size());
    const std::int64_t read = runs_of(v.axes, p.src_order, &AxisMeeting::src).shortest * p.src_element.size_bytes;
    const std::int64_t written = runs_of(v.axes, p.dst_order, &AxisMeeting::dst).shortest * p.dst_element.size_bytes;
    out.push_back({sent ? rank : v.peer, sent ? v.peer : rank, v.elements, v.elements * p.wire.size_bytes, pieces, read,
                   written});
  };
  if (sent)
    p.visit_sends(rank, add);
  else
    p.visit_receives(rank, add);
  const auto peer = [sent](const Pair& q) { return sent ? q.to : q.from; };
  std::stable_sort(out.begin(), out.end(), [&](const Pair& a, const Pair& b) { return peer(a) < peer(b); });
  std::size_t n = 0;
  for (const Pair& q : out) {
    if (n == 0 || peer(out[n - 1]) != peer(q)) {
      out[n++] = q;
      continue;
    }
    Pair& into = out[n - 1];
    into.elements += q.elements;
    into.bytes += q.bytes;
    into.pieces += q.pieces;
    into.read_run = std::min(into.read_run, q.read_run);
    into.write_run = std::min(into.write_run, q.write_run);
  }
  out.resize(n);
  return out;
}

/// "4096", "512 to 4096"
std::string range(std::int64_t lo, std::int64_t hi) {
  return lo == hi ? fmt::format("{}", lo) : fmt::format("{} to {}", lo, hi);
}

std::string line(std::string_view label, const std::string& text) { return fmt::format("{:<11}{}\n", label, text); }

}  // namespace

std::vector<Pair> Exchange::sends(int rank) const { return pairs_of(*this, rank, true); }
std::vector<Pair> Exchange::receives(int rank) const { return pairs_of(*this, rank, false); }

Summary Exchange::summary(const LinkCosts& costs) const {
  const Impl& p = *impl_;
  Summary out;
  const auto ranks = static_cast<std::size_t>(p.ranks);
  std::vector<std::int64_t> sent(ranks, 0), received(ranks, 0), kept(ranks, 0), to(ranks, 0), messages_in(ranks, 0),
      messages_out(ranks, 0);
  std::vector<int> touched;
  for (int rank = 0; rank < p.ranks; ++rank) {
    out.minimum_bytes += (p.target_elements(rank) - p.kept_elements(rank)) * p.wire.size_bytes;
    touched.clear();
    p.visit_sends(rank, [&](const PartView& v) {
      const Runs read = runs_of(v.axes, p.src_order, &AxisMeeting::src);
      const Runs written = runs_of(v.axes, p.dst_order, &AxisMeeting::dst);
      widen(read.shortest, read.longest, out.shortest_read_run, out.longest_read_run);
      widen(written.shortest, written.longest, out.shortest_write_run, out.longest_write_run);
      std::int64_t& n = to[static_cast<std::size_t>(v.peer)];
      if (n == 0) touched.push_back(v.peer);
      n += v.elements;
    });
    std::int64_t messages = 0;
    for (int peer : touched) {
      const std::int64_t bytes = std::exchange(to[static_cast<std::size_t>(peer)], 0) * p.wire.size_bytes;
      if (peer == rank) {
        out.kept_bytes += bytes;
        kept[static_cast<std::size_t>(rank)] = bytes;
        continue;
      }
      ++messages;
      ++messages_in[static_cast<std::size_t>(peer)];
      sent[static_cast<std::size_t>(rank)] += bytes;
      received[static_cast<std::size_t>(peer)] += bytes;
      widen(bytes, bytes, out.shortest_message, out.longest_message);
    }
    out.messages += messages;
    messages_out[static_cast<std::size_t>(rank)] = messages;
    out.most_messages = std::max(out.most_messages, messages);
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    out.moved_bytes += sent[r];
    out.most_sent = std::max(out.most_sent, sent[r]);
    out.most_received = std::max(out.most_received, received[r]);
    out.most_staged = std::max(out.most_staged, sent[r] + received[r]);
    out.most_messages = std::max(out.most_messages, messages_in[r]);
    out.senders += sent[r] > 0 ? 1 : 0;
    out.receivers += received[r] > 0 ? 1 : 0;
    const double bytes_us = 1e-3;  // a byte at 1 GB/s
    out.predicted_us = std::max(out.predicted_us,
                                static_cast<double>(std::max(messages_in[r], messages_out[r])) * costs.message_us +
                                    static_cast<double>(std::max(sent[r], received[r])) * bytes_us / costs.link_gbps +
                                    static_cast<double>(sent[r] + received[r] + kept[r]) * bytes_us / costs.copy_gbps);
  }
  out.shortest_read_run *= p.src_element.size_bytes;
  out.longest_read_run *= p.src_element.size_bytes;
  out.shortest_write_run *= p.dst_element.size_bytes;
  out.longest_write_run *= p.dst_element.size_bytes;
  return out;
}

std::string Exchange::explain(int rank, int most, const LinkCosts& costs) const {
  const Impl& p = *impl_;
  const Summary s = summary(costs);
  std::string out = line("src", restride::to_string(p.src_element) + ' ' + to_string(p.src));
  out += line("dst", restride::to_string(p.dst_element) + ' ' + to_string(p.dst));
  out += line("ranks", fmt::format("{}: {} send, {} receive", p.ranks, s.senders, s.receivers));
  out += line("moves", fmt::format("{} bytes between ranks, {}; {} bytes stay on theirs", s.moved_bytes,
                                   s.moved_bytes == s.minimum_bytes ? "the minimum"
                                                                    : fmt::format("of at least {}", s.minimum_bytes),
                                   s.kept_bytes));
  out += line("messages", s.messages == 0 ? "none"
                                          : fmt::format("{} of {} bytes, at most {} of a rank", s.messages,
                                                        range(s.shortest_message, s.longest_message), s.most_messages));
  out += line("runs", fmt::format("read {} bytes, written {} bytes, in dense local memory",
                                  range(s.shortest_read_run, s.longest_read_run),
                                  range(s.shortest_write_run, s.longest_write_run)));
  out += line(
      "workspace",
      fmt::format("at most {} bytes of a rank when messages are packed, none where memory is shared", s.most_staged));
  const auto over_mean = [&](std::int64_t most_of, int of) {
    return s.moved_bytes == 0 ? 1.0 : static_cast<double>(most_of) * of / static_cast<double>(s.moved_bytes);
  };
  out += line("balance", fmt::format("the busiest sender has {:.2f} of the senders' mean, the busiest receiver {:.2f}",
                                     over_mean(s.most_sent, s.senders), over_mean(s.most_received, s.receivers)));
  out += line("time", fmt::format("predicted {} us of the slowest rank: {:g} us a message, {:g} GB/s between ranks, "
                                  "{:g} GB/s packing",
                                  s.predicted_us < 1000 ? fmt::format("{:.4g}", s.predicted_us)
                                                        : fmt::format("{:.0f}", s.predicted_us),
                                  costs.message_us, costs.link_gbps, costs.copy_gbps));
  if (rank < 0) return out;
  const auto list = [&](const char* label, const std::vector<Pair>& pairs, int Pair::*peer) {
    std::string text;
    int shown = 0;
    for (const Pair& q : pairs) {
      if (shown++ == most) {
        text += line("", fmt::format("... and {} more", pairs.size() - static_cast<std::size_t>(most)));
        break;
      }
      text += line(text.empty() ? label : "",
                   fmt::format("{:>6}  {:>14} bytes  {:>4} pieces  runs of {} read, {} written{}", q.*peer, q.bytes,
                               q.pieces, q.read_run, q.write_run, q.from == q.to ? "  (itself)" : ""));
    }
    return text.empty() ? line(label, "nothing") : text;
  };
  out += list("sends to", sends(rank), &Pair::to);
  return out + list("gets from", receives(rank), &Pair::from);
}

}  // namespace restride::distributed
