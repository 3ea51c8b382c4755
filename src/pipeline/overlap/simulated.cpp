#include <algorithm>
#include <cmath>

#include "cortado/pipeline/simulate.hpp"
#include "cortado/timeline/role_times.hpp"

#include "pipeline/overlap/study.hpp"

namespace cortado::pipeline {
namespace {

OverlapTimes times_of(const SimulationReport& report) {
  const std::vector<Queue>& queues = report.program.program().queues;
  const std::vector<Nanoseconds>& ends = report.simulated.queue_ends;
  const auto last = [&](auto&& wanted) {
    Nanoseconds end{};
    for (std::size_t i = 0; i < queues.size(); ++i) {
      if (wanted(queues[i])) end = std::max(end, ends[i]);
    }
    return end;
  };
  // Host queues end with "end", the time of the iteration counts to there.
  const Nanoseconds begin = last([](const Queue& q) { return q.kind == QueueKind::host; }) - report.time;
  const auto since_begin = [&](Nanoseconds end) { return std::max(end - begin, Nanoseconds{}); };
  OverlapTimes times;
  times.time = report.time;
  times.gemm = since_begin(last(is_product_queue));
  times.comm = since_begin(last([](const Queue& q) { return q.kind != QueueKind::host && !is_product_queue(q); }));
  times.hbm_bytes = report.simulated.memory_bytes;
  times.energy = report.energy;
  return times;
}

OverlapTimes traced_times_of(const SimulationReport& report) {
  const RoleTimes parts = times_by_role(report.simulated.timeline, report.program.program());
  OverlapTimes times;
  times.time = report.time;
  times.gemm = parts.gemm;
  times.comm = parts.collective;
  times.sent = parts.sent;
  times.hbm_bytes = report.simulated.memory_bytes;
  times.dram = report.simulated.traffic;
  times.energy = report.energy;
  if (!report.program.program().trackers.empty()) {
    times.tracker_entries_peak = report.simulated.tracker_entries_peak;
    times.tracker_wait = Nanoseconds{std::llround(report.simulated.tracker_wait_seconds * 1e9)};
  }
  return times;
}

}  // namespace

Outcome<OverlapTimes> simulated_times(const VerifiedProgram& program) {
  const auto report = simulate_verified(program);
  if (!report) return tl::unexpected(report.error());
  return times_of(*report);
}

Outcome<OverlapTimes> traced_times(const VerifiedProgram& program) {
  const auto report = simulate_verified(program, {.trace = true});
  if (!report) return tl::unexpected(report.error());
  return traced_times_of(*report);
}

TimeProgram traced_times_under(std::optional<ArbitrationPolicy> policy) {
  return [policy](const VerifiedProgram& program) -> Outcome<OverlapTimes> {
    const auto report = simulate_verified(program, {.trace = true, .sharing = {}, .arbitration = policy});
    if (!report) return tl::unexpected(report.error());
    return traced_times_of(*report);
  };
}

Outcome<OverlapTimes> traced_times_and_contention(const VerifiedProgram& program) {
  const auto report = simulate_verified(program, {.trace = true});
  if (!report) return tl::unexpected(report.error());
  const auto contention = contention_of(program, report->simulated.timeline);
  if (!contention) return tl::unexpected(contention.error());
  OverlapTimes times = traced_times_of(*report);
  times.contention = *contention;
  return times;
}

Outcome<OverlapReport> simulate_overlap(const OverlapRequest& request, const Machine& machine,
                                        const OverlapOptions& options) {
  if (const Status timed = sim::check_timing(machine); !timed) return fail_at(Stage::plan, timed.error());
  auto report = study_overlap(request, machine, options, Times::simulated, simulated_times);
  if (!report) return report;
  report->where = "simulated " + machine.name;
  return report;
}

}  // namespace cortado::pipeline
