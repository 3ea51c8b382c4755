// The JSON text of a program to a tree, and where it is wrong.
#pragma once

#include <string>
#include <string_view>

#include "cortado/result.hpp"

#include "base/json.hpp"

namespace cortado::json {

/// The tree of a JSON text. Refuses (code "program.json") broken JSON, with line and column, a key that stands twice in
/// one object, and nesting deeper than any program has. Never throws.
Result<Json> parse_document(std::string_view text, const std::string& file);

}  // namespace cortado::json
