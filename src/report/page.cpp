// Pages: what a reader without JavaScript sees, as HTML, and the data from which web/src/page draws the rest.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cortado/report.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "report/page_files.hpp"
#include "report/table_json.hpp"
#include "report/visible.hpp"

namespace cortado::report {
namespace {

constexpr std::size_t kRowsWithoutScript = 200;
constexpr std::size_t kMostRows = 100'000;                 // per table; a browser reads them in about a second
constexpr std::size_t kMostTrace = std::size_t{48} << 20;  // bytes of a timeline

constexpr std::array<const char*, 5> kKindNames{"bars", "beside", "lines", "areas", "map"};
constexpr std::array<const char*, 4> kNotationNames{"fixed", "with_sign", "significant", "shortest"};

std::string_view page_file(std::string_view name) {
  const auto files = page_files();
  const auto found = std::ranges::find(files, name, [](const auto& file) { return file.first; });
  CORTADO_CHECK(found != files.end(), "pages have their embedded files");
  return found->second;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : escape_control(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// JSON inside a script element: no text in it may end the element. '<' occurs in strings only.
std::string inside_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

// --- Data ------------------------------------------------------------------------------------------------------------

bool is_whole(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell.value());
}

/// Whole numbers are written without decimals, and JavaScript cannot tell which ones were whole.
Json page_cell(const Cell& cell, const Column& column, bool whole_column) {
  Json value = json_of(cell);
  const bool own = cell.has_own_text() || (is_whole(cell) && !whole_column);
  return own ? Json{{"value", std::move(value)}, {"text", cell.text(column)}} : value;
}

bool is_whole_column(const Table& table, std::size_t c) {
  return table.columns[c].scale == 1 && std::ranges::none_of(table.rows, [c](const Row& row) {
           return std::holds_alternative<double>(row[c].value());
         });
}

/// A terminal may break "re- compute"; a page has "recompute".
std::string unbroken(std::string head) {
  for (std::size_t at = head.find("- "); at != std::string::npos; at = head.find("- ", at)) head.erase(at, 2);
  return head;
}

Json page_column(const Column& column, bool whole) {
  Json json{{"key", column.key}, {"head", unbroken(column.head)}, {"unit", column.unit}};
  if (whole) json["whole"] = true;
  if (column.view == View::data) json["data"] = true;
  if (column.digits != 0) json["digits"] = column.digits;
  if (column.notation != Notation::fixed) json["notation"] = kNotationNames[static_cast<std::size_t>(column.notation)];
  if (column.scale != 1) json["scale"] = column.scale;
  if (!column.csv.empty()) json["csv"] = column.csv;
  return json;
}

Json page_chart(const Chart& chart, const Table& table) {
  for (const auto* names : {&chart.values, &chart.labels, &chart.series}) {
    for (const std::string& name : *names) table.index_of(name);
  }
  Json json{{"kind", kKindNames[static_cast<std::size_t>(chart.kind)]},
            {"title", chart.title},
            {"about", chart.about},
            {"values", chart.values},
            {"labels", chart.labels},
            {"series", chart.series}};
  if (!chart.published.empty()) json["published"] = chart.published;
  if (!chart.limit.empty()) json["limit"] = chart.limit;
  if (chart.most) json["most"] = *chart.most;
  if (!chart.marked.empty()) json["marked"] = chart.marked;
  return json;
}

Json page_table(const Table& table) {
  Json json{{"key", table.key}, {"title", table.title}, {"shown", !table.data_only}, {"count", table.rows.size()}};
  for (const char* name : {"charts", "columns", "rows"}) json[name] = Json::array();
  for (const Chart& chart : table.charts) json["charts"].push_back(page_chart(chart, table));
  std::vector<bool> whole;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    whole.push_back(is_whole_column(table, c));
    json["columns"].push_back(page_column(table.columns[c], whole[c]));
  }
  for (std::size_t i = 0; i < std::min(table.rows.size(), kMostRows); ++i) {
    Json row = Json::array();
    for (std::size_t c = 0; c < whole.size(); ++c) {
      row.push_back(page_cell(table.rows[i][c], table.columns[c], whole[c]));
    }
    json["rows"].push_back(std::move(row));
  }
  return json;
}

/// Notes of the document, and about what is too much for a page.
std::vector<std::string> page_notes(const Document& document) {
  std::vector<std::string> notes = document.notes;
  const std::vector<std::string> limits = page_limits(document);
  notes.insert(notes.end(), limits.begin(), limits.end());
  return notes;
}

Json page_document(const Document& document) {
  Json json{{"schema", document.schema},     {"version", document.version}, {"title", document.title},
            {"measured", document.measured}, {"about", document.about},     {"answer", document.answer},
            {"notes", page_notes(document)}};
  for (const char* name : {"facts", "tables"}) json[name] = Json::array();
  for (const Fact& fact : document.facts) {
    json["facts"].push_back({{"key", fact.key}, {"value", json_of(fact.value)}, {"csv", fact.in_csv}});
  }
  for (const Table& table : document.tables) json["tables"].push_back(page_table(table));
  return json;
}

std::string data_element(std::string_view json, std::string_view attributes) {
  return fmt::format("<script type=\"application/json\"{}>{}</script>\n", attributes,
                     inside_script(escape_control(json)));
}

/// All data, followed by the timelines, each with the number of its document.
std::string page_data(const std::string& title, const std::vector<Document>& documents, const PageOrigin& origin) {
  Json json{{"title", title}, {"command", origin.command}, {"version", origin.version}, {"date", origin.date}};
  json["documents"] = Json::array();
  for (const Document& document : documents) json["documents"].push_back(page_document(document));
  std::string out = data_element(json.dump(-1, true), " id=\"data\"");
  for (std::size_t i = 0; i < documents.size(); ++i) {
    for (const TimelinePicture& timeline : documents[i].timelines) {
      if (timeline.trace.size() > kMostTrace) continue;
      out += data_element(timeline.trace, fmt::format(" class=\"timeline\" data-document=\"{}\" data-title=\"{}\"", i,
                                                      escape_html(timeline.title)));
    }
  }
  return out;
}

// --- Without JavaScript ----------------------------------------------------------------------------------------------

std::string paragraphs(const std::vector<std::string>& all, std::string_view attributes = {}) {
  std::string out;
  for (const std::string& one : all) out += fmt::format("<p{}>{}</p>\n", attributes, escape_html(one));
  return out;
}

bool is_number(const Cell& cell) {
  return std::holds_alternative<double>(cell.value()) || std::holds_alternative<std::int64_t>(cell.value());
}

std::string plain_table(const Table& table, const std::string& caption) {
  const std::vector<std::size_t> columns = visible_columns(table);
  const std::string title = escape_html(table.title.empty() ? caption : table.title);
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\n<caption>{0}</caption>\n"
      "<thead><tr>",
      title);
  for (const std::size_t c : columns) {
    const Column& column = table.columns[c];
    const std::string unit = column.unit.empty() ? "" : ", " + column.unit;
    out += fmt::format("<th scope=\"col\">{}</th>", escape_html(unbroken(column.head) + unit));
  }
  out += "</tr></thead>\n<tbody>\n";
  const std::size_t shown = std::min(table.rows.size(), kRowsWithoutScript);
  std::vector<bool> numbers;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    numbers.push_back(std::ranges::any_of(table.rows, [c](const Row& row) { return is_number(row[c]); }));
  }
  for (std::size_t i = 0; i < shown; ++i) {
    out += "<tr>";
    for (const std::size_t c : columns) {
      out += fmt::format("<td{}>{}</td>", numbers[c] ? " class=\"num\"" : "",
                         escape_html(table.rows[i][c].text(table.columns[c])));
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  if (shown < table.rows.size()) {
    out += fmt::format("<p class=\"note\">The first {} of {} rows.</p>\n", shown, table.rows.size());
  }
  return out;
}

std::string plain_document(const Document& document, bool alone) {
  std::string out = alone ? "" : fmt::format("<h2>{}</h2>\n", escape_html(document.title));
  out += fmt::format("<p class=\"note\">All numbers are {}.</p>\n", document.measured ? "measured" : "predicted");
  out += paragraphs(document.about) + paragraphs(document.answer, " class=\"answer\"");
  for (const Table& table : document.tables) {
    if (!table.data_only && !table.columns.empty()) out += plain_table(table, document.title);
  }
  return out + paragraphs(page_notes(document), " class=\"note\"");
}

/// Which parts of the page are left out and why; empty if none.
std::string left_out(const std::vector<Document>& documents, bool script) {
  const bool drawn = std::ranges::any_of(documents, [](const Document& document) {
    return !document.timelines.empty() ||
           std::ranges::any_of(document.tables, [](const Table& table) { return !table.charts.empty(); });
  });
  if (script) {
    return "<noscript><p class=\"note\">Charts, timelines and files to save need JavaScript; nothing is fetched."
           "</p></noscript>\n";
  }
  return drawn ? fmt::format("<p class=\"note\">Charts and timelines are left out of this page: {}</p>\n",
                             escape_html(page_file("about")))
               : "";
}

std::string origin_lines(const PageOrigin& origin) {
  std::string out;
  if (!origin.command.empty()) {
    out += fmt::format("<div class=\"command\"><code>{}</code></div>\n", escape_html(origin.command));
  }
  std::vector<std::string> facts;
  if (!origin.version.empty()) facts.push_back("Cortado " + origin.version);
  if (!origin.date.empty()) facts.push_back(origin.date);
  return out + (facts.empty() ? "" : paragraphs({join(facts)}, " class=\"note\""));
}

}  // namespace

std::vector<std::string> page_limits(const Document& document) {
  std::vector<std::string> notes;
  for (const Table& table : document.tables) {
    if (table.rows.size() <= kMostRows) continue;
    notes.push_back(fmt::format("this page has the first {} of {} rows", kMostRows, table.rows.size()));
  }
  for (const TimelinePicture& timeline : document.timelines) {
    if (timeline.trace.size() <= kMostTrace) continue;
    notes.push_back(fmt::format("the timeline of {} is too long for a page ({} MB): write it with --trace",
                                timeline.title, timeline.trace.size() >> 20));
  }
  return notes;
}

std::string to_html(const Document& document, const PageOrigin& origin) {
  return to_html(document.title, {document}, origin);
}

std::string to_html(const std::string& title, const std::vector<Document>& documents, const PageOrigin& origin) {
  const std::string_view script = page_file("script");
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; "
      "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>{}</style></head>\n<body><div id=\"app\">\n",
      script.empty() ? "'none'" : page_file("about"), escape_html(title), page_file("style"));
  out += fmt::format("<header><h1>{}</h1>\n{}</header>\n<main>\n", escape_html(title), origin_lines(origin));
  out += left_out(documents, !script.empty());
  for (const Document& document : documents) out += plain_document(document, documents.size() == 1);
  out += "</main></div>\n";
  out += page_data(title, documents, origin);
  if (!script.empty()) out += fmt::format("<script>{}</script>\n", script);
  return out + "</body></html>\n";
}

}  // namespace cortado::report
