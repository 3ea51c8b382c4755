// JSON text to a tree, with the strictness that nlohmann's own parser lacks.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cortado/result.hpp"

namespace cortado::json {

/// The tree of a JSON text. Refuses (code "program.json") broken JSON, with line and column, a key that stands twice in
/// one object, and nesting deeper than any program has. Never throws.
Result<nlohmann::json> parse_document(std::string_view text, const std::string& file);

}  // namespace cortado::json
