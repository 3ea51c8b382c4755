// docs/json.md, and the schemas of documents that are not tables.
#pragma once

#include <string>
#include <vector>

#include "cortado/report/table.hpp"

namespace cortado::cli {

inline constexpr const char* kRunSchema = "cortado.run";
inline constexpr const char* kSimulateSchema = "cortado.simulate";
inline constexpr const char* kVerifySchema = "cortado.verify";
inline constexpr const char* kMachineSchema = "cortado.machine";
inline constexpr const char* kDecodeSchema = "cortado.decode";

/// The whole document; `lists` are those of `cortado list`.
std::string json_reference(const std::vector<report::Table>& lists);

}  // namespace cortado::cli
