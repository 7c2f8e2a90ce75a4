// The ladder of lab/ as a page: the story of docs/lab.md, and in it each rung's drawing, sectors, conflicts and speed.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace restride::draw {

/// Of a result of `restride lab --json` ({"machine", "rows", ...}).
std::string lab_page(const nlohmann::ordered_json& result);

}  // namespace restride::draw
