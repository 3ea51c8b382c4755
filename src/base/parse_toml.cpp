#include "base/parse_toml.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace cortado::internal {
namespace {

/// Scans a TOML text and counts the dots of keys. Between two dots of one key there are only letters, digits, blanks
/// and quoted text: all other characters, and line ends, separate keys, values and numbers from each other.
class KeyScan {
 public:
  explicit KeyScan(std::string_view text) : text_(text) {}

  /// The line of the first key that is too long.
  std::optional<std::uint32_t> run() {
    while (at_ < text_.size()) {
      switch (text_[at_]) {
        case '"':
        case '\'':
          skip_quoted();
          continue;
        case '#':
          at_ = std::min(text_.find('\n', at_), text_.size());
          continue;
        case '.':
          if (++dots_ >= kMostKeyParts) return line_;
          break;
        case '\n':
        case '=':
        case ',':
        case '[':
        case ']':
        case '{':
        case '}':
          dots_ = 0;
          break;
        default:
          break;
      }
      step();
    }
    return {};
  }

 private:
  void step() {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }

  void skip_quoted() {
    const char quote = text_[at_];
    const std::string_view rest = text_.substr(at_);
    const std::string three(3, quote);
    const bool several_lines = rest.starts_with(three);
    const std::string_view end = several_lines ? std::string_view(three) : rest.substr(0, 1);
    at_ += end.size();
    while (at_ < text_.size() && (text_[at_] != quote || !text_.substr(at_).starts_with(end))) {
      if (text_[at_] == '\n' && !several_lines) return;  // not valid TOML
      if (text_[at_] == '\\' && quote == '"') step();
      if (at_ < text_.size()) step();
    }
    at_ = std::min(at_ + end.size(), text_.size());
    // Of up to five quotes at the end of a multi-line string, the last three are the end.
    for (int more = 0; several_lines && more < 2 && at_ < text_.size() && text_[at_] == quote; ++more) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  int dots_ = 0;
};

}  // namespace

Result<toml::table> parse_toml(std::string_view text, const std::string& file, const std::string& code) {
  Diagnostic diagnostic{code, {}, {}, {}};
  diagnostic.place.file = file;
  if (const auto line = KeyScan(text).run()) {
    diagnostic.message = fmt::format("a key has more than {} parts", kMostKeyParts);
    diagnostic.hint = "use fewer dots; no key of this file needs that many";
    diagnostic.place.line = *line;
    return fail(std::move(diagnostic));
  }
  const auto refused = [&](const toml::parse_error& error) {
    diagnostic.message = std::string(error.description());
    diagnostic.hint = "the file must be TOML";
    diagnostic.place.line = error.source().begin.line;
    return fail(diagnostic);
  };
#if TOML_EXCEPTIONS
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return refused(error);
  }
#else
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) return refused(parsed.error());
  return std::move(parsed).table();
#endif
}

}  // namespace cortado::internal
