#include "tools/draw/page.h"

#include <cstdint>

#include <fmt/format.h>
#include <restride/restride.hpp>

#include "tools/draw/markup.h"
#include "tools/draw/style.h"

namespace restride::draw {

std::string html_page(std::string_view title, std::string_view heading, std::string_view body) {
  Markup m;
  m.raw("<!doctype html>\n").open("html", {{"lang", "en"}}).open("head");
  m.raw("<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
  // Nothing is fetched, whatever the page holds.
  m.raw(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "img-src data:\">\n");
  m.raw("<link rel=\"icon\" href=\"data:,\">\n");
  m.leaf("title", {}, title);
  m.raw("<style>").raw(page_style()).raw("</style>\n").close();
  m.open("body").open("header").leaf("h1", {}, heading).close();
  m.open("main").raw(body).close();
  m.open("footer").leaf("p", {}, fmt::format("Made by restride {}.", version())).close();
  return m.close().close().str();
}

std::string data_uri(std::string_view type, std::string_view data) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = fmt::format("data:{};base64,", type);
  out.reserve(out.size() + (data.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < data.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < data.size() ? static_cast<unsigned char>(data[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= data.size() - i ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace restride::draw
