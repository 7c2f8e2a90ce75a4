// The little Markdown that docs/lab.md is written in, as HTML.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tools/draw/markup.h"

namespace restride::draw {

/// Headings, paragraphs, lists, fences, tables, `code`, **bold**, links (their text alone: a page has no files beside
/// it). A block of figures, <!-- figures: KIND WORDS... --> to <!-- /figures -->, is handed to `figures` by its words;
/// where that returns false its own lines are taken. `section` is called in front of every heading of the second level,
/// and at the end.
void tell_story(std::string_view markdown, const std::function<bool(Markup&, std::string_view words)>& figures,
                const std::function<void(Markup&)>& section, Markup& out);

}  // namespace restride::draw
