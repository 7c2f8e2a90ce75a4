#include "src/launch/cpu_prepare.h"

#include "src/kernels/cpu/cast.h"
#include "src/kernels/cpu/gather.h"
#include "src/kernels/cpu/run.h"

namespace restride::launch {

using kernels::cpu::CpuArgs;
using layout::Canonical;
using plan::Family;
using plan::ParamId;

namespace {

CpuArgs common(const Canonical& c) {
  CpuArgs a;
  a.dst_unit = c.dst_unit;
  a.src_unit = c.src_unit;
  if (c.cast) {
    a.cast_run = kernels::cpu::cast_run(c.dst_dtype, c.src_dtype);
    a.cast_strided = kernels::cpu::cast_strided(c.dst_dtype, c.src_dtype);
  }
  a.units = c.units;
  return a;
}

CpuArgs prepare_run(const Canonical& c, const plan::Candidate& k) {
  CpuArgs a = common(c);
  a.kernel = kernels::cpu::run_kernel();
  a.tasks = c.units;
  a.align_tasks = 128;
  a.stream = k.get(ParamId::kStream) != 0;
  return a;
}

CpuArgs prepare_gather(const Canonical& c) {
  CpuArgs a = common(c);
  a.kernel = kernels::cpu::gather;
  a.tasks = c.units;
  for (const layout::CopyMode& m : c.modes) a.nest.push(m);
  for (const layout::CopyMode& m : c.src_modes) a.src_nest.push(m);
  return a;
}

}  // namespace

CpuArgs prepare_cpu(const Canonical& c, const plan::Decision& d) {
  switch (d.chosen.family) {
    case Family::kRun: return prepare_run(c, d.chosen);
    case Family::kNoop: return CpuArgs{};
    default: return prepare_gather(c);
  }
}

}  // namespace restride::launch
