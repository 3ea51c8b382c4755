// Words of earlier versions, and what says the same today.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cortado::cli {

/// What to type instead of a command of an earlier version.
std::optional<std::string> moved_command(std::string_view command);

/// What to type instead of a flag or an argument that the command had.
std::optional<std::string> moved_word(std::string_view command, std::string_view word);

}  // namespace cortado::cli
