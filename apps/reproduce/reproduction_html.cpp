#include <fmt/format.h>

#include "base/text.hpp"
#include "reproduce/reproduction_tables.hpp"

namespace cortado::report {
namespace {

/// A row for every point.
Table points_of(const ReproducedTable& table) {
  const published::Table& published = table.published;
  const int digits = published.unit.starts_with("%") || published.unit == "units" ? 0 : 2;
  Table points{.key = published.name,
               .title = published.title,
               .columns = {{.key = "bytes", .head = "size"},
                           {.key = "what", .head = "what"},
                           {.key = "published", .head = "published", .unit = published.unit, .digits = digits},
                           {.key = "ours", .head = "ours", .unit = published.unit, .digits = digits}},
               .charts = {{.kind = Chart::Kind::lines,
                           .title = published.title,
                           .values = {"ours"},
                           .labels = {"bytes"},
                           .series = {"what"},
                           .published = "published",
                           .about = fmt::format("Lines: ours, predicted; rings: published. Source: {}. Used for {}. "
                                                "Result: {}.",
                                                published.source.text, published::to_string(published.used_for),
                                                verdict(table))}}};
  for (std::size_t i = 0; i < published.sizes.size(); ++i) {
    const Cell size = Cell(published.sizes[i]).shown_as(format_bytes(published.sizes[i]));
    for (std::size_t j = 0; j < published.columns.size(); ++j) {
      points.add({size, published.columns[j], published.values[i][j], table.ours[i][j]});
    }
  }
  return points;
}

}  // namespace

Document reproduction_page(const Reproduction& one) {
  Document page{.schema = "cortado.reproduction",
                .title = one.title,
                .about = {fmt::format("published numbers next to ours, simulated on {}", one.machine),
                          fmt::format("source: {}", one.source)},
                .facts = reproduction_document(one).facts};
  if (!one.figures.empty()) {
    page.tables.push_back(figure_table(one.figures));
    page.tables.back().key = "figures";
    page.tables.back().title = "Single numbers";
    page.tables.back().charts = {{.title = "Errors of single numbers",
                                  .values = {"error"},
                                  .labels = {"figure"},
                                  .about = "Ours relative to the published number: in % of it, or in points if it is a "
                                           "share itself. To the right: ours is larger."}};
  }
  for (const ReproducedTable& table : one.tables) page.tables.push_back(points_of(table));
  page.tables.insert(page.tables.end(), one.own.begin(), one.own.end());
  return page;
}

}  // namespace cortado::report
