// Tables as JSON values, for documents inside documents.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "cortado/report.hpp"

namespace cortado::report {

nlohmann::ordered_json json_of(const Cell& cell);
nlohmann::ordered_json json_of(const Table& table);  ///< a list of objects
nlohmann::ordered_json json_of(const Document& document);

/// Text with a line feed at its end.
std::string dumped(const nlohmann::ordered_json& json);

}  // namespace cortado::report
