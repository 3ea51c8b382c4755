// The parts of a report that several studies write alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cortado/report/overlap_basis.hpp"

namespace cortado::report {

/// One line for each.
std::string skipped_text(const std::vector<SkippedWay>& skipped);
/// A list; ways are named by `kind`, "policy" or "schedule".
nlohmann::ordered_json skipped_list(const std::vector<SkippedWay>& skipped, std::string_view kind);

std::string to_text(const nlohmann::ordered_json& document);

}  // namespace cortado::report
