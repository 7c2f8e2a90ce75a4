// Exchanges as JSON, and back. Planning is a pure function of the two sides, so the text holds these, and the figures
// by which a reader sees that its planner follows the same rules.
#include <fmt/format.h>

#include "src/base/json_value.h"
#include "src/distributed/exchange.h"

namespace restride::distributed {
namespace {

using base::JsonValue;

constexpr int kFormat = 1;
constexpr base::JsonLimits kLimits{16 << 20, 4};

ParseError fail(const std::string& what) {
  return ParseError(fmt::format("exchange: {}; use the text that Exchange::serialize made", what));
}

const std::string& text_of(const JsonValue& in, const char* key) {
  const JsonValue* value = in.find(key);
  if (value == nullptr || value->text() == nullptr) throw fail(fmt::format("no text '{}'", key));
  return *value->text();
}

std::int64_t integer_of(const JsonValue& in, const char* key) {
  const JsonValue* value = in.find(key);
  const auto n = value != nullptr ? value->integer() : std::nullopt;
  if (!n) throw fail(fmt::format("no integer '{}' of 63 bits", key));
  return *n;
}

Element element_of(const JsonValue& in, const char* key) {
  const std::optional<Element> element = parse_element(text_of(in, key));
  if (!element) throw fail(fmt::format("'{}' is no element type", text_of(in, key)));
  return *element;
}

}  // namespace

std::string Exchange::serialize() const {
  const Summary s = summary();
  // No notation has a character that JSON wants escaped.
  return fmt::format(R"({{"restride_exchange":{},"src":"{}","src_element":"{}","dst":"{}","dst_element":"{}",)"
                     R"("moved_bytes":{},"messages":{},"most_sent":{},"most_received":{}}})",
                     kFormat, to_string(src()), restride::to_string(src_element()), to_string(dst()),
                     restride::to_string(dst_element()), s.moved_bytes, s.messages, s.most_sent, s.most_received);
}

Exchange Exchange::deserialize(std::string_view json) {
  JsonValue in;
  try {
    in = base::parse_json(json, kLimits);
  } catch (const ParseError& e) {
    throw fail(e.what());
  }
  if (in.object() == nullptr) throw fail("no JSON object");
  if (const std::int64_t format = integer_of(in, "restride_exchange"); format != kFormat)
    throw ParseError(fmt::format("exchange: it is of format {}, this version reads {}; plan again", format, kFormat));
  Exchange out(parse_distribution(text_of(in, "src")), element_of(in, "src_element"),
               parse_distribution(text_of(in, "dst")), element_of(in, "dst_element"));
  const Summary s = out.summary();
  if (s.moved_bytes != integer_of(in, "moved_bytes") || s.messages != integer_of(in, "messages") ||
      s.most_sent != integer_of(in, "most_sent") || s.most_received != integer_of(in, "most_received"))
    throw ParseError("exchange: another planner's rules made it, its figures are not this one's; plan again");
  return out;
}

}  // namespace restride::distributed
