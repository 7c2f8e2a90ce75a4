// `restride copy IN OUT`: arrays from one file into another, in another layout and dtype.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <restride/restride.hpp>

#include "tools/array_request.h"
#include "tools/commands.h"
#include "tools/copy_inputs.h"
#include "tools/copy_report.h"
#include "tools/input_options.h"
#include "tools/io/save_array.h"
#include "tools/io/save_folder.h"
#include "tools/io/save_stream.h"
#include "tools/io/signals.h"
#include "tools/io/stream_copy.h"
#include "tools/io/text.h"
#include "tools/progress.h"
#include "tools/run_options.h"
#include "tools/view_options.h"
#include "tools/whole_number.h"

namespace restride::tools {
namespace {

constexpr const char* kCopyExamples = R"(
Files:
  x.npy                 NumPy, versions 1 to 3, both memory orders, both byte orders
  x.npz:NAME            a member, stored or deflated; written ones are stored
  x.safetensors:NAME    a tensor
  x.npz, x.safetensors  all arrays in it, with their names, into OUT of any of these kinds; --array chooses;
                        where OUT is one array, IN's only one. An array alone is written as arr_0 or tensor
  folder/               all .npy files in it, with the folders in it; a written one is new
  x.raw, x.bin          bare elements; reading needs --in-layout
  -                     standard input; standard output (.npy, or what --format says)

Examples:
  restride copy images.npy chw.npy --axes 0,3,1,2
  restride copy images.npy chw16.npy --rearrange 'b h w c -> b c h w' --dtype f16
  restride copy video.npy patches.npy --rearrange 'f (h p) (w q) c -> (f h w) (p q c)' --size p=16 --size q=16
  restride copy model.safetensors model-bf16.safetensors --dtype bf16
  restride copy model.safetensors layer0/ --array 'model.layers.0.*'
  restride copy model.safetensors:wte.weight wte.npy --axes 1,0
  restride copy camera.raw image.npy --in-layout 'u16 (1080,1920):(2048,1)' --in-offset 512
  restride copy big.npy crop.npy --slice '8:16392,::2' --flip 1
  restride copy photo.npy turned.npy --rot90 1 --slice 100:900,200:1000
  ssh host cat images.npy | restride copy - - --axes 0,3,1,2 | program

OUT appears whole or not at all (but for standard output), and replaces nothing without --force; a file
that holds arrays beside those written is never replaced. Memory stays within a few times --buffer-mib
however large the files are. With several arrays every option is for each of them, and a floating-point
--dtype converts those of floating point: integers and masks stay what they are.)";

struct CopyArguments {
  std::string in, out;
  std::vector<std::string> arrays;  // globs
  std::string format = "npy";       // of standard output
  InputOptions input;
  std::int64_t buffer_mib = 256;
  bool force = false, json = false, quiet = false, no_sync = false;
  ViewOptions view;
  RunOptions run;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Records in place of an array, or an array in place of records, would be the end of either.
void refuse_shared_measurements(const CopyArguments& a, const CopyInputs& in, const std::string& out) {
  const std::string& records = a.run.measurements;
  if (records.empty()) return;
  std::error_code unknown;  // a file that does not exist is no other's link
  const auto place = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path), unknown);
  };
  const bool is_out =
      !out.empty() && (place(out) == place(records) || std::filesystem::equivalent(out, records, unknown));
  if (is_out || place(in.path()) == place(records) || in.reads(records))
    throw UsageError("--measurements " + records + " is IN or OUT; name another file");
}

/// What --dtype means for one of several arrays: a floating-point dtype is not meant for indices, masks and counters.
bool cast_is_meant_for(const Element& element, const std::string& dtype) {
  const DTypeKind to = kind(element_named(dtype).dtype), from = kind(element.dtype);
  return to != DTypeKind::kFloat ||
         (from != DTypeKind::kBool && from != DTypeKind::kUnsigned && from != DTypeKind::kSigned);
}

/// A copy: its arrays, how each is written, and what is told of it in the end.
class Copy {
 public:
  explicit Copy(CopyArguments& a) : a_(a), in_(a.in, a.out, a.arrays, to_open_options(a.input)) {
    report_.several = in_.several();
    report_.count = in_.size();
    report_.input = in_.shown();
    report_.output = a.out;
    report_.dtype = a.view.dtype;
  }

  void run(Clock::time_point start) {
    if (a_.out != "-" && a_.format != "npy")
      throw UsageError("--format says what goes to standard output; OUT is " + a_.out + ", whose ending says it");
    note_typed_order(a_.view);
    const std::string target = a_.out == "-" ? "" : from_command_line<ArgumentError>([&] {
      return io::names_folder(a_.out) ? a_.out : io::target_of(a_.out).path;
    });
    if (!target.empty() && in_.reads(target))
      throw ArgumentError(a_.out + " is the file that is read; write to another name and rename it");
    refuse_shared_measurements(a_, in_, target);
    options_ = to_options(a_.run);
    if (options_.device == DeviceKind::kAuto) options_.device = DeviceKind::kCpu;  // files lie in host memory
    if (options_.measure) options_.measurements = &a_.run.kept;  // which carry what was measured to the copy
    std::vector<io::ArraySpec> specs = planned();                // refuses what cannot be copied before a file is made
    const std::unique_ptr<io::ArraySink> sink =
        in_.several() ? sink_for_several(std::move(specs))
                      : from_command_line<ArgumentError>([&] { return sink_for(std::move(specs[0])); });
    report_.opening_seconds = seconds_since(start);
    {
      Progress progress(!a_.quiet, report_.bytes);
      for (std::size_t i = 0; i < in_.size(); ++i) move(i, *sink, progress);
      save_measurements(a_.run);  // first, so that a failure leaves no OUT
      progress.finishing(!a_.no_sync);
      const auto written = Clock::now();
      sink->commit(!a_.no_sync);
      report_.sync_seconds = seconds_since(written);
    }
    report_.seconds = seconds_since(start) - report_.done.measure_seconds;
    if (!a_.json && a_.quiet) return;
    std::FILE* const to = a_.out == "-" ? stderr : stdout;
    print_report(report_, a_.json, to);
    if (std::fflush(to) != 0 || std::ferror(to) != 0)
      throw IoError(a_.out +
                    " is complete, but the report on it cannot be written to standard output; is the disk full?");
  }

 private:
  /// What `make` makes of an array; of several, errors name it.
  template <class Make>
  auto naming(std::size_t i, Make&& make) -> decltype(make()) {
    try {
      return make();
    } catch (const Error& e) {
      if (!in_.several()) throw;
      throw Error(e.code(), fmt::format("{}: '{}': {}", in_.shown(), io::printable(in_.name(i)), e.what()));
    }
  }

  CopyRequest request(const io::ArrayEntry& entry) {
    const bool whole =
        !in_.several() || a_.view.dtype.empty() || cast_is_meant_for(entry.layout.element, a_.view.dtype);
    if (whole) return request_for(a_.view, entry);
    ViewOptions kept = a_.view;
    kept.dtype.clear();
    return request_for(kept, entry);
  }

  /// What pairs by count is one call, and so one piece.
  void require_room(const CopyRequest& r) const {
    const std::int64_t mib = ((std::max(r.dst.bytes(), r.src.bytes()) - 1) >> 20) + 1;
    if (!r.reshape || mib <= a_.buffer_mib) return;
    throw ShapeError(
        fmt::format("the new shape cuts across the modes of {}, so all of it has to be held at a time; give "
                    "--buffer-mib {}, or copy "
                    "with the options in front of --reshape into a file, then that file with the others",
                    to_string(r.src), mib));
  }

  std::vector<io::ArraySpec> planned() {
    Options whole = options_;
    whole.measure = false;  // pieces are measured, not all of the file
    std::vector<io::ArraySpec> specs;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const io::ArrayEntry entry = in_.entry(i);
      naming(i, [&] {
        const CopyRequest r = request(entry);
        whole.reshape = r.reshape;
        require_room(r);
        const Plan plan(r.dst, r.src, whole);
        specs.push_back(spec_for(r, entry));
        specs.back().name = in_.several() ? in_.name(i) : "";
        report_.bytes += r.src.bytes() + r.dst.bytes();
        if (in_.several() && !a_.view.dtype.empty() && !cast_is_meant_for(entry.layout.element, a_.view.dtype))
          report_.kept.push_back(fmt::format("{} ({})", in_.name(i), to_string(entry.layout.element)));
        if (!in_.several() || a_.json)
          report_.arrays.push_back({in_.name(i), layout_text(entry.layout, entry), layout_text(r.result, entry), r.dst,
                                    r.src, std::string(plan.family())});
        if (i == 0) {
          report_.views = r.views;
          report_.device = name(plan.device());
        }
        report_.threads = std::max(report_.threads, plan.threads());
      });
    }
    if (report_.kept.size() == in_.size())
      throw ArgumentError(
          fmt::format("{} holds nothing that is floating point, so --dtype {} would convert nothing; "
                      "name an array to convert it whatever it is, as in '{}:{}'",
                      in_.shown(), a_.view.dtype, in_.shown(), io::printable(in_.name(0))));
    return specs;
  }

  std::unique_ptr<io::ArraySink> sink_for(io::ArraySpec spec) const {
    if (a_.out == "-")
      return std::make_unique<io::StreamWriter>(STDOUT_FILENO, *io::format_named("." + a_.format), spec);
    return std::make_unique<io::ArrayWriter>(a_.out, std::move(spec), a_.force);
  }

  std::unique_ptr<io::ArraySink> sink_for_several(std::vector<io::ArraySpec> specs) const {
    if (io::names_folder(a_.out)) return std::make_unique<io::FolderWriter>(a_.out, std::move(specs));
    return std::make_unique<io::ArrayWriter>(a_.out, std::move(specs), in_.metadata(), a_.force);
  }

  void move(std::size_t i, io::ArraySink& sink, Progress& progress) {
    const io::SetArray array = in_.array(i);
    naming(i, [&] {
      const CopyRequest r = request(array.entry);
      io::StreamOptions stream;
      stream.copy = options_;
      stream.copy.reshape = r.reshape;
      stream.buffer_bytes = static_cast<std::uint64_t>(a_.buffer_mib) << 20;
      const auto bytes = static_cast<double>(r.src.bytes() + r.dst.bytes());
      stream.progress = [&](std::uint64_t now, std::uint64_t all) {
        progress.update(moved_ + bytes * static_cast<double>(now) / static_cast<double>(all));
      };
      const io::StreamReport done = io::stream_copy(
          *array.file, r.src, array.entry.swap_bytes, r.dst,
          [&](std::uint64_t offset, io::Bytes piece) { sink.write(i, offset, piece); }, stream);
      moved_ += bytes;
      report_.done.add(done);
    });
  }

  CopyArguments& a_;
  CopyInputs in_;
  Options options_;
  double moved_ = 0;  // bytes of the arrays before
  CopyReport report_;
};

void run_copy(CopyArguments& a) {
  require_family(a.run.family);
  if (!a.view.dtype.empty()) element_named(a.view.dtype);
  const auto start = Clock::now();
  io::install_signal_handlers();
  Copy(a).run(start);
}

}  // namespace

void add_copy_command(CLI::App& app) {
  auto a = std::make_shared<CopyArguments>();
  CLI::App* sub = app.add_subcommand("copy", "Copy arrays from file to file into another layout or dtype");
  sub->footer(kCopyExamples);
  sub->add_option("IN", a->in, "File or folder to read; - for standard input")->required()->type_name("");
  sub->add_option("OUT", a->out, "File to write; its ending names the format, '/' a folder; - for standard output")
      ->required()
      ->type_name("");
  add_view_options(*sub, a->view);
  add_input_options(*sub, a->input);
  sub->add_option("--array", a->arrays, "Copy those of IN's arrays whose names match this glob; may be repeated")
      ->allow_extra_args(false)
      ->type_name("GLOB")
      ->group("The input");
  add_run_options(*sub, a->run);
  const std::string output = "The output";
  sub->add_flag("--force,-f", a->force,
                "Replace OUT when it exists, unless it is a folder or holds arrays that are not written")
      ->group(output);
  sub->add_option("--format", a->format, "What goes to standard output: npy, safetensors or raw")
      ->check(CLI::IsMember({"npy", "safetensors", "raw"}).description(""))
      ->capture_default_str()
      ->type_name("FORMAT")
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
