// What the families' ways from a decision to their kernel's arguments have in common.
#pragma once

#include "src/cpu/args.h"
#include "src/layout/canonical.h"
#include "src/plan/decision.h"

namespace restride::cpu {

/// Errors: ParseError, always: the parameters do not fit the canonical form (a plan that was edited).
[[noreturn]] void refuse(const plan::Candidate& k, const layout::Canonical& c);

/// Fills in units, casts and flags. Errors: ParseError where a flag is neither 0 nor 1.
void set_common(const layout::Canonical& c, const plan::Candidate& k, CommonArgs* a);

/// Where src's bytes end, if it has no gaps; where it has, nothing may be read that no unit is in.
std::int64_t dense_end(const layout::Canonical& c);

/// Walks a mode the other way round, so that src ascends.
void reverse(layout::CopyMode* mode, CommonArgs* a);

}  // namespace restride::cpu
