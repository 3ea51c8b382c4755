// Conversion between text and numbers or sizes, and plain text tables.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cortado/result.hpp"

namespace cortado {

/// The whole text as a number; none if it is anything else, has a plus sign or blanks, or does not fit.
template <class Number, class... Base>
std::optional<Number> parse_number(std::string_view text, Base... base) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [read_to, error] = std::from_chars(text.data(), end, value, base...);
  if (error != std::errc() || read_to != end) return std::nullopt;
  return value;
}

/// A whole number, optionally followed by k (x 1024) or M (x 1024 x 1024): "32k"; none if it is anything else.
std::optional<std::uint64_t> parse_count(std::string_view text);

/// Parts of a text between separators; none for an empty text.
std::vector<std::string> split(std::string_view text, char separator);

/// "4096", "4KiB", "1.5MiB", "2GB" (decimal) -> bytes. Rejects negative, fractional-byte and > 2^63-1 results.
Result<Bytes> parse_bytes(std::string_view text);

/// "1KiB:64MiB" (doubling, both ends included) or "1KiB,3KiB,1MiB" or one size.
Result<std::vector<Bytes>> parse_sizes(std::string_view text);

/// "4k:64k" (doubling) or "1000,3k": like sizes, but counts.
std::optional<std::vector<std::uint64_t>> parse_counts(std::string_view text);

/// Shortest exact form: 1024 -> "1KiB", 1536 -> "1536B", 1048576 -> "1MiB". parse_bytes reads it back.
std::string format_bytes(Bytes bytes);

/// For messages: the exact form unless it is long; then in GiB: 186000000000 -> "173.2GiB", not "181640625KiB".
std::string readable_bytes(Bytes bytes);

/// The candidate most similar to `wrong` for "did you mean", or empty if none is similar.
std::string nearest_name(std::string_view wrong, const std::vector<std::string>& candidates);

/// "did you mean pcpy?"; `otherwise` if no candidate is similar.
std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& candidates,
                         std::string otherwise = {});

/// "did you mean pcpy? known: pcpy, bcst", or without the question if nothing is similar.
std::string suggestion(std::string_view wrong, const std::vector<std::string>& known,
                       std::string_view heading = "known: ");

/// Replaces every control character except line feed and tab, and every byte that is not UTF-8, by its JSON escape:
/// ESC -> "\u001b". Valid JSON stays valid, and the text is safe for terminals and XML.
std::string escape_control(std::string_view text);

/// "1 GPU", "8 GPUs"
std::string counted(std::uint64_t count, std::string_view one);

/// "a, b, c"
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

/// Columns of text with a header, aligned; numbers (cells that parse as one) to the right, the rest to the left. Header
/// cells may have several lines; they are aligned at the bottom.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);
  void add_row(std::vector<std::string> cells);  ///< with as many cells as the header
  std::string to_string(std::string_view indent = "") const;

 private:
  std::size_t columns_;
  std::size_t header_;                          // number of header lines, the first of rows_
  std::vector<std::vector<std::string>> rows_;  // cells of one line each
};

}  // namespace cortado
