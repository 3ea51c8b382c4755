#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cortado/report.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "report/skipped.hpp"

namespace cortado::report {
namespace {

std::string significant(double value, int digits) {
  const double whole = std::pow(10, digits - 1) - 0.05;  // when rounded, it has all digits before the decimal point
  return std::abs(value) >= whole ? fmt::format("{:.0f}", value) : fmt::format("{:#.{}g}", value, digits);
}

/// What is rounded to zero has no sign.
std::string unsigned_if_zero(std::string text) {
  const bool zero = text.find_first_not_of("+-0.") == std::string::npos;
  return zero && text.front() != '0' ? text.substr(1) : text;
}

constexpr int kDigitsOfG = 6;

std::string number_text(double value, int digits, Notation notation) {
  switch (notation) {
    case Notation::fixed:
      return unsigned_if_zero(fmt::format("{:.{}f}", value, digits));
    case Notation::with_sign:
      return unsigned_if_zero(fmt::format("{:+.{}f}", value, digits));
    case Notation::significant:
      return significant(value, digits);
    case Notation::shortest:
      return fmt::format("{:.{}g}", value, digits > 0 ? digits : kDigitsOfG);
  }
  return {};
}

}  // namespace

Cell::Cell(double value) {
  if (std::isfinite(value)) value_ = value;
}

Cell Cell::whole(std::int64_t value) {
  Cell cell;
  cell.value_ = value;
  return cell;
}

Cell Cell::whole(std::uint64_t value) {
  CORTADO_CHECK(std::in_range<std::int64_t>(value), "whole numbers in tables fit 63 bits");
  return whole(static_cast<std::int64_t>(value));
}

Cell Cell::with_digits(int digits) const {
  Cell cell = *this;
  cell.digits_ = digits;
  return cell;
}

Cell Cell::shown_as(std::string text) const {
  Cell cell = *this;
  cell.shown_ = std::move(text);
  return cell;
}

std::string Cell::text(const Column& column) const {
  if (shown_) return *shown_;
  if (const auto* text = std::get_if<std::string>(&value_)) return *text;
  if (const auto* list = std::get_if<List>(&value_)) return join(*list);
  if (const auto* yes = std::get_if<bool>(&value_)) return *yes ? "yes" : "no";
  const auto* whole = std::get_if<std::int64_t>(&value_);
  if (whole != nullptr && column.scale == 1) return fmt::format("{}", *whole);
  if (empty()) return "-";
  const double number = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value_);
  return number_text(number * column.scale, digits_.value_or(column.digits), column.notation);
}

void Table::add(Row row) {
  CORTADO_CHECK(row.size() == columns.size(), "a row has as many cells as the table has columns");
  rows.push_back(std::move(row));
}

std::size_t Table::index_of(std::string_view column) const {
  const auto found = std::ranges::find(columns, column, &Column::key);
  CORTADO_CHECK(found != columns.end(), "a table has the column that is asked for");
  return static_cast<std::size_t>(found - columns.begin());
}

const Cell& Table::at(std::size_t row, std::string_view column) const {
  CORTADO_CHECK(row < rows.size(), "a table has the row that is asked for");
  return rows[row][index_of(column)];
}

Table skipped_table(const std::vector<SkippedWay>& skipped, const std::string& kind) {
  Table table = table_of("skipped", "what cannot be done",
                         reason_fields<SkippedWay>({{{.key = kind, .meaning = "what was left out"}, &SkippedWay::name}},
                                                   &SkippedWay::reason),
                         skipped);
  table.data_only = true;
  return table;
}

std::vector<std::string> skipped_notes(const std::vector<SkippedWay>& skipped) {
  constexpr std::size_t kNamed = 6;
  std::vector<std::pair<std::string, std::vector<std::string>>> names;  // by reason
  for (const SkippedWay& way : skipped) {
    const std::string reason = to_string(way.reason);
    auto same = std::ranges::find(names, reason, &std::pair<std::string, std::vector<std::string>>::first);
    if (same == names.end()) same = names.insert(names.end(), {reason, {}});
    same->second.push_back(way.name);
  }
  std::vector<std::string> notes;
  for (auto& [reason, who] : names) {
    std::string others;
    if (who.size() > kNamed) {
      others = fmt::format(" and {} more", who.size() - kNamed + 1);
      who.resize(kNamed - 1);
    }
    notes.push_back(fmt::format("{}{} left out: {}", join(who), others, reason));
  }
  return notes;
}

}  // namespace cortado::report
