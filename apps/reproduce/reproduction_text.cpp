// The tables of a reproduction, and the same content twice: for a terminal, and for docs/accuracy.md.
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "reproduce/reproduction_tables.hpp"

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

std::string number(double value, const published::Figure& figure) {
  const bool whole = figure.published == std::floor(figure.published);
  return whole ? number(value, figure.unit) : fmt::format("{:.2f}", value);
}

/// "17", or "0 to 10" if a range was published.
std::string published_text(const published::Figure& figure) {
  const std::string from = number(figure.published, figure);
  return figure.published_to ? fmt::format("{} to {}", from, number(*figure.published_to, figure)) : from;
}

std::string about(const ReproducedTable& table) {
  return fmt::format("{}, {}; published / ours; used for {}", table.published.title, table.published.unit,
                     published::to_string(table.published.used_for));
}

/// In as many lines as it needs.
std::string wrapped(std::string line, const TextOptions& options) {
  Document document;
  document.answer.push_back(std::move(line));
  return to_text(document, options);
}

std::string text_of(const Reproduction& reproduction, TextOptions options) {
  std::string text = wrapped(reproduction.title, options) + wrapped("source: " + reproduction.source, options) +
                     wrapped("ours: simulated " + reproduction.machine, options);
  const TextOptions plain = options;
  options.indent = "  ";
  for (const ReproducedTable& table : reproduction.tables) {
    text += "\n" + wrapped(about(table), plain);
    text += fmt::format("{}  {}\n", to_text(side_by_side(table), options), verdict(table));
  }
  if (!reproduction.figures.empty()) text += "\n" + to_text(figure_table(reproduction.figures), plain);
  for (const Table& table : reproduction.own) text += "\n" + wrapped(table.title, plain) + to_text(table, options);
  return text;
}

std::string markdown_of(const Reproduction& reproduction) {
  std::string text = fmt::format("## {}\n\nSource: {}. Ours: simulated `{}`, `cortado reproduce {}`.\n",
                                 reproduction.title, reproduction.source, reproduction.machine, reproduction.name);
  if (!reproduction.figures.empty()) text += "\n" + to_markdown(figure_table(reproduction.figures));
  for (const ReproducedTable& table : reproduction.tables) {
    text += fmt::format("\n### {}\n\nIn {}; published / ours. Used for {}. Source: {}. Result: {}.\n\n{}",
                        table.published.title, table.published.unit, published::to_string(table.published.used_for),
                        table.published.source.text, verdict(table), to_markdown(side_by_side(table)));
  }
  for (const Table& table : reproduction.own) {
    text += fmt::format("\n### {}\n\nOurs; nothing is published to compare it with.\n\n{}", table.title,
                        to_markdown(table));
  }
  return text;
}

constexpr const char* kMarkdownHead = R"(# Accuracy

Published numbers beside ours, simulated. Written by `cortado reproduce all --markdown docs/accuracy.md`; a test keeps it up to date.
What was used for calibration had a part in fitting constants of the machine file ([models.md](models.md)), or follows from what had;
what was used for validation had none. Goals are the errors that the tests in `tests/accuracy` demand; one that is missed says NO or MISSED.

)";

}  // namespace

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

Table side_by_side(const ReproducedTable& table) {
  Table result{.columns = {OwnColumn{"size"}}};
  for (const std::string& name : table.published.columns) result.columns.push_back(OwnColumn{name});
  for (std::size_t i = 0; i < table.published.sizes.size(); ++i) {
    Row row{format_bytes(table.published.sizes[i])};
    for (std::size_t j = 0; j < table.published.columns.size(); ++j) {
      const auto& value = table.published.values[i][j];
      row.emplace_back(fmt::format("{} / {}", value ? number(*value, table.published.unit) : "-",
                                   number(table.ours[i][j], table.published.unit)));
    }
    result.add(std::move(row));
  }
  return result;
}

Table figure_table(const std::vector<ReproducedFigure>& figures) {
  Table table;
  for (const char* name : {"figure", "published", "ours", "error", "goal", "reached", "used for"}) {
    table.columns.push_back(OwnColumn{name});
  }
  for (const ReproducedFigure& figure : figures) {
    const ReproducedRow row = figure.row();
    const char* unit = spaced_unit(figure.published.errors);
    table.add({figure.published.title, published_text(figure.published), number(row.ours, figure.published),
               Cell(row.error).shown_as(fmt::format("{:+.1f}{}", row.error, unit)),
               figure.published.goal ? fmt::format("{}{}", *figure.published.goal, unit) : "-",
               figure.goal() == Goal::none      ? "-"
               : figure.goal() == Goal::reached ? "yes"
                                                : "NO",
               published::to_string(figure.published.used_for)});
  }
  return table;
}

std::string reproduction_text(const std::vector<Reproduction>& all, const TextOptions& options) {
  std::string text;
  for (const Reproduction& one : all) text += (text.empty() ? "" : "\n") + text_of(one, options);
  return text;
}

std::string reproduction_markdown(const std::vector<Reproduction>& all) {
  std::string text = kMarkdownHead;
  for (const Reproduction& one : all) text += (&one == &all.front() ? "" : "\n") + markdown_of(one);
  return text;
}

}  // namespace cortado::report
