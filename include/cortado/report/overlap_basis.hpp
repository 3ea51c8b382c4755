// What all studies of a product and a collective at the same time have in common: what was asked, the times that the
// ways are compared with, and which way to use.
//
//   speed-up         = time of one after the other / time
//   ideal            = the longer of the two alone
//   share of ideal   = (speed-up - 1) / (ideal speed-up - 1)
//
// Example: the product takes 60 us alone, the collective 40 us, one after the other 100 us. A way that takes 75 us has
// a speed-up of 1.33, the ideal is 100 / 60 = 1.67, so its share is 50 %.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/base/units.hpp"
#include "cortado/report/objective.hpp"
#include "cortado/report/skipped.hpp"
#include "cortado/timeline/energy.hpp"

namespace cortado::report {

/// What every policy or schedule has. What ends `gemm` and `comm` exactly is said where rows are derived from this.
struct WayRow {
  Nanoseconds time{};                    ///< of both
  double speedup = 0;                    ///< over one after the other
  double share_of_ideal = 0;             ///< 0.5 = half of it
  Nanoseconds gemm{};                    ///< begin to the end of the product
  Nanoseconds comm{};                    ///< begin to the end of the collective
  std::optional<double> hbm_bytes{};     ///< read and written in the memories of all GPUs; none: measured
  std::optional<std::uint64_t> wrong{};  ///< output bytes that differ from the contract; none: simulated
  std::optional<EnergyUse> energy{};     ///< none: measured, no program, or a machine without power
};

struct OverlapBasis {
  std::string gemm;        ///< "8192x57344x8192 bf16"
  std::string collective;  ///< "all-gather"
  Bytes bytes{};           ///< of its whole buffer
  std::uint32_t ranks = 0;
  std::string machine;
  std::string where;  ///< "simulated mi300x-8", or the device
  bool simulated = false;
  std::uint32_t iterations = 1;  ///< measured, of each program
  Nanoseconds gemm_alone{};
  Nanoseconds comm_alone{};   ///< as `serial` does it
  Nanoseconds serial{};       ///< one after the other
  Nanoseconds ideal{};        ///< the longer of the two alone
  std::string scenario;       ///< "G-long", "C-long" or "GC-equal"
  bool memory_bound = false;  ///< the product
  std::vector<SkippedWay> skipped;
  Objective objective = Objective::time;  ///< what the choice is made by
  std::string choice;                     ///< the best of the rows; of equally good ones the first
  std::string reason;                     ///< one line
  std::string note;                       ///< one line on how to read it; may be empty
};

/// Whether perfect overlap would gain anything worth a share: one percent.
bool has_gain(Nanoseconds serial, Nanoseconds ideal);

/// (speed-up - 1) / (ideal speed-up - 1); 0 where there is nothing to gain.
double share_of_ideal(Nanoseconds serial, Nanoseconds ideal, Nanoseconds time);

}  // namespace cortado::report
