#include "report/html_page.hpp"

#include <fmt/format.h>

#include "report/svg.hpp"

namespace cortado::report {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ground: #fff; --text: #222; --faint: #595959; --line: #e2e2e2; --axis: #888;
  --band: #f6f6f6; --far: #b00020; }
@media (prefers-color-scheme: dark) { :root { --ground: #16181c; --text: #e4e4e4; --faint: #a8a8a8; --line: #33363c;
  --axis: #888; --band: #1e2126; --far: #ff7b8a; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 74rem; margin: 2rem auto; padding: 0 1rem; color: var(--text);
  background: var(--ground); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
svg { width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px; }
svg text { fill: var(--text); } svg .tick { font-size: 11.5px; fill: var(--faint); }
.title { font-weight: 600; font-size: 14px; } .grid { stroke: var(--line); } .axis { stroke: var(--axis); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; } td, th { padding: .2rem .5rem; text-align: right; }
.wide td { white-space: nowrap; }
td:first-child, th:first-child { text-align: left; } tr:nth-child(even) { background: var(--band); }
.far { color: var(--far); font-weight: 600; } .source { color: var(--faint); font-size: 13px; }
)";

}  // namespace

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{}</title>\n"
      "<meta name='viewport' content='width=device-width'><style>{}</style></head>\n<body>\n{}</body></html>\n",
      escape_html(title), kStyle, body);
}

std::string html_row(const std::vector<std::string>& cells, std::string_view tag) {
  std::string out = "<tr>";
  for (const std::string& cell : cells) out += fmt::format("<{0}>{1}</{0}>", tag, cell);
  return out + "</tr>\n";
}

std::string html_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  const auto escaped = [](std::vector<std::string> texts) {
    for (std::string& text : texts) text = escape_html(text);
    return texts;
  };
  std::string out = "<div class='wide'><table>\n" + html_row(escaped(header), "th");
  for (const auto& row : rows) out += html_row(escaped(row), "td");
  return out + "</table></div>\n";
}

}  // namespace cortado::report
