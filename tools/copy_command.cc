// `restride copy IN OUT`: an array from one file into another, in another layout and dtype.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <restride/restride.hpp>

#include "tools/commands.h"
#include "tools/input_options.h"
#include "tools/io/json_text.h"
#include "tools/io/open_array.h"
#include "tools/io/save_array.h"
#include "tools/io/signals.h"
#include "tools/io/stream_copy.h"
#include "tools/io/text.h"
#include "tools/progress.h"
#include "tools/run_options.h"
#include "tools/view_options.h"
#include "tools/whole_number.h"

namespace restride::tools {
namespace {

constexpr const char* kExamples = R"(
Files:
  x.npy                 NumPy, versions 1 to 3, both memory orders, both byte orders
  x.npz:NAME            a member, stored or deflated; written files have one, stored (without NAME: arr_0)
  x.safetensors:NAME    a tensor; written files have one (without NAME: tensor) and no metadata
  x.raw, x.bin          bare elements; reading needs --in-layout

Examples:
  restride copy images.npy chw.npy --axes 0,3,1,2
  restride copy images.npy chw16.npy --rearrange 'b h w c -> b c h w' --dtype f16
  restride copy video.npy patches.npy --rearrange 'f (h p) (w q) c -> (f h w) (p q c)' --size p=16 --size q=16
  restride copy model.safetensors:wte.weight wte.npy --axes 1,0
  restride copy camera.raw image.npy --in-layout 'u16 (1080,1920):(2048,1)' --in-offset 512
  restride copy big.npy crop.npy --slice '8:16392,::2' --flip 1
  restride copy photo.npy turned.npy --rot90 1 --slice 100:900,200:1000

OUT appears whole or not at all, and replaces nothing without --force. It holds one array, so a file
with others beside it is never replaced. Memory stays within a few times --buffer-mib however large
the files are.)";

struct CopyArguments {
  std::string in, out;
  InputOptions input;
  std::int64_t buffer_mib = 256;
  bool force = false, json = false, quiet = false, no_sync = false;
  ViewOptions view;
  RunOptions run;
};

// An element that restride only moves keeps NumPy's name for it; other formats have none.
std::string descr_to_keep(const io::ArrayEntry& entry, const Element& out) {
  return out == entry.layout.element ? entry.npy_descr : "";
}

std::string in_megabytes(std::int64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{} bytes", bytes)
                           : fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::int64_t moved_bytes(const CopyRequest& request) { return request.src.bytes() + request.dst.bytes(); }

/// Nothing where the time went into opening files, about which GB/s say nothing: below 1 MB it always does.
std::optional<double> gbps(std::int64_t bytes, double seconds, double opening_seconds) {
  if (bytes < 1'000'000 || opening_seconds > seconds / 2) return std::nullopt;
  return static_cast<double>(bytes) / seconds / 1e9;
}

void print_report(const CopyArguments& a, const io::OpenArray& in, const CopyRequest& request, const Plan& plan,
                  const io::StreamReport& done, double seconds, double opening_seconds) {
  const std::int64_t bytes = moved_bytes(request);
  const std::optional<double> speed = gbps(bytes, seconds, opening_seconds);
  if (!a.json) {
    fmt::print("{}: {} -> {}\n", io::escaped(a.out), to_string(in.entry.layout), to_string(request.result));
    if (!request.views.empty()) fmt::print("{}\n", in_words(request.views));
    fmt::print("{} read and written by {} in {:.3f} s{}\n", in_megabytes(bytes), plan.family(), seconds,
               speed ? fmt::format(", {:.2f} GB/s", *speed) : "");
    return;
  }
  nlohmann::ordered_json report;
  report["input"] = in.shown;
  report["output"] = a.out;
  report["input_layout"] = to_string(in.entry.layout);
  report["output_layout"] = to_string(request.result);
  report["views"] = views_json(request.views);
  report["src"] = to_string(request.src);
  report["dst"] = to_string(request.dst);
  report["device"] = name(plan.device());
  report["family"] = plan.family();
  report["threads"] = plan.threads();
  report["bytes"] = bytes;
  report["seconds"] = seconds;
  report["gbps"] = speed ? nlohmann::ordered_json(*speed) : nlohmann::ordered_json();
  report["opening_seconds"] = opening_seconds;
  report["copy_seconds"] = done.copy_seconds;
  report["write_seconds"] = done.write_seconds;
  report["pieces"] = done.pieces;
  report["buffer_bytes"] = done.buffer_bytes;
  fmt::print("{}\n", io::json_text(report));
}

/// Neither side can be a stream: the input is read in whatever order the output asks for, and the output is renamed
/// into place when it is whole.
void refuse_streams(const CopyArguments& a) {
  if (a.in == "-")
    throw UsageError(
        "standard input cannot be read in any order; save it to a file and name that (a file called - is ./-)");
  if (a.out == "-")
    throw UsageError("standard output cannot appear whole or not at all; name a file (one called - is ./-)");
}

/// Records in place of an array, or an array in place of records, would be the end of either.
void refuse_shared_measurements(const CopyArguments& a, const std::string& in, const std::string& out) {
  const std::string& records = a.run.measurements;
  if (records.empty()) return;
  std::error_code unknown;  // a file that does not exist is no other's link
  const auto place = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path), unknown);
  };
  for (const std::string& array : {in, out})
    if (place(array) == place(records) || std::filesystem::equivalent(array, records, unknown))
      throw UsageError("--measurements " + records + " is IN or OUT; name another file");
}

void run_copy(CopyArguments& a) {
  refuse_streams(a);
  require_family(a.run.family);
  if (!a.view.dtype.empty()) element_named(a.view.dtype);
  const auto start = std::chrono::steady_clock::now();
  io::install_signal_handlers();
  const io::OpenArray in = io::open_array(a.in, to_open_options(a.input));
  note_typed_order(a.view);
  const CopyRequest request = apply(a.view, in.entry.layout);
  const io::PathAndMember out = from_command_line<ArgumentError>([&] { return io::target_of(a.out); });
  if (in.file.is_same_file(out.path))
    throw ArgumentError(a.out + " is the file that is read; write to another name and rename it");
  refuse_shared_measurements(a, in.file.path(), out.path);
  Options options = to_options(a.run);
  if (options.device == DeviceKind::kAuto) options.device = DeviceKind::kCpu;  // files lie in host memory
  Options whole = options;
  whole.measure = false;                             // pieces are measured, not all of the file
  const Plan plan(request.dst, request.src, whole);  // refuses what cannot be copied before a file is made

  const io::ArraySpec spec{request.result, descr_to_keep(in.entry, request.result.element), request.fortran_order};
  io::ArrayWriter writer = from_command_line<ArgumentError>([&] { return io::ArrayWriter(a.out, spec, a.force); });
  const auto since_start = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double opening_seconds = since_start();
  io::StreamReport done;
  {
    Progress progress(!a.quiet, moved_bytes(request));
    io::StreamOptions stream;
    stream.copy = options;
    stream.buffer_bytes = static_cast<std::uint64_t>(a.buffer_mib) << 20;
    stream.progress = [&](std::uint64_t now, std::uint64_t all) { progress.update(now, all); };
    done = io::stream_copy(
        in.file, request.src, in.entry.swap_bytes, request.dst,
        [&](std::uint64_t offset, io::Bytes bytes) { writer.write(offset, bytes); }, stream);
  }
  save_measurements(a.run);  // first, so that a failure leaves no OUT
  writer.commit(!a.no_sync);
  const double seconds = since_start();
  if (!a.json && a.quiet) return;
  print_report(a, in, request, plan, done, seconds, opening_seconds);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw IoError(a.out + " is complete, but the report on it cannot be written to standard output; is the disk full?");
}

}  // namespace

void add_copy_command(CLI::App& app) {
  auto a = std::make_shared<CopyArguments>();
  CLI::App* sub = app.add_subcommand("copy", "Copy an array from file to file into another layout or dtype");
  sub->footer(kExamples);
  sub->add_option("IN", a->in, "File to read")->required()->type_name("");
  sub->add_option("OUT", a->out, "File to write; its ending names the format")->required()->type_name("");
  add_view_options(*sub, a->view);
  add_input_options(*sub, a->input);
  add_run_options(*sub, a->run);
  const std::string output = "The output";
  sub->add_flag("--force,-f", a->force,
                "Replace OUT when it exists, unless it holds other arrays: a written file holds one")
      ->group(output);
  sub->add_flag("--no-sync", a->no_sync, "Do not wait for the device: faster, but a power cut may lose OUT")
      ->group(output);
  sub->add_option("--buffer-mib", a->buffer_mib, "MiB of output held at a time")
      ->capture_default_str()
      ->check(whole_number(1, 1 << 20))
      ->type_name("MIB")
      ->group(output);
  sub->add_flag("--json", a->json, "Report as JSON")->group(output);
  sub->add_flag("--quiet,-q", a->quiet, "No report, no progress bar")->group(output);
  sub->callback([a] {
    try {
      run_copy(*a);
    } catch (const std::bad_alloc&) {
      throw MemoryError("out of memory; give a smaller --buffer-mib or raise the memory limit");
    }
  });
}

}  // namespace restride::tools
