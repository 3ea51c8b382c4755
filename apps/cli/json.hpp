// JSON values in the output of the command line.
#pragma once

#include <vector>

#include "cortado/result.hpp"

#include "base/json.hpp"
#include "ir/visit.hpp"

namespace cortado::cli {

/// An object that begins with these.
Json document(const char* schema, int version = 1);

/// Pretty text with a newline at the end.
std::string to_text(const Json& json);

Json to_json_value(const Diagnostic& diagnostic);
Json to_json_value(const std::vector<Diagnostic>& diagnostics);
Json to_json_value(const ProgramCounts& counts);

}  // namespace cortado::cli
