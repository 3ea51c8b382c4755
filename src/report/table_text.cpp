#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "cortado/report.hpp"

#include "base/text.hpp"
#include "report/visible.hpp"

namespace cortado::report {
namespace {

constexpr std::size_t kGap = 2;         // between columns
constexpr std::size_t kLeastText = 16;  // minimum width of a folded column

/// Where a line may end: after spaces, which are dropped, and after hyphens in headings.
std::vector<std::string> words_of(std::string_view text, bool at_hyphens) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ' || c == '\n') {
      if (!words.back().empty()) words.emplace_back();
      continue;
    }
    // A word that ends with a hyphen is joined to the next without a space.
    if (at_hyphens && words.back().ends_with('-')) words.emplace_back();
    words.back() += c;
  }
  return words;
}

std::vector<std::string> folded(std::string_view text, std::size_t width, bool at_hyphens = false) {
  if (text.size() <= width) return {std::string(text)};
  std::vector<std::string> lines(1);
  for (const std::string& word : words_of(text, at_hyphens)) {
    std::string& line = lines.back();
    const bool close = line.empty() || (at_hyphens && line.ends_with('-'));
    if (line.empty() || line.size() + (close ? 0 : 1) + word.size() <= width) {
      line += (close ? "" : " ") + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

std::size_t longest_word(const std::string& text, bool at_hyphens) {
  std::size_t longest = 0;
  for (const std::string& word : words_of(text, at_hyphens)) longest = std::max(longest, word.size());
  return longest;
}

std::string heading_of(const Column& column) {
  return column.unit.empty() ? column.head : column.head + " " + column.unit;
}

bool is_words(const Cell& cell) {
  return std::holds_alternative<std::string>(cell.value()) || std::holds_alternative<Cell::List>(cell.value()) ||
         std::holds_alternative<bool>(cell.value());
}

bool has_values(const Table& table, std::size_t column) {
  return table.rows.empty() || std::ranges::any_of(table.rows, [&](const Row& row) { return !row[column].empty(); });
}

bool is_right(const Table& table, std::size_t column) {
  const Align align = table.columns[column].align;
  if (align != Align::automatic) return align == Align::right;
  return std::ranges::none_of(table.rows, [&](const Row& row) { return is_words(row[column]); });
}

}  // namespace

TableLines::TableLines(const Table& table, const TextOptions& options) : columns_(table.columns), options_(options) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (column.view == View::data || (column.view == View::wide && !options.wide) || !has_values(table, c)) continue;
    std::size_t width = std::max(column.width, longest_word(heading_of(column), true));
    for (const Row& row : table.rows) width = std::max(width, row[c].text(column).size());
    shown_.push_back({c, width, is_right(table, c)});
  }
  if (!options.wide) fit(table);
}

std::size_t TableLines::total() const {
  const std::size_t gaps = shown_.empty() ? 0 : kGap * (shown_.size() - 1);
  return std::accumulate(shown_.begin(), shown_.end(), options_.indent.size() + gaps,
                         [](std::size_t sum, const Shown& column) { return sum + column.width; });
}

/// Narrows the widest text columns until lines are no longer too long.
void TableLines::fit(const Table& table) {
  std::vector<std::size_t> least;  // minimum width that each column can be folded to
  for (const Shown& column : shown_) {
    const Column& about = columns_[column.index];
    std::size_t width = std::max({kLeastText, about.width, longest_word(heading_of(about), true)});
    for (const Row& row : table.rows) {
      const Cell& cell = row[column.index];
      width = std::max(width, is_words(cell) ? longest_word(cell.text(about), false) : cell.text(about).size());
    }
    least.push_back(width);
  }
  while (total() > options_.width) {
    Shown* widest = nullptr;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      if (shown_[i].width > least[i] && (widest == nullptr || shown_[i].width > widest->width)) widest = &shown_[i];
    }
    if (widest == nullptr) return;
    --widest->width;
  }
}

std::string TableLines::heading() const {
  std::vector<std::vector<std::string>> cells;
  for (const Shown& column : shown_) {
    cells.push_back(folded(heading_of(columns_[column.index]), column.width, true));
  }
  std::string text = joined(cells, true);
  if (!options_.mark_heading) return text;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    text.replace(at, text[at] == ' ' ? 1 : 0, "#");
  }
  return text;
}

std::string TableLines::line(const Row& row) const {
  std::vector<std::vector<std::string>> cells;
  for (const Shown& column : shown_) {
    const Column& about = columns_[column.index];
    const std::string text = row[column.index].text(about);
    cells.push_back(is_words(row[column.index]) && !options_.wide ? folded(text, column.width)
                                                                  : std::vector<std::string>{text});
  }
  return joined(cells, false);
}

std::string TableLines::joined(const std::vector<std::vector<std::string>>& cells, bool from_below) const {
  std::size_t lines = 0;
  for (const auto& cell : cells) lines = std::max(lines, cell.size());
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) {
    std::string line(options_.indent);
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::size_t first = from_below ? lines - cells[c].size() : 0;
      const std::string part = i >= first && i - first < cells[c].size() ? cells[c][i - first] : "";
      if (c > 0) line += std::string(kGap, ' ');
      line +=
          shown_[c].right ? fmt::format("{:>{}}", part, shown_[c].width) : fmt::format("{:<{}}", part, shown_[c].width);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string to_text(const Table& table, const TextOptions& options) {
  const TableLines lines(table, options);
  std::string text = lines.heading();
  for (const Row& row : table.rows) text += lines.line(row);
  return text;
}

std::string comment_lines(const std::vector<std::string>& lines, const TextOptions& options) {
  constexpr std::string_view kMark = "# ";
  std::string text;
  for (const std::string& line : lines) {
    const std::size_t width = options.wide ? line.size() : options.width - kMark.size();
    for (const std::string& part : folded(line, width)) text += fmt::format("{}{}\n", kMark, part);
  }
  return text;
}

std::string to_text(const Document& document, const TextOptions& options) {
  std::string answer;
  for (const std::string& line : document.answer) {
    for (const std::string& part : folded(line, options.wide ? line.size() : options.width)) answer += part + "\n";
  }
  std::string text = answer + "\n";
  if (!document.answer_first) {
    text = document.title.empty() ? "" : comment_lines({document.title}, options);
  }
  text += comment_lines(document.about, options);
  for (const Table& table : document.tables) {
    if (table.data_only) continue;
    if (!table.title.empty()) text += (text.empty() ? "" : "\n") + comment_lines({table.title}, options);
    text += to_text(table, options);
  }
  text += comment_lines(document.notes, options);
  return document.answer_first ? text : text + answer;
}

// --- Markdown --------------------------------------------------------------------------------------------------------

namespace {

std::string markdown_line(const std::vector<std::string>& cells) {
  std::vector<std::string> escaped;
  for (const std::string& cell : cells) {
    std::string& text = escaped.emplace_back();
    for (const char c : cell) {
      if (c == '|') text += '\\';
      text += c == '\n' ? ' ' : c;
    }
  }
  return "| " + join(escaped, " | ") + " |\n";
}

}  // namespace

std::string to_markdown(const Table& table) {
  const std::vector<std::size_t> columns = visible_columns(table);
  std::vector<std::string> heads;
  for (const std::size_t c : columns) {
    const Column& column = table.columns[c];
    heads.push_back(column.unit.empty() ? column.head : column.head + " " + column.unit);
  }
  std::string text = markdown_line(heads) + markdown_line(std::vector<std::string>(heads.size(), "---"));
  for (const Row& row : table.rows) {
    std::vector<std::string> cells;
    for (const std::size_t column : columns) cells.push_back(row[column].text(table.columns[column]));
    text += markdown_line(cells);
  }
  return text;
}

}  // namespace cortado::report
