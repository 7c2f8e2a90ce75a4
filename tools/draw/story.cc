#include "tools/draw/story.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "tools/io/text.h"

namespace restride::draw {
namespace {

using io::trimmed;

/// Code, bold, emphasis and links inside a line.
void line_of(std::string_view text, Markup& m) {
  while (!text.empty()) {
    const std::size_t at = text.find_first_of("`*[");
    m.text(text.substr(0, at));
    if (at == std::string_view::npos) return;
    text.remove_prefix(at);
    if (text[0] == '`') {
      const std::size_t end = text.find('`', 1);
      if (end == std::string_view::npos) break;
      m.leaf("code", {}, text.substr(1, end - 1));
      text.remove_prefix(end + 1);
    } else if (text.substr(0, 2) == "**" && text.find("**", 2) != std::string_view::npos) {
      const std::size_t end = text.find("**", 2);
      m.open("b");
      line_of(text.substr(2, end - 2), m);
      m.close();
      text.remove_prefix(end + 2);
    } else if (text[0] == '*' && text.size() > 1 && std::isalpha(static_cast<unsigned char>(text[1])) != 0 &&
               text.find('*', 1) != std::string_view::npos) {
      const std::size_t end = text.find('*', 1);
      m.leaf("em", {}, text.substr(1, end - 1));
      text.remove_prefix(end + 1);
    } else if (text[0] == '[' && text.find("](") != std::string_view::npos &&
               text.find(')', text.find("](")) != std::string_view::npos) {
      const std::size_t end = text.find("](");
      line_of(text.substr(1, end - 1), m);
      text.remove_prefix(text.find(')', end) + 1);
    } else {
      m.text(text.substr(0, 1));
      text.remove_prefix(1);
    }
  }
  m.text(text);
}

void table_of(const std::vector<std::string_view>& lines, Markup& m) {
  m.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", "figures"}}).open("table");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view row = trimmed(lines[i]);
    if (row.find_first_not_of("|-: ") == std::string_view::npos) continue;  // the rule below the heading
    row.remove_prefix(1);
    m.open("tr");
    for (bool first = true; !row.empty(); first = false) {
      const std::size_t end = std::min(row.find('|'), row.size());
      m.open(i == 0 ? "th" : "td", {{"class", first ? "" : "n"}});
      line_of(trimmed(row.substr(0, end)), m);
      m.close();
      row.remove_prefix(std::min(end + 1, row.size()));
    }
    m.close();
  }
  m.close().close();
}

}  // namespace

void tell_story(std::string_view markdown, const std::function<bool(Markup&, std::string_view)>& figures,
                const std::function<void(Markup&)>& section, Markup& out) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < markdown.size();) {
    const std::size_t end = std::min(markdown.find('\n', at), markdown.size());
    lines.push_back(markdown.substr(at, end - at));
    at = end + 1;
  }
  const auto starts = [&](std::size_t i, std::string_view with) {
    return i < lines.size() && lines[i].substr(0, with.size()) == with;
  };
  for (std::size_t i = 0; i < lines.size();) {
    if (trimmed(lines[i]).empty() || starts(i, "<!-- /figures")) {
      ++i;
    } else if (starts(i, "<!-- figures: ")) {
      std::string_view words = lines[i].substr(14);
      words = trimmed(words.substr(0, words.find("-->")));
      ++i;
      if (figures(out, words))
        while (i < lines.size() && !starts(i, "<!-- /figures")) ++i;
    } else if (starts(i, "```")) {
      out.open("pre", {{"tabindex", "0"}});
      for (++i; i < lines.size() && !starts(i, "```"); ++i) out.text(lines[i]).text("\n");
      out.close();
      ++i;
    } else if (starts(i, "#")) {
      const std::size_t level = lines[i].find_first_not_of('#');
      if (level == 2) section(out);
      // The page has its own first heading.
      if (level > 1) {
        out.open(level == 2 ? "h2" : "h3");
        line_of(trimmed(lines[i].substr(level)), out);
        out.close();
      }
      ++i;
    } else if (starts(i, "|")) {
      std::vector<std::string_view> rows;
      for (; starts(i, "|"); ++i) rows.push_back(lines[i]);
      table_of(rows, out);
    } else if (starts(i, "- ")) {
      out.open("ul");
      while (starts(i, "- ")) {
        std::string item(lines[i].substr(2));
        for (++i; starts(i, "  "); ++i) item.append(" ").append(trimmed(lines[i]));
        out.open("li");
        line_of(item, out);
        out.close();
      }
      out.close();
    } else {
      std::string paragraph;
      for (; i < lines.size() && !trimmed(lines[i]).empty() && !starts(i, "<!--") && !starts(i, "#") &&
             !starts(i, "|") && !starts(i, "```");
           ++i)
        paragraph.append(paragraph.empty() ? "" : " ").append(trimmed(lines[i]));
      out.open("p");
      line_of(paragraph, out);
      out.close();
    }
  }
  section(out);
}

}  // namespace restride::draw
