// Parses the JSON text of a program into a tree, with the position of any error.
#pragma once

#include <string>
#include <string_view>

#include "cortado/result.hpp"

#include "base/json.hpp"

namespace cortado::json {

/// The tree of a JSON text. Rejects (code "program.json") malformed JSON, with line and column, a duplicate key in one
/// object, and nesting deeper than any program has. Never throws.
Result<Json> parse_document(std::string_view text, const std::string& file);

}  // namespace cortado::json
