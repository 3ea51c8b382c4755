#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace cortado {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::array<Unit, 13> kUnits{{{"", 1},
                                       {"B", 1},
                                       {"K", 1ULL << 10},
                                       {"KiB", 1ULL << 10},
                                       {"M", 1ULL << 20},
                                       {"MiB", 1ULL << 20},
                                       {"G", 1ULL << 30},
                                       {"GiB", 1ULL << 30},
                                       {"TiB", 1ULL << 40},
                                       {"KB", 1'000},
                                       {"MB", 1'000'000},
                                       {"GB", 1'000'000'000},
                                       {"TB", 1'000'000'000'000}}};

constexpr const char* kSizeHint = "write a size as 4096, 4KiB, 1.5MiB or 2GB";

bool looks_like_number(const std::string& cell) {
  if (cell.empty()) return false;
  char* end = nullptr;
  std::strtod(cell.c_str(), &end);
  const std::string_view rest(end);
  return end != cell.c_str() && (rest.empty() || rest == "%" || rest == "x");
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::uint64_t> parse_count(std::string_view text) {
  unsigned shift = 0;
  if (text.ends_with('k') || text.ends_with('K')) shift = 10;
  if (text.ends_with('M')) shift = 20;
  const auto number = parse_number<std::uint64_t>(text.substr(0, text.size() - (shift > 0 ? 1 : 0)));
  if (!number || *number > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return *number << shift;
}

Result<Bytes> parse_bytes(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail("usage.size", fmt::format("'{}' is not a size: {}", text, why), kSizeHint);
  };
  const std::size_t split = static_cast<std::size_t>(
      std::find_if(text.begin(), text.end(),
                   [](char c) { return !std::isdigit(static_cast<unsigned char>(c)) && c != '.'; }) -
      text.begin());
  const std::string_view digits = text.substr(0, split);
  const std::string_view suffix = text.substr(split);
  if (digits.empty()) return bad(text.starts_with('-') ? "it is negative" : "no number at the start");
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == suffix; });
  if (unit == kUnits.end()) return bad(fmt::format("unknown unit '{}'", suffix));

  constexpr std::uint64_t kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::size_t dot = digits.find('.');
  std::uint64_t whole = 0;
  const std::string_view whole_digits = digits.substr(0, dot);
  const auto parsed = std::from_chars(whole_digits.data(), whole_digits.data() + whole_digits.size(), whole);
  if (parsed.ec == std::errc::result_out_of_range || (parsed.ec == std::errc() && whole > kMax / unit->bytes)) {
    return bad("it is larger than 2^63-1 bytes");
  }
  if (parsed.ec != std::errc()) return bad("no number at the start");
  Bytes bytes{whole * unit->bytes};
  if (dot != std::string_view::npos) {
    const std::string_view fraction = digits.substr(dot + 1);
    std::uint64_t numerator = 0;
    const auto tail = std::from_chars(fraction.data(), fraction.data() + fraction.size(), numerator);
    if (tail.ec != std::errc() || tail.ptr != fraction.data() + fraction.size() || fraction.size() > 6) {
      return bad("at most six digits may follow the point");
    }
    std::uint64_t denominator = 1;
    for (std::size_t i = 0; i < fraction.size(); ++i) denominator *= 10;
    const std::uint64_t scaled = numerator * unit->bytes;  // below 10^6 * 2^40, so it fits
    if (scaled % denominator != 0) return bad("it is not a whole number of bytes");
    bytes += Bytes{scaled / denominator};
    if (bytes.value > kMax) return bad("it is larger than 2^63-1 bytes");
  }
  return bytes;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + 1);
    if (text.empty()) parts.emplace_back();
  }
  return parts;
}

Result<std::vector<Bytes>> parse_sizes(std::string_view text) {
  std::vector<Bytes> sizes;
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    CORTADO_ASSIGN_OR_RETURN(const Bytes first, parse_bytes(text.substr(0, colon)));
    CORTADO_ASSIGN_OR_RETURN(const Bytes last, parse_bytes(text.substr(colon + 1)));
    if (first.value == 0 || last < first) {
      return fail("usage.size", fmt::format("'{}' is not a range of sizes", text),
                  "write FIRST:LAST with 0 < FIRST <= LAST, e.g. 1KiB:64MiB; sizes double from FIRST to LAST");
    }
    for (Bytes size = first; size <= last; size = size * 2) sizes.push_back(size);
    return sizes;
  }
  while (true) {
    const std::size_t comma = text.find(',');
    CORTADO_ASSIGN_OR_RETURN(const Bytes size, parse_bytes(text.substr(0, comma)));
    sizes.push_back(size);
    if (comma == std::string_view::npos) return sizes;
    text.remove_prefix(comma + 1);
  }
}

std::optional<std::vector<std::uint64_t>> parse_counts(std::string_view text) {
  const bool range = text.find(':') != std::string_view::npos;
  std::vector<std::uint64_t> counts;
  for (const std::string& word : split(text, range ? ':' : ',')) {
    const auto count = parse_count(word);
    if (!count) return std::nullopt;
    counts.push_back(*count);
  }
  if (counts.empty()) return std::nullopt;
  if (!range) return counts;
  const std::uint64_t last = counts.back();
  if (counts.size() != 2 || counts[0] == 0 || last < counts[0]) return std::nullopt;
  for (counts.pop_back(); counts.back() <= last / 2;) counts.push_back(2 * counts.back());
  return counts;
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array<std::pair<std::string_view, unsigned>, 3> kBinary{{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}}};
  for (const auto& [name, shift] : kBinary) {
    const std::uint64_t unit = 1ULL << shift;
    if (bytes.value >= unit && bytes.value % unit == 0) return fmt::format("{}{}", bytes.value >> shift, name);
  }
  return fmt::format("{}B", bytes.value);
}

std::string readable_bytes(Bytes bytes) {
  constexpr std::size_t kLong = 10;
  constexpr double kGiB = 1ULL << 30;
  std::string text = format_bytes(bytes);
  if (text.size() <= kLong || text.ends_with("GiB")) return text;
  return fmt::format("{:.1f}GiB", static_cast<double>(bytes.value) / kGiB);
}

namespace {

/// Bytes of the UTF-8 character at the start of the text; 0 if there is none.
std::size_t utf8_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = first < 0x80   ? 1
                            : first < 0xc2 ? 0
                            : first < 0xe0 ? 2
                            : first < 0xf0 ? 3
                            : first < 0xf5 ? 4
                                           : 0;
  if (bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

}  // namespace

std::string escape_control(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F in UTF-8
      out += fmt::format("\\u{:04x}", next);
      ++i;
      continue;
    }
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    const std::size_t bytes = byte < 0x80 ? 1 : utf8_bytes(text.substr(i));
    if (control || bytes == 0) {
      out += fmt::format("\\u{:04x}", byte);
      continue;
    }
    out += text.substr(i, bytes);
    i += bytes - 1;
  }
  return out;
}

std::string nearest_name(std::string_view wrong, const std::vector<std::string>& candidates) {
  std::string best;
  if (wrong.empty()) return best;  // as near to one as to another
  std::size_t best_distance = std::max<std::size_t>(2, wrong.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(wrong, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& candidates, std::string otherwise) {
  const std::string nearest = nearest_name(wrong, candidates);
  return nearest.empty() ? std::move(otherwise) : "did you mean " + nearest + "?";
}

std::string suggestion(std::string_view wrong, const std::vector<std::string>& known, std::string_view heading) {
  const std::string question = did_you_mean(wrong, known);
  return question + (question.empty() ? "" : " ") + std::string(heading) + join(known);
}

std::string counted(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

TextTable::TextTable(std::vector<std::string> header) : columns_(header.size()), header_(1) {
  const auto breaks = [](const std::string& cell) {
    return static_cast<std::size_t>(std::count(cell.begin(), cell.end(), '\n'));
  };
  for (const std::string& cell : header) header_ = std::max(header_, breaks(cell) + 1);
  rows_.resize(header_, std::vector<std::string>(columns_));
  for (std::size_t c = 0; c < columns_; ++c) {
    std::istringstream lines(header[c]);
    std::size_t row = header_ - 1 - breaks(header[c]);
    for (std::string line; std::getline(lines, line); ++row) rows_[row][c] = line;
  }
}

void TextTable::add_row(std::vector<std::string> cells) {
  CORTADO_CHECK(cells.size() == columns_, "a table row has as many cells as the header");
  rows_.push_back(std::move(cells));
}

std::string TextTable::to_string(std::string_view indent) const {
  std::vector<std::size_t> width(columns_, 0);
  std::vector<bool> right(columns_, rows_.size() > header_);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < columns_; ++c) {
      width[c] = std::max(width[c], rows_[r][c].size());
      if (r >= header_ && !rows_[r][c].empty() && rows_[r][c] != "-" && !looks_like_number(rows_[r][c]))
        right[c] = false;
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (std::size_t c = 0; c < columns_; ++c) {
      if (c > 0) line += "  ";
      line += right[c] ? fmt::format("{:>{}}", row[c], width[c]) : fmt::format("{:<{}}", row[c], width[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace cortado
