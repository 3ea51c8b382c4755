#include "sweep/answer.hpp"

#include <algorithm>

namespace cortado::sweep {

std::shared_ptr<const Layout> Excerpts::shared(Layout layout) {
  for (const auto& known : known_) {
    if (*known == layout) return known;
  }
  return known_.emplace_back(std::make_shared<const Layout>(std::move(layout)));
}

Answer Excerpts::of(const report::Document& document) {
  Answer answer;
  Layout layout{std::string(kFacts), {}};
  AnswerTable facts;
  for (const report::Fact& fact : document.facts) {
    layout.columns.push_back({fact.key, fact.meaning});
    facts.cells.push_back(fact.value.value());
  }
  if (!facts.cells.empty()) {
    facts.layout = shared(std::move(layout));
    answer.tables.push_back(std::move(facts));
  }
  for (const report::Table& table : document.tables) {
    const bool first = &table == &document.tables.front();
    if (tables_.empty() ? !first : std::ranges::count(tables_, table.key) == 0) continue;
    Layout of_table{table.key, {}};
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const report::Column& column = table.columns[i];
      if (!columns_.empty() && std::ranges::count(columns_, column.key) == 0) continue;
      kept.push_back(i);
      of_table.columns.push_back({column.key, column.meaning});
    }
    if (kept.empty()) continue;
    AnswerTable rows{shared(std::move(of_table)), {}};
    rows.cells.reserve(table.rows.size() * kept.size());
    for (const report::Row& row : table.rows) {
      for (const std::size_t i : kept) rows.cells.push_back(row[i].value());
    }
    answer.tables.push_back(std::move(rows));
  }
  return answer;
}

}  // namespace cortado::sweep
