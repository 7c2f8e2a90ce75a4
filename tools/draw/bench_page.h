// Result files of `restride bench` as a page.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace restride::draw {

/// A result file's content ({"runs": [...]}, bench/README.md) as a page: headlines, classes, every case with its peers,
/// the worst first, machines and commits, the file itself to be saved. `against`: an older file, whose cases of the
/// same name, layout, device and threads stand beside. Values of the wrong type are left out.
std::string bench_page(const nlohmann::ordered_json& file, const std::string& name,
                       const nlohmann::ordered_json* against = nullptr, const std::string& against_name = "");

}  // namespace restride::draw
