// `restride reshard`: files of one distribution into files of another. A file is a rank.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <restride/distributed.hpp>

#include "src/distributed/exchange.h"
#include "src/distributed/program.h"
#include "tools/commands.h"
#include "tools/io/json_text.h"
#include "tools/io/open_array.h"
#include "tools/io/save_array.h"
#include "tools/io/signals.h"
#include "tools/progress.h"
#include "tools/view_options.h"
#include "tools/whole_number.h"

namespace restride::tools {
namespace {

using distributed::AxisPieces;
using distributed::Distribution;
using distributed::Exchange;
using distributed::PairParts;
using distributed::Part;
using Shape = std::vector<std::int64_t>;

constexpr const char* kReshardExamples = R"(
IN and OUT name a rank's file: {rank} stands for its number and, where a rank has several boxes, {region} for the box's
number among them. Files are .npy, .npz:NAME, .safetensors:NAME; each holds what its rank has, in the order of the axes.

Examples:
  restride reshard in-{rank}.npy out-{rank}.npy --from '(8192,512) as (block[0],*) over (8)'
                   --to '(8192,512) as (*,block[0]) over (6)'
  restride reshard tp-{rank}.safetensors:w whole-{rank}.npy --from '(4096,11008) as (*,ceil[0]) over (4)'
                   --to '(4096,11008) as (*,*) over (1)' --dtype bf16

An OUT appears whole or not at all, and replaces nothing without --force. Memory: --buffer-mib of output, and pages of the
IN files that the kernel may drop at any time; what was held is printed.)";

struct ReshardArguments {
  std::string in, out, from, to, dtype;
  std::int64_t buffer_mib = 256;
  bool force = false, json = false, quiet = false, no_sync = false;
};

std::string file_of(std::string text, int rank, int region, int regions, const char* which) {
  const auto put = [&](std::string_view name, int number) {
    bool found = false;
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name)) {
      text.replace(at, name.size(), std::to_string(number));
      found = true;
    }
    return found;
  };
  put("{rank}", rank);
  if (!put("{region}", region) && regions > 1)
    throw UsageError(
        fmt::format("rank {} has {} boxes, a file each; put {{region}} into {} '{}'", rank, regions, which, text));
  return text;
}

/// One IN file, mapped.
struct Source {
  io::OpenArray array;
  io::Mapping mapping;
};

class Reshard {
 public:
  explicit Reshard(const ReshardArguments& a)
      : a_(a),
        from_(from_command_line<Error>([&] { return distributed::parse_distribution(a.from); })),
        to_(from_command_line<Error>([&] { return distributed::parse_distribution(a.to); })) {
    if (!to_.order.empty() || !from_.order.empty())
      throw UsageError("a file's array has its axes in their own order; leave 'order' out of --from and --to");
    require_a_file_each(a.in, from_, "IN");
    require_a_file_each(a.out, to_, "OUT");
  }

  void run() {
    const auto start = std::chrono::steady_clock::now();
    const Element element = first_element();
    const Element target = a_.dtype.empty() ? element : element_named(a_.dtype);
    const Exchange x(from_, element, to_, target);
    const distributed::Summary figures = x.summary();
    {
      Progress progress(!a_.quiet, static_cast<double>(figures.moved_bytes + figures.kept_bytes));
      for (int rank = 0; rank < x.ranks(); ++rank)
        for (int region = 0; region < distributed::regions_of(to_, rank); ++region) write(x, rank, region, progress);
    }
    report(x, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }

 private:
  static void require_a_file_each(const std::string& text, const Distribution& d, const char* which) {
    if (ranks_of(d) > 1 && text.find("{rank}") == std::string::npos)
      throw UsageError(
          fmt::format("{} '{}' names one file for {} ranks; put {{rank}} into it", which, text, ranks_of(d)));
  }

  Element first_element() {
    for (int rank = 0; rank < ranks_of(from_); ++rank)
      if (distributed::regions_of(from_, rank) > 0) return source(rank, 0).array.entry.layout.element;
    throw UsageError("--from names no rank that has anything");
  }

  /// Errors: ShapeError when the file does not hold what the rank has, UnsupportedError.
  Source& source(int rank, int region) {
    const auto key = std::pair(rank, region);
    if (const auto it = sources_.find(key); it != sources_.end()) return it->second;
    constexpr std::size_t kMostOpen = 256;  // files; processes may open 1,024 at least
    if (sources_.size() >= kMostOpen) sources_.clear();
    io::OpenArray array = io::open_array(file_of(a_.in, rank, region, distributed::regions_of(from_, rank), "IN"));
    const io::ArrayEntry& e = array.entry;
    if (!e.unsupported.empty() || e.bits != 0 || e.swap_bytes != 0)
      throw UnsupportedError(fmt::format(
          "{} has elements that are packed, big-endian or unknown; convert it by `restride copy`", array.shown));
    const Shape wanted = distributed::local_shape(from_, rank, region);
    for (std::size_t axis = 0; axis < std::max(wanted.size(), e.layout.modes.size()); ++axis)
      if (axis >= wanted.size() || axis >= e.layout.modes.size() || e.layout.modes[axis].extent != wanted[axis])
        throw ShapeError(fmt::format(
            "{} holds {}, but rank {} of {} has {} on axis {}; is --from the distribution of these files?", array.shown,
            to_string(e.layout), rank, a_.from, axis < wanted.size() ? std::to_string(wanted[axis]) : "nothing", axis));
    const auto [first, last] = byte_range(e.layout);
    io::Mapping mapping;
    if (last > first) {
      mapping = io::Mapping(array.file, static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last));
      if (!mapping) io::refuse_unmapped(array.shown);
    }
    return sources_.emplace(key, Source{std::move(array), std::move(mapping)}).first->second;
  }

  /// The file of a region, a piece after the other: all of the axes behind `axis`, a few indices of it, one of each
  /// before.
  void write(const Exchange& x, int rank, int region, Progress& progress) {
    const Shape shape = distributed::local_shape(to_, rank, region);
    const Element element = x.dst_element();
    const Layout whole = contiguous(element, shape);
    io::ArraySpec spec = io::spec_of(whole);
    io::ArrayWriter out(file_of(a_.out, rank, region, distributed::regions_of(to_, rank), "OUT"), std::move(spec),
                        a_.force);
    ++files_;
    if (whole.elements() > 0) {
      const std::int64_t buffer = a_.buffer_mib << 20;
      std::size_t axis = 0;
      while (axis + 1 < shape.size() && whole.modes[axis].stride_bytes > buffer) ++axis;
      const std::int64_t row = shape.empty() ? element.size_bytes : whole.modes[axis].stride_bytes;
      const std::int64_t rows = shape.empty() ? 1 : std::clamp<std::int64_t>(buffer / row, 1, shape[axis]);
      distributed::PlanStore plans(0);
      const std::vector<PairParts> pairs = x.impl().receives(rank);
      std::int64_t outer = 1;
      for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
      std::uint64_t offset = 0;
      for (std::int64_t k = 0; k < outer; ++k)
        for (std::int64_t first = 0; first < (shape.empty() ? 1 : shape[axis]); first += rows) {
          Shape lo(shape.size(), 0), hi = shape;
          std::int64_t rest = k;
          for (std::size_t i = axis; i-- > 0; rest /= shape[i]) {
            lo[i] = rest % shape[i];
            hi[i] = lo[i] + 1;
          }
          if (!shape.empty()) {
            lo[axis] = first;
            hi[axis] = std::min(first + rows, shape[axis]);
          }
          piece(x, rank, region, pairs, lo, hi, plans);
          out.write(0, offset, {buffer_.data(), buffer_.size()});
          offset += buffer_.size();
          held_ = std::max(held_, static_cast<std::int64_t>(buffer_.size()));
          progress.update(done_ += static_cast<double>(buffer_.size()));
          for (auto& [key, s] : sources_) s.mapping.drop();
        }
    }
    for (auto& [key, s] : sources_) s.array.file.require_unchanged();
    out.commit(!a_.no_sync);
  }

  /// Fills the buffer with local indices [lo, hi) of a region.
  void piece(const Exchange& x, int rank, int region, const std::vector<PairParts>& pairs, const Shape& lo,
             const Shape& hi, distributed::PlanStore& plans) {
    Shape extents;
    for (std::size_t a = 0; a < lo.size(); ++a) extents.push_back(hi[a] - lo[a]);
    const Layout dense = contiguous(x.dst_element(), extents);
    buffer_.resize(static_cast<std::size_t>(dense.bytes()));
    distributed::StepMaker make(x.impl(), 0, plans);
    for (const PairParts& pair : pairs)
      for (const Part& part : pair.parts) {
        if (part.dst_region != region) continue;
        PairParts clipped{pair.peer, 0, {Part{0, 0, part.cell, 1, {}}}};
        Part& only = clipped.parts[0];
        for (std::size_t a = 0; a < lo.size(); ++a) {
          AxisPieces& pieces = only.axes.emplace_back();
          for (const distributed::AxisPiece& p : part.axes[a]) clip(p, lo[a], hi[a], pieces);
          only.elements *= size(pieces);
        }
        if (only.elements == 0) continue;
        Source& from = source(pair.peer, part.src_region);
        const Layout& layout = from.array.entry.layout;
        if (layout.element != x.src_element())
          throw CastError(fmt::format("{} holds {}, other files {}; give all files one dtype", from.array.shown,
                                      to_string(layout.element), to_string(x.src_element())));
        std::vector<distributed::CopyStep> steps;
        make.straight(clipped, {layout}, {dense}, steps);
        for (const distributed::CopyStep& s : steps)
          plans.run(s.plan, reinterpret_cast<std::byte*>(buffer_.data()) + s.dst_offset,
                    moved(reinterpret_cast<const std::byte*>(from.mapping.origin()), s.src_offset));
      }
    static_cast<void>(rank);
  }

  void report(const Exchange& x, double seconds) const {
    if (a_.json) {
      nlohmann::ordered_json out;
      out["src"] = restride::to_string(x.src_element()) + ' ' + to_string(from_);
      out["dst"] = restride::to_string(x.dst_element()) + ' ' + to_string(to_);
      out["files"] = files_;
      out["bytes"] = static_cast<std::int64_t>(done_);
      out["buffer_bytes"] = held_;
      out["seconds"] = seconds;
      fmt::print("{}\n", io::json_text(out));
    } else if (!a_.quiet) {
      fmt::print(
          "src      {} {}\ndst      {} {}\nwritten  {} file{}, {} bytes, in {:.2f} s\nmemory   {} bytes of output at a "
          "time, of {} MiB allowed\n",
          restride::to_string(x.src_element()), to_string(from_), restride::to_string(x.dst_element()), to_string(to_),
          files_, files_ == 1 ? "" : "s", static_cast<std::int64_t>(done_), seconds, held_, a_.buffer_mib);
    }
  }

  const ReshardArguments& a_;
  Distribution from_, to_;
  std::map<std::pair<int, int>, Source> sources_;
  std::vector<std::uint8_t> buffer_;
  std::int64_t held_ = 0;
  int files_ = 0;
  double done_ = 0;
};

}  // namespace

void add_reshard_command(CLI::App& app) {
  auto a = std::make_shared<ReshardArguments>();
  CLI::App* sub = app.add_subcommand("reshard", "Turn files of one distribution into files of another");
  sub->footer(kReshardExamples);
  sub->add_option("IN", a->in, "Files to read, with {rank}")->required()->type_name("");
  sub->add_option("OUT", a->out, "Files to write, with {rank}")->required()->type_name("");
  sub->add_option("--from", a->from, "The distribution of the IN files")->required()->type_name("DIST");
  sub->add_option("--to", a->to, "The distribution of the OUT files")->required()->type_name("DIST");
  sub->add_option("--dtype", a->dtype, "Convert the elements")->type_name("DTYPE");
  sub->add_flag("--force,-f", a->force, "Replace OUT files that exist");
  sub->add_flag("--no-sync", a->no_sync, "Do not wait for the device: faster, but a power cut may lose OUT");
  sub->add_option("--buffer-mib", a->buffer_mib, "MiB of output held at a time")
      ->capture_default_str()
      ->check(whole_number(1, 1 << 20))
      ->type_name("MIB");
  sub->add_flag("--json", a->json, "Report as JSON");
  sub->add_flag("--quiet,-q", a->quiet, "No report, no progress bar");
  sub->callback([a] {
    io::install_signal_handlers();
    try {
      Reshard(*a).run();
    } catch (const std::bad_alloc&) {
      throw MemoryError("out of memory; give a smaller --buffer-mib or raise the memory limit");
    }
  });
}

}  // namespace restride::tools
