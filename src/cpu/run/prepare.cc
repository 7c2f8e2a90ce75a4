#include "src/cpu/run/prepare.h"

#include "src/cpu/prepare.h"
#include "src/cpu/rows/kernel.h"
#include "src/cpu/rows/prepare.h"
#include "src/cpu/run/kernel.h"

namespace restride::cpu {

bool is_run(const layout::Canonical& c) {
  return !c.two_sided && (c.modes.empty() || (c.modes.size() == 1 && c.modes[0].dst_stride == c.dst_unit &&
                                              c.modes[0].src_stride == c.src_unit));
}

RunArgs prepare_run_units(const layout::Canonical& c, const plan::Candidate& k, int) {
  constexpr std::int64_t kAlignTasks = 128;  // units: two lines at least, so that threads share none
  if (!is_run(c)) refuse(k, c);
  RunArgs a;
  set_common(c, k, &a);
  a.kernel = run_kernel();
  a.tasks = c.units;
  if (!a.stream && a.cast_run == nullptr) a.pairs = run_pairs_kernel();
  a.row_src_stride = c.src_unit;
  a.align_tasks = kAlignTasks;
  return a;
}

RowsArgs prepare_run_pieces(const layout::Canonical& c, const plan::Candidate& k, int) {
  if (!is_run(c) || c.modes.empty()) refuse(k, c);
  RowsArgs a;
  set_common(c, k, &a);
  a.kernel = rows_kernel();
  set_rows(c, RowOrder::kDst, &a);
  take_loop(c, k, &a);
  return a;
}

}  // namespace restride::cpu
