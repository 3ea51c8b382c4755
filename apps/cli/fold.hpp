// Lines that fit a terminal.
#pragma once

#include <string>
#include <string_view>

#include "base/text.hpp"

namespace cortado::cli {

inline constexpr std::size_t kTerminalWidth = 120;

/// Lines of at most `width` columns, cut at spaces; all but the first begin with `indent` spaces, and all but the last
/// end with `mark`. The first one begins at column `begin`.
inline std::string folded(std::string_view text, std::size_t indent, std::size_t begin = 0, std::string_view mark = {},
                          std::size_t width = kTerminalWidth) {
  std::string lines;
  std::size_t column = begin;
  for (const std::string& word : split(text, ' ')) {
    const bool is_first = lines.empty();
    if (!is_first && column + 1 + word.size() + mark.size() > width) {
      lines.append(mark).append("\n").append(indent, ' ').append(word);
      column = indent + word.size();
    } else {
      lines.append(is_first ? "" : " ").append(word);
      column += word.size() + (is_first ? 0 : 1);
    }
  }
  return lines;
}

/// The same for a command line, continued in the syntax of a shell.
inline std::string folded_command(std::string_view command, std::size_t indent, std::size_t begin = 0,
                                  std::size_t width = kTerminalWidth) {
  return folded(command, indent, begin, " \\", width);
}

}  // namespace cortado::cli
