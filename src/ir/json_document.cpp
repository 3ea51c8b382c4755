#include "ir/json_document.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cortado::json {
namespace {

/// A program nests 7 deep: queues, queue, commands, command, sources, region, and the document itself.
constexpr JsonRules kRules{.most_nesting = 32, .repeated_keys = false};

/// Printable and short, whatever the text contained.
std::string printable(std::string message) {
  constexpr std::size_t kLongest = 160;
  if (message.size() > kLongest) message = message.substr(0, kLongest) + "...";
  std::replace_if(
      message.begin(), message.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return message;
}

}  // namespace

Result<Json> parse_document(std::string_view text, const std::string& file) {
  auto parsed = Json::parse(text, kRules);
  if (parsed) return *std::move(parsed);
  Diagnostic diagnostic{"program.json", printable(parsed.error().message), {}, {}};
  diagnostic.place.file = file;
  if (const std::size_t position = std::min(parsed.error().position, text.size()); position > 0) {
    const std::string_view before = text.substr(0, position - 1);
    const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    diagnostic.place.line = static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n'));
    diagnostic.message = fmt::format("column {}: {}", before.size() - line_start + 1, diagnostic.message);
  } else if (text.empty()) {
    diagnostic.message = "the text is empty";
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  diagnostic.hint = first == std::string_view::npos || text[first] != '{'
                        ? "use a program that cortado plan wrote"
                        : "the file may be incomplete; write it again with cortado plan";
  return fail(std::move(diagnostic));
}

}  // namespace cortado::json
