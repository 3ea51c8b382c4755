#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "cortado/plan.hpp"

#include "plan/ficco/matrix.hpp"

namespace cortado {
namespace {

/// No machine holds more; sums of a table, and rows times the sum of shares, fit in 64 bits.
constexpr std::uint64_t kMostRows = 10'000'000'000;
constexpr std::uint64_t kMostShare = 1'000'000;
constexpr std::size_t kMostShares = 1000;

std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [read_to, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || read_to != text.data() + text.size() || value > most) return {};
  return value;
}

Unexpected<Diagnostic> fail_in(const std::string& file, std::size_t line, std::string message, std::string hint) {
  Diagnostic diagnostic{"ficco.tokens", std::move(message), std::move(hint)};
  diagnostic.place.file = file;
  diagnostic.place.line = static_cast<std::uint32_t>(line);
  return fail(std::move(diagnostic));
}

constexpr const char* kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

/// The cells between commas or, if there are none, between blanks.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  std::string_view rest = trimmed(line.substr(0, line.find('#')));
  const char* const separators = rest.find(',') == std::string_view::npos ? kBlanks : ",";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(separators), rest.size());
    cells.push_back(trimmed(rest.substr(0, end)));
    if (end + 1 == rest.size()) cells.emplace_back();  // nothing after the last comma
    rest = trimmed(rest.substr(std::min(end + 1, rest.size())));
  }
  return cells;
}

}  // namespace

Result<TokenTable> parse_tokens(std::string_view text, const std::string& file) {
  TokenTable table;
  std::vector<std::size_t> lines;  // lines of the file, by row of the table
  for (std::size_t start = 0, line = 1; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::vector<std::string_view> cells = cells_of(text.substr(start, end - start));
    start = end + 1;
    if (cells.empty()) continue;
    lines.push_back(line);
    std::vector<std::uint64_t>& row = table.emplace_back();
    for (const std::string_view cell : cells) {
      const auto rows = parse_number(cell, kMostRows);
      if (!rows) {
        return fail_in(file, line, fmt::format("'{}' is not a number of rows", cell),
                       "use whole numbers from 0 up, separated by commas");
      }
      row.push_back(*rows);
    }
  }
  if (table.empty()) {
    return fail_in(file, 0, "the table has no numbers", "use one line per sender, with one number per receiver");
  }
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].size() == table.size()) continue;
    return fail_in(file, lines[i], fmt::format("{} numbers in a table of {} lines", table[i].size(), table.size()),
                   "use one line per sender, with one number per receiver, including itself");
  }
  return table;
}

bool looks_like_shares(std::string_view text) {
  return text.find(':') != std::string_view::npos;
}

Result<TokenTable> tokens_by_shares(std::string_view shares, std::uint64_t rows) {
  std::vector<std::uint64_t> until{0};  // shares of this receiver and all previous ones
  for (std::size_t start = 0; start <= shares.size();) {
    const std::size_t end = std::min(shares.find(':', start), shares.size());
    const auto share = parse_number(shares.substr(start, end - start), kMostShare);
    if (!share || until.size() > kMostShares) {
      return fail("ficco.tokens", fmt::format("'{}' is not a list of shares", shares),
                  "use one share per receiver, for example 3:1:1:1, or a file");
    }
    until.push_back(until.back() + *share);
    start = end + 1;
  }
  if (until.back() == 0) {
    return fail("ficco.tokens", "no receiver has a share of the rows", "use at least one that is not 0");
  }
  if (rows > kMostRows)
    return fail("ficco.tokens", fmt::format("{} rows are too many to divide", rows), "use fewer rows");
  const auto ranks = static_cast<std::uint32_t>(until.size() - 1);
  TokenTable table(ranks);
  for (std::uint32_t from = 0; from < ranks; ++from) {
    const std::uint64_t own = plan::part_of({0, rows}, ranks, from).count;
    const auto begin = [&](std::size_t to) { return own * until[to] / until.back(); };
    for (std::size_t to = 0; to < ranks; ++to) table[from].push_back(begin(to + 1) - begin(to));
  }
  return table;
}

}  // namespace cortado
