// Rows of a benchmark in the look of nccl-tests and rccl-tests, and the same rows as JSON and CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/base/units.hpp"
#include "cortado/ir/visit.hpp"
#include "cortado/timeline/energy.hpp"

namespace cortado::report {

/// One measured or simulated point.
struct BenchRow {
  Bytes bytes;  ///< the whole buffer, as nccl-tests count it
  std::string variant;
  bool prelaunch = false;
  bool in_place = false;
  Nanoseconds time;  ///< median of the iterations
  ProgramCounts counts;
  std::optional<std::uint64_t> wrong{};  ///< output bytes that differ from the contract; none: simulated, no bytes
  std::optional<EnergyUse> energy{};     ///< of an iteration; none: measured, or a machine without power
};

/// A point that the planner refused, with its reason.
struct SkippedRow {
  Bytes bytes;
  std::string variant;
  bool prelaunch = false;
  Diagnostic reason;
};

/// What all rows share.
struct BenchHeader {
  std::string collective;
  std::string machine;
  std::uint32_t ranks = 0;
  std::string node;  ///< where it ran: the node, or the machine that was simulated
  bool simulated = false;
  std::uint32_t warmup = 0;
  std::uint32_t iterations = 0;
  std::size_t variant_width = 12;  ///< columns of the text form for the names of variants
};

struct BenchReport {
  BenchHeader header;
  std::vector<BenchRow> rows;
  std::vector<SkippedRow> skipped;
  bool interrupted = false;
};

/// The text form in three parts, so that rows can be shown as they are measured: all lines have fixed columns. Measured
/// rows end with wrong bytes; simulated ones, which have none, have energy and power instead.
std::string bench_heading(const BenchHeader& header);
std::string bench_line(const BenchHeader& header, const BenchRow& row);
std::string bench_line(const SkippedRow& row);

/// "schema": "cortado.bench"; rows carry bytes, variant, prelaunch, in_place, time_us, algbw_GBps, busbw_GBps,
/// commands, signals, doorbells, wrong (null if simulated), and energy (energy.hpp).
std::string bench_json(const BenchReport& report);

/// One header line and one line a row, with the keys of the JSON form and the collective and ranks in front, joules of
/// components as xcd_J, ...; nothing stands for null.
std::string bench_csv(const BenchReport& report);

}  // namespace cortado::report
