// A plan as pictures: what `restride explain --svg` and `--html` write.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <restride/restride.hpp>

#include "src/cpu/models.h"
#include "src/plan/trace.h"
#include "tools/draw/figures.h"
#include "tools/draw/markup.h"

namespace restride::draw {

/// What was timed beside the prediction.
struct Measured {
  double median_ns = 0, noise = 0;  ///< of the plan; noise as a part of it
  double plain_ns = 0;              ///< of the best plain copy of the same bytes
  std::string plain_by;             ///< its name
  bool checked = false;             ///< compared with the naive loop
  std::string error;                ///< why there are no times
  std::map<std::string, double, std::less<>> others =
      {};  ///< median_ns of the other kernels that apply, by their names
  std::map<std::string, std::string, std::less<>> other_errors =
      {};  ///< of those that failed, or copied wrongly: what happened
};

/// A plan, the piece of it that is drawn, and what the reader calls it.
struct Explained {
  const Plan& plan;
  std::int64_t piece = 0;
  std::string what;   ///< as asked for: layouts, or a file's name
  std::string views;  ///< what became of it on the way, in words; may be empty
  std::optional<Measured> measured = {};
  const cpu::CpuModel* model = nullptr;  ///< the processor it is for; null: this one, or a GPU
};

/// The copy of a CPU's plan, as another processor would do it; a plan to look at, not to run. `family`: forced, may be
/// empty. Errors: ArgumentError where it does not apply.
Plan planned_for(const cpu::CpuModel& model, const Plan& here, std::string_view family);

/// Piece `n` of the plan. Piece 0 of a copy of nothing has no units.
plan::Trace trace_of(const Explained& e, std::int64_t n);
Grain grain_of(const Plan& plan);

/// The layouts, the piece on both sides and between, the order of pieces: each by itself, in the order of the page.
std::vector<Drawing> drawings(const Explained& e, std::size_t most_rows = 24);

/// All of them as one.
Drawing whole_drawing(const Explained& e);

/// The page. `json` is what `--json` prints; it lies in the page, to be saved.
std::string page(const Explained& e, const nlohmann::ordered_json& json);

/// What the drawings show, as numbers: the canonical form step by step, and the piece.
nlohmann::ordered_json steps_json(const Plan& plan);
nlohmann::ordered_json piece_json(const Explained& e);

}  // namespace restride::draw
