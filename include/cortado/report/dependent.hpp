// A product and the collective that it depends on by several schedules: as a table for people and as JSON for scripts.
// overlap_basis.hpp defines speed-up, ideal and share of ideal.
//
//   product   = begin to the end of the last product, and of what kernels do with its rows
//   collective = begin to the arrival of the last piece; behind a product also until it has been added up
//   exposed   = time - product alone, not below 0: what of the communication and of its costs is not hidden
//   DIL       = the pieces of the product one after the other, each alone, over the whole product alone; by the model,
//               without launches. Of the rank whose pieces take longest.
//   CIL       = how much longer products (and copies) take beside copies (and products) than alone; waiting does not
//               count. Products: of the rank where they take longest; copies: of all ranks. Simulated only: alone means
//               a simulation of the same program without the other kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/report/overlap_basis.hpp"

namespace cortado::report {

/// One schedule.
struct DependentRow : WayRow {
  std::string schedule;      ///< as it was asked for: "hetero-fused-1d", "hetero-fused-1d/16"
  std::uint32_t chunks = 0;  ///< exchanges one after another
  Nanoseconds exposed{};
  double dil = 0;
  std::optional<double> cil_gemm{};  ///< 1 = products are not slowed down; none: measured, or not asked for
  std::optional<double> cil_comm{};  ///< of copies
  Bytes footprint{};                 ///< memory of the rank that needs most
  Bytes staging{};                   ///< part of it that is neither operand nor product
  std::string chosen{};              ///< of a row that left it open: which schedule, "hetero-fused-1d/16"
  std::string chosen_by{};           ///< and how: "heuristic" or "search"
};

struct DependentReport : OverlapBasis {
  bool product_first = false;  ///< the collective takes away what the product makes; else it brings what is multiplied
  bool on_cores = false;       ///< compute units move the bytes; else DMA engines
  std::vector<DependentRow> rows;

  const DependentRow* row(std::string_view schedule) const;  ///< nullptr if there is none
};

std::string dependent_text(const DependentReport& report);

/// "schema": "cortado.dependent"; docs/json.md lists the fields.
std::string dependent_json(const DependentReport& report);

}  // namespace cortado::report
