// A product and an independent collective by several policies: as a table for people and as JSON for scripts.
//
//   speed-up         = time of one after the other / time
//   ideal            = the longer of the two alone
//   share of ideal   = (speed-up - 1) / (ideal speed-up - 1)
//
// Example: the product takes 60 us alone, the collective 40 us, one after the other 100 us. A policy that takes 75 us
// has a speed-up of 1.33, the ideal is 100 / 60 = 1.67, so its share is 50 %. A share above 100 % is possible: where
// the policy does the collective faster than the library does it alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/base/units.hpp"

namespace cortado::report {

/// One policy.
struct OverlapRow {
  std::string policy;
  std::string variant;                   ///< of the collective: "pcpy", "bcst prelaunch", "cores-simple"
  Nanoseconds time{};                    ///< of both
  double speedup = 0;                    ///< over one after the other
  double share_of_ideal = 0;             ///< 0.5 = half of it
  Nanoseconds gemm{};                    ///< begin to the end of the product
  Nanoseconds comm{};                    ///< begin to the end of the collective
  double gemm_slowdown = 0;              ///< against the product alone
  double comm_slowdown = 0;              ///< against the collective alone, done as one after the other does it
  std::uint32_t gemm_units = 0;          ///< that the product may occupy
  std::uint32_t comm_units = 0;          ///< 0: on DMA engines
  std::optional<double> hbm_bytes{};     ///< read and written in the memories of all GPUs; none: measured
  std::optional<std::uint64_t> wrong{};  ///< output bytes that differ from the contract; none: simulated
  std::string why;                       ///< what the policy decided, in one line
};

/// A policy that cannot do it.
struct SkippedPolicy {
  std::string policy;
  Diagnostic reason;
};

struct OverlapReport {
  std::string gemm;        ///< "8192x57344x8192 bf16"
  std::string collective;  ///< "all-gather"
  Bytes bytes{};           ///< of the collective's whole buffer
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
  std::vector<OverlapRow> rows;
  std::vector<SkippedPolicy> skipped;
  std::string choice;  ///< the fastest policy of the rows; of equally fast ones the first
  std::string reason;  ///< one line
  std::string note;    ///< one line on how to read it; may be empty

  const OverlapRow* row(std::string_view policy) const;  ///< nullptr if there is none
};

/// (speed-up - 1) / (ideal speed-up - 1); 0 where there is nothing to gain.
double share_of_ideal(Nanoseconds serial, Nanoseconds ideal, Nanoseconds time);

std::string overlap_text(const OverlapReport& report);

/// "schema": "cortado.overlap"; rows carry policy, time_us, speedup, share_of_ideal, gemm_us, comm_us, gemm_slowdown,
/// comm_slowdown, hbm_bytes (null if measured), gemm_units, comm_units, variant, why, wrong (null if simulated).
std::string overlap_json(const OverlapReport& report);

}  // namespace cortado::report
