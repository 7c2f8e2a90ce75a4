#include "tools/input_options.h"

#include <cstdint>

#include "tools/commands.h"
#include "tools/view_options.h"
#include "tools/whole_number.h"

namespace restride::tools {

void add_input_options(CLI::App& sub, InputOptions& o) {
  const std::string group = "The input";
  auto* bare = sub.add_option("--in-layout", o.layout,
                              "Read bare bytes that lie so: 'f32 (480,640,3)' or with strides 'f32 (480,640):(1024,1)'")
                   ->type_name("LAYOUT")
                   ->group(group);
  sub.add_option("--in-offset", o.offset_bytes,
                 "Bytes to skip before them; must be given for a file that says itself how its elements lie")
      ->needs(bare)
      ->check(whole_number(0, INT64_MAX).description(""))
      ->type_name("BYTES")
      ->group(group);
  sub.add_option("--in-dtype", o.dtype, "What the elements really are (same size, same bits): bf16 for NumPy's V2")
      ->type_name("DTYPE")
      ->group(group);
}

bool any(const InputOptions& o) { return !o.layout.empty() || !o.dtype.empty(); }

io::OpenOptions to_open_options(const InputOptions& o) {
  io::OpenOptions options;
  if (!o.layout.empty()) options.raw_layout = from_command_line<ParseError>([&] { return parse_layout(o.layout); });
  options.raw_offset_bytes = o.offset_bytes;
  if (!o.dtype.empty()) options.reinterpret = element_named(o.dtype);
  return options;
}

}  // namespace restride::tools
