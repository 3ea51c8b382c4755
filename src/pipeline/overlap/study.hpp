// What predicted and measured overlaps have in common: which programs are timed, and what follows from their times.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "cortado/pipeline/overlap.hpp"
#include "cortado/timeline/dram_traffic.hpp"
#include "cortado/verify/verify.hpp"

#include "pipeline/overlap/contention.hpp"

namespace cortado::pipeline {

/// Times of one program.
struct OverlapTimes {
  Nanoseconds time{};
  Nanoseconds gemm{};  ///< begin to the end of the product, if there is one
  Nanoseconds comm{};  ///< begin to the end of the collective, if there is one
  Nanoseconds sent{};  ///< of it, as RoleTimes has it
  std::optional<double> hbm_bytes{};
  std::optional<std::uint64_t> wrong{};
  std::optional<Contention> contention{};               ///< if it was asked for; predicted only
  std::optional<DramTraffic> dram{};                    ///< predicted only, as the next two
  std::optional<std::uint32_t> tracker_entries_peak{};  ///< of programs with trackers
  std::optional<Nanoseconds> tracker_wait{};
  std::optional<EnergyUse> energy{};  ///< predicted only, on machines with power
};

using TimeProgram = std::function<Outcome<OverlapTimes>(const VerifiedProgram&)>;

enum class Times { simulated, measured };

using TimeOne = std::function<Outcome<OverlapTimes>()>;
using Progress = std::function<bool(std::size_t, std::size_t)>;

/// Times of every job, in their order: simulated on several threads, measured in rounds. Fails if it was stopped.
Outcome<std::vector<Outcome<OverlapTimes>>> time_all(const std::vector<TimeOne>& jobs, Times kind,
                                                     std::uint32_t threads, const Progress& progress);

/// Proves the program and times it.
Outcome<OverlapTimes> time_planned(Result<Program> program, const Machine& machine, const TimeProgram& time);

/// Predicted; the parts end with their queues.
Outcome<OverlapTimes> simulated_times(const VerifiedProgram& program);

/// Predicted; the parts end with their commands, as measured ones do, for queues that multiply and then do other
/// things.
Outcome<OverlapTimes> traced_times(const VerifiedProgram& program);
/// With a policy of the memory other than the machine's.
TimeProgram traced_times_under(std::optional<ArbitrationPolicy> policy);
/// With what both kinds of work lose to each other, which takes two simulations more; programs of plan_ficco.
Outcome<OverlapTimes> traced_times_and_contention(const VerifiedProgram& program);

/// Measured: one round of the settings each. The driver must outlive it.
TimeProgram measured_times(device::Driver& driver, const RunSettings& settings);

/// The settings of one of the rounds that together have the iterations asked for.
RunSettings one_round(const RunSettings& settings);
std::uint32_t measured_iterations(const RunSettings& settings);  ///< of all rounds

/// Whether the memory of this computer can hold the buffers of all ranks (overlap.memory).
Status check_host_memory(double bytes, std::uint32_t ranks);

/// Says where it was measured, how often, and what the embedded node cannot tell.
void describe_run(report::OverlapBasis& basis, device::Driver& driver, const RunSettings& settings);

/// `over` / `under`; 0 if `under` is.
double ratio(Nanoseconds over, Nanoseconds under);

/// What ways are compared with: both alone and one after the other, and what follows from them.
void set_times(report::OverlapBasis& basis, Nanoseconds gemm, Nanoseconds comm, Nanoseconds serial);
/// What follows from the times of a way.
void fill_row(report::WayRow& row, const report::OverlapBasis& basis, const OverlapTimes& times);

/// Plans, proves and times everything; on options.threads threads where that does not change the times.
Outcome<OverlapReport> study_overlap(const OverlapRequest& request, const Machine& machine,
                                     const OverlapOptions& options, Times times, const TimeProgram& time);

inline bool is_product_queue(const Queue& queue) {
  return queue.role == QueueRole::gemm;
}

/// One line: what bounds the time, and what the other kinds of policies lose. The report has its choice and rows.
std::string overlap_reason(const report::OverlapReport& report);

}  // namespace cortado::pipeline
