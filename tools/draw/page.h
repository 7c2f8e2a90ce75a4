// The frame of every page that the command writes: one file, no script that it needs, no request to anywhere.
#pragma once

#include <string>
#include <string_view>

namespace restride::draw {

/// A page. `title` and `heading` are text; `body` is markup.
std::string html_page(std::string_view title, std::string_view heading, std::string_view body);

/// A link's target that holds `data` itself.
std::string data_uri(std::string_view type, std::string_view data);

}  // namespace restride::draw
