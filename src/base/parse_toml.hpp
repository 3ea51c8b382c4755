// The one way to read TOML: toml++, guarded against texts that would exhaust its stack.
#pragma once

#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "cortado/result.hpp"

namespace cortado::internal {

/// Parts of a dotted key or table header, a.b.c having three. Tables are destroyed recursively, so their depth must be
/// bounded; that of values is by toml++, to 256, each of which may be under such a key.
inline constexpr int kMostKeyParts = 16;

/// The root table. What is no TOML, or has a longer key, is an error of this code with file and line.
Result<toml::table> parse_toml(std::string_view text, const std::string& file, const std::string& code);

}  // namespace cortado::internal
