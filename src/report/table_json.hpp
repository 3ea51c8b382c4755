// Tables as JSON values, for documents within documents.
#pragma once

#include <string>

#include "cortado/report.hpp"

#include "base/json.hpp"

namespace cortado::report {

Json json_of(const Cell& cell);
Json json_of(const Table& table);  ///< a list of objects
Json json_of(const Document& document);

/// Text with a line feed at its end.
std::string dumped(const Json& json);

}  // namespace cortado::report
