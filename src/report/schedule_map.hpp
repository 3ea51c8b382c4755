// Which strategy to use, as a function of rows and depth of a GEMM with fixed columns: as a map of letters, as JSON and
// as a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/report.hpp"
#include "cortado/result.hpp"
#include "cortado/timeline.hpp"

namespace cortado::report {

/// One GEMM.
struct MapCell {
  std::uint64_t m = 0;
  std::uint64_t k = 0;
  Nanoseconds serial{};                 ///< one after another; if necessary on GPUs with enough memory
  std::optional<std::size_t> winner{};  ///< the strategy to use; none if nothing can be planned
  std::string choice{};                 ///< with its number of chunks: "hetero-fused-1d/8"
  std::vector<std::optional<Nanoseconds>>
      times{};  ///< by strategy; none: cannot be planned, for example because of its memory
  std::vector<std::optional<EnergyUse>> energies{};  ///< by strategy; none, or empty: not counted

  bool is_close() const;                  ///< another one takes at most 1 % longer
  std::optional<double> speedup() const;  ///< of the winner over serial
};

struct ScheduleMap {
  std::string collective;
  bool product_first = false;
  std::string dtype;
  std::uint64_t n = 0;
  std::uint32_t ranks = 0;
  std::string machine;
  std::vector<std::string> schedules;  ///< strategies without their number of chunks
  std::string letters;                 ///< one for each
  std::vector<std::uint64_t> m;        ///< ascending
  std::vector<std::uint64_t> k;        ///< ascending
  std::vector<MapCell> cells;          ///< all k of the first m, then all of the next

  const MapCell& at(std::size_t m_index, std::size_t k_index) const { return cells[m_index * k.size() + k_index]; }
  std::size_t won(std::size_t schedule) const;  ///< number of cells won
};

/// A letter for the winner and its speed-up; "~" where another one takes at most 1 % longer, "." where nothing fits.
std::string schedule_map_text(const ScheduleMap& map);

/// "cortado.schedule_map", for JSON and pages.
Document schedule_map_document(const ScheduleMap& map);

}  // namespace cortado::report
