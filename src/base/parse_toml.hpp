// The only way to read TOML: toml++, guarded against texts that would exhaust its stack.
#pragma once

#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "cortado/result.hpp"

namespace cortado::internal {

/// Parts of a dotted key or table header; a.b.c has three. Tables are destroyed recursively, so their depth must be
/// bounded; toml++ bounds the depth of values, to 256, each of which may be under such a key.
inline constexpr int kMostKeyParts = 16;

/// The root table. A text that is not TOML, or has a longer key, is an error with this code, file and line.
Result<toml::table> parse_toml(std::string_view text, const std::string& file, const std::string& code);

}  // namespace cortado::internal
