// Rows of a benchmark, as text in the style of nccl-tests and rccl-tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/report.hpp"
#include "cortado/result.hpp"
#include "cortado/timeline.hpp"

#include "ir/visit.hpp"

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
  std::optional<EnergyUse> energy{};     ///< of one iteration; none: measured, or a machine without power
};

/// A point that the planner rejected, with its reason.
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
  std::string node;  ///< where it ran: the node, or the simulated machine
  bool simulated = false;
  std::uint32_t warmup = 0;
  std::uint32_t iterations = 0;
  std::string threads{};           ///< how many host threads there are, in a few words
  std::string hosts{};             ///< one line more about them, if there is anything to say
  std::size_t variant_width = 12;  ///< columns of the text form for names of variants
};

struct BenchReport {
  BenchHeader header;
  std::vector<BenchRow> rows;
  std::vector<SkippedRow> skipped;
  bool interrupted = false;
};

/// "cortado.bench". The text form has wrong bytes for measured rows, energy and power for simulated ones.
Document bench_document(const BenchReport& report);

/// The text form in parts, so that rows can be shown as they are measured: all lines have fixed columns.
std::string bench_heading(const BenchHeader& header, const TextOptions& options = {});
std::string bench_line(const BenchHeader& header, const BenchRow& row, const TextOptions& options = {});
/// Behind the rows: what was skipped, in one line per variant and reason.
std::string bench_notes(const BenchReport& report, const TextOptions& options = {});

}  // namespace cortado::report
