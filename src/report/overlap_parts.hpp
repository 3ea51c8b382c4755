// The parts of a report that all studies of overlap write alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cortado/report/overlap_basis.hpp"

namespace cortado::report {

/// Lines behind the first, which says what was asked: where, and the times that the ways are compared with.
std::string overlap_heading(const OverlapBasis& basis);

/// Lines behind the table: what was left out, the note, and what to use.
std::string overlap_ending(const OverlapBasis& basis);

/// One line for each.
std::string skipped_text(const std::vector<SkippedWay>& skipped);
/// A list; ways are named by `kind`, "policy" or "schedule".
nlohmann::ordered_json skipped_list(const std::vector<SkippedWay>& skipped, std::string_view kind);

/// What was counted in a simulation, or else checked: the last columns of a table of policies or schedules.
std::vector<std::string> with_measures(std::vector<std::string> header, bool simulated);
void add_measures(const WayRow& row, bool simulated, std::vector<std::string>& cells);

/// Everything but the rows; "skipped" names its ways by `kind`, "policy" or "schedule".
nlohmann::ordered_json overlap_document(const OverlapBasis& basis, std::string_view schema, std::string_view kind);

std::string to_text(const nlohmann::ordered_json& document);

/// Digits for small products and collectives, too.
std::string gigabytes(double bytes);

}  // namespace cortado::report
