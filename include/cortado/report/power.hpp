// Power of a GEMM, of a collective and of both at once under policies of power management.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/base/units.hpp"
#include "cortado/machine/power.hpp"
#include "cortado/report/skipped.hpp"
#include "cortado/report/table.hpp"
#include "cortado/timeline/energy.hpp"

namespace cortado::report {

/// Watts of one GPU by component, in the order of kComponents: averages from `time` to the time of the next sample.
struct PowerSample {
  Nanoseconds time;
  std::array<double, kComponents.size()> watts{};

  double total() const;
};

/// Against the policy none, in percent.
struct PowerChange {
  double time = 0;
  double energy = 0;
};

struct PowerRow {
  std::string what;    ///< "gemm", "collective" or "both"
  std::string policy;  ///< of the power management; "unmanaged": clocks as the machine file has them
  EnergyUse use;       ///< of one iteration: energy of all GPUs, and the time
  /// Means of xcd, iod and hbm while anything ran, GHz; none where clocks are not managed.
  std::optional<std::array<double, 3>> clocks_ghz{};
  std::optional<double> peak_w{};        ///< greatest average of a control interval, of any GPU; none as above
  bool above_cap = false;                ///< it drew more than it may for longer than a control interval
  std::optional<PowerChange> change{};   ///< none for unmanaged runs
  std::optional<double> tflops{};        ///< of the product on one GPU; none where there is no product
  std::uint32_t iterations = 0;          ///< that were simulated; the second half of them counts
  std::vector<PowerSample> over_time{};  ///< of GPU 0, over all iterations; empty if nobody asked for it

  double time_us() const { return 1e6 * use.seconds; }
};

struct PowerReport {
  std::string gemm;        ///< "8192x8192x8192 bf16"; empty: none
  std::string collective;  ///< "all-gather"; empty: none
  Bytes bytes{};           ///< of its whole buffer
  std::string variant;     ///< of the collective
  std::string strategy{};  ///< of both, with what was decided; empty: launched at once
  std::uint32_t ranks = 0;
  std::string machine;
  std::string where;                ///< "simulated mi300x-8"
  double idle_w = 0;                ///< of a GPU on which nothing runs
  std::optional<double> cap_w{};    ///< of a board; none: not managed
  std::optional<double> limit_w{};  ///< of uniform-cap, if it is among the rows
  std::vector<PowerRow> rows;       ///< by what, then by policy; none is the first of each
  std::vector<SkippedWay> skipped;  ///< policies that the machine cannot do

  const PowerRow* row(std::string_view what, std::string_view policy) const;  ///< nullptr if there is none
};

/// "cortado.power". Its page has means by component as bars, and power over time of every row that has it.
Document power_document(const PowerReport& report);

}  // namespace cortado::report
