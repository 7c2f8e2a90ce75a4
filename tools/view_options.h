// The options that say what becomes of a layout, shared by `copy` and `explain`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <restride/layout.hpp>

namespace restride::tools {

/// In the order in which earlier versions applied them, whatever was typed.
enum class ViewKind { kSlice, kFlip, kBroadcast, kAxes, kRearrange, kReshape, kRot90 };

/// One option that makes a view.
struct View {
  ViewKind kind = ViewKind::kSlice;
  std::string text;                   ///< as typed
  std::vector<std::int64_t> numbers;  ///< the same, where it is a list of them
};

/// Reads one; `shown` is what messages call the option. Errors: UsageError, whatever the array.
View read_view(ViewKind kind, const std::string& shown, const std::string& text);

/// As given on the command line.
struct ViewOptions {
  std::vector<View> views;         ///< in the order typed
  std::vector<std::string> sizes;  ///< "b2=4"
  std::string dtype;               ///< empty: unchanged
  std::string order = "C";         ///< "F": first mode fastest
};

/// A view, and the shape behind it.
struct ViewStep {
  std::string option;  ///< "--axes"
  std::string text;
  std::string shape;  ///< "(8,3,64,64)"
  std::string note;   ///< what a user may not expect of it; may be empty
};

/// A copy as the options want it.
struct CopyRequest {
  Layout result;  ///< what the output is: its shape, dense, offset 0
  Layout dst;     ///< the same memory with the extents of `src`
  Layout src;
  bool reshape = false;  ///< their extents differ, and elements pair in C order
  bool fortran_order = false;
  std::vector<ViewStep> views;  ///< in the order applied
};

/// Adds --slice ... --order to a subcommand, which must outlive `options`.
void add_view_options(CLI::App& sub, ViewOptions& options);

/// True when any option would change the layout or the dtype.
bool any(const ViewOptions& options);

/// Errors: UsageError (text that cannot be read, an unknown dtype), ShapeError (also where more than one strided
/// copy is needed), RangeError, CastError.
CopyRequest apply(const ViewOptions& options, const Layout& input);

/// "--slice '1:' (3,5,6), then --axes '2,0,1' (6,3,5)"
std::string in_words(const std::vector<ViewStep>& views);

/// The same for programs: a list of {"option", "value", "shape"}.
nlohmann::ordered_json views_json(const std::vector<ViewStep>& views);

/// Says on standard error that this line meant something else to earlier versions, where views came in a fixed order.
void note_typed_order(const ViewOptions& options);

/// The element named so. Errors: UsageError with what may be meant.
Element element_named(const std::string& name);

}  // namespace restride::tools
