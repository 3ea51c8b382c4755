#include "sweep/answer.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cortado::sweep {

template <class Column>
std::shared_ptr<const Layout> Excerpts::layout_of(std::string_view table, const std::vector<Column>& columns,
                                                  const std::vector<std::size_t>& kept) {
  const auto same = [&](std::size_t i, const LayoutColumn& known) {
    return columns[i].key == known.name && columns[i].meaning == known.meaning;
  };
  for (const auto& known : known_) {
    if (known->table == table && std::ranges::equal(kept, known->columns, same)) return known;
  }
  Layout layout{std::string(table), {}};
  for (const std::size_t i : kept) layout.columns.push_back({columns[i].key, columns[i].meaning});
  return known_.emplace_back(std::make_shared<const Layout>(std::move(layout)));
}

Answer Excerpts::of(const report::Document& document) {
  Answer answer;
  if (!document.facts.empty()) {
    kept_.resize(document.facts.size());
    std::iota(kept_.begin(), kept_.end(), std::size_t{0});
    AnswerTable facts{layout_of(kFacts, document.facts, kept_), {}};
    facts.cells.reserve(document.facts.size());
    for (const report::Fact& fact : document.facts) facts.cells.push_back(fact.value.value());
    answer.tables.push_back(std::move(facts));
  }
  for (const report::Table& table : document.tables) {
    const bool first = &table == &document.tables.front();
    if (tables_.empty() ? !first : std::ranges::count(tables_, table.key) == 0) continue;
    kept_.clear();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (columns_.empty() || std::ranges::count(columns_, table.columns[i].key) > 0) kept_.push_back(i);
    }
    if (kept_.empty()) continue;
    AnswerTable rows{layout_of(table.key, table.columns, kept_), {}};
    rows.cells.reserve(table.rows.size() * kept_.size());
    for (const report::Row& row : table.rows) {
      for (const std::size_t i : kept_) rows.cells.push_back(row[i].value());
    }
    answer.tables.push_back(std::move(rows));
  }
  return answer;
}

}  // namespace cortado::sweep
