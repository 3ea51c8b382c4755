// The same content twice: aligned columns for a terminal, tables of Markdown for docs/accuracy.md.
#include <cmath>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/report/reproduction.hpp"

namespace cortado::report {
namespace {

using published::Errors;

const char* spaced_unit(Errors errors) {
  return errors == Errors::points ? " points" : " %";
}

/// As many digits as the published number has.
std::string number(double value, const std::string& unit) {
  return unit.starts_with("%") || unit == "units" ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
}

/// "mean error 4.2 % (goal 8), worst 20.1 % (goal 25): reached"
std::string verdict(const ReproducedTable& table) {
  const char* unit = spaced_unit(table.published.errors);
  const auto goal = [](const std::optional<double>& value) {
    return value ? fmt::format(" (goal {})", *value) : std::string();
  };
  const char* outcome = "";
  if (table.goal() != Goal::none) outcome = table.goal() == Goal::reached ? ": reached" : ": MISSED";
  return fmt::format("mean error {:.1f}{}{}, worst {:.1f}{}{}{}", table.mean_error(), unit,
                     goal(table.published.goal_mean), table.worst_error(), unit, goal(table.published.goal_worst),
                     outcome);
}

/// "2.87 / 2.91": published and ours; "- / 2.91" where the published point is left out.
std::vector<std::string> cells(const ReproducedTable& table, std::size_t size) {
  std::vector<std::string> row{format_bytes(table.published.sizes[size])};
  for (std::size_t j = 0; j < table.published.columns.size(); ++j) {
    const auto& value = table.published.values[size][j];
    row.push_back(fmt::format("{} / {}", value ? number(*value, table.published.unit) : "-",
                              number(table.ours[size][j], table.published.unit)));
  }
  return row;
}

std::vector<std::string> header(const ReproducedTable& table) {
  std::vector<std::string> names{"size"};
  names.insert(names.end(), table.published.columns.begin(), table.published.columns.end());
  return names;
}

std::string number(double value, const published::Figure& figure) {
  const bool whole = figure.published == std::floor(figure.published);
  return whole ? number(value, figure.unit) : fmt::format("{:.2f}", value);
}

/// "17", or "0 to 10" where a range was published.
std::string published_text(const published::Figure& figure) {
  const std::string from = number(figure.published, figure);
  return figure.published_to ? fmt::format("{} to {}", from, number(*figure.published_to, figure)) : from;
}

std::vector<std::string> cells(const ReproducedFigure& figure) {
  const ReproducedRow row = figure.row();
  const char* unit = spaced_unit(figure.published.errors);
  return {figure.published.title,
          published_text(figure.published),
          number(row.ours, figure.published),
          fmt::format("{:+.1f}{}", row.error, unit),
          figure.published.goal ? fmt::format("{}{}", *figure.published.goal, unit) : "-",
          figure.goal() == Goal::none      ? "-"
          : figure.goal() == Goal::reached ? "yes"
                                           : "NO",
          published::to_string(figure.published.used_for)};
}

const std::vector<std::string> kFigureHeader{"figure", "published", "ours", "error", "goal", "reached", "used for"};

std::string markdown_row(const std::vector<std::string>& row) {
  return "| " + join(row, " | ") + " |\n";
}

std::string markdown_head(const std::vector<std::string>& names) {
  return markdown_row(names) + markdown_row(std::vector<std::string>(names.size(), "---"));
}

std::string about(const ReproducedTable& table) {
  return fmt::format("{}, {}; published / ours; used for {}", table.published.title, table.published.unit,
                     published::to_string(table.published.used_for));
}

std::string text_of(const Reproduction& reproduction) {
  std::string text = fmt::format("{}\nsource: {}\nours: simulated {}\n", reproduction.title, reproduction.source,
                                 reproduction.machine);
  for (const ReproducedTable& table : reproduction.tables) {
    text += fmt::format("\n{}\n", about(table));
    TextTable columns(header(table));
    for (std::size_t i = 0; i < table.published.sizes.size(); ++i) columns.add_row(cells(table, i));
    text += columns.to_string("  ") + fmt::format("  {}\n", verdict(table));
  }
  if (!reproduction.figures.empty()) {
    TextTable figures(kFigureHeader);
    for (const ReproducedFigure& figure : reproduction.figures) figures.add_row(cells(figure));
    text += "\n" + figures.to_string();
  }
  for (const OwnTable& table : reproduction.own) {
    TextTable columns(table.column_names());
    for (const auto& row : table.rows) columns.add_row(table.texts(row));
    text += fmt::format("\n{}\n{}", table.title, columns.to_string("  "));
  }
  return text;
}

std::string markdown_of(const Reproduction& reproduction) {
  std::string text = fmt::format("## {}\n\nSource: {}. Ours: simulated `{}`, `cortado reproduce {}`.\n",
                                 reproduction.title, reproduction.source, reproduction.machine, reproduction.name);
  if (!reproduction.figures.empty()) {
    text += "\n" + markdown_head(kFigureHeader);
    for (const ReproducedFigure& figure : reproduction.figures) text += markdown_row(cells(figure));
  }
  for (const ReproducedTable& table : reproduction.tables) {
    text += fmt::format("\n### {}\n\nIn {}; published / ours. Used for {}. Source: {}. Result: {}.\n\n",
                        table.published.title, table.published.unit, published::to_string(table.published.used_for),
                        table.published.source.text, verdict(table));
    text += markdown_head(header(table));
    for (std::size_t i = 0; i < table.published.sizes.size(); ++i) text += markdown_row(cells(table, i));
  }
  for (const OwnTable& table : reproduction.own) {
    text += fmt::format("\n### {}\n\nOurs; nothing is published to compare it with.\n\n{}", table.title,
                        markdown_head(table.column_names()));
    for (const auto& row : table.rows) text += markdown_row(table.texts(row));
  }
  return text;
}

constexpr const char* kMarkdownHead = R"(# Accuracy

Published numbers beside ours, simulated. Written by `cortado reproduce all --markdown docs/accuracy.md`; a test keeps it up to date.
What was used for calibration had a part in fitting constants of the machine file ([models.md](models.md)), or follows from what had;
what was used for validation had none. Goals are the errors that the tests in `tests/accuracy` demand; one that is missed says NO or MISSED.

)";

}  // namespace

std::string reproduction_text(const std::vector<Reproduction>& all) {
  std::string text;
  for (const Reproduction& one : all) text += (text.empty() ? "" : "\n") + text_of(one);
  return text;
}

std::string reproduction_markdown(const std::vector<Reproduction>& all) {
  std::string text = kMarkdownHead;
  for (const Reproduction& one : all) text += (&one == &all.front() ? "" : "\n") + markdown_of(one);
  return text;
}

}  // namespace cortado::report
