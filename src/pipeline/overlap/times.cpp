#include "pipeline/overlap/times.hpp"

#include <algorithm>
#include <cmath>

#include "pipeline/parallel.hpp"

namespace cortado::pipeline {
namespace {

/// An iteration that takes longer needs only one warm-up.
constexpr Nanoseconds kLong{50'000'000};

/// Other work on the computer slows down whatever runs at that moment. So all programs are measured in turn,
/// round after round, and the median round of each counts.
constexpr std::size_t kMeasuredRounds = 3;

/// The round with the median time of one program, or the first that failed; wrong bytes of all rounds. Its rounds are
/// every `step`th from `first` on.
Outcome<OverlapTimes> median_round(const std::vector<std::optional<Outcome<OverlapTimes>>>& rounds, std::size_t first,
                                   std::size_t step) {
  std::vector<OverlapTimes> times;
  std::optional<std::uint64_t> wrong;
  for (std::size_t i = first; i < rounds.size(); i += step) {
    if (!*rounds[i]) return *rounds[i];
    times.push_back(**rounds[i]);
    if (times.back().wrong) wrong = wrong.value_or(0) + *times.back().wrong;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  const auto faster = [](const OverlapTimes& a, const OverlapTimes& b) { return a.time < b.time; };
  std::nth_element(times.begin(), middle, times.end(), faster);
  OverlapTimes median = *middle;
  median.wrong = wrong;
  return median;
}

/// From the ends of queues, without a trace.
RoleTimes parts_by_queue(const Run& run, const Program& program) {
  const std::vector<Nanoseconds>& ends = run.predicted->queue_ends;
  const auto last = [&](auto&& wanted) {
    Nanoseconds end{};
    for (std::size_t i = 0; i < program.queues.size(); ++i) {
      if (wanted(program.queues[i])) end = std::max(end, ends[i]);
    }
    return end;
  };
  // Host queues end with "end", the time of the iteration counts to there.
  const Nanoseconds begin = last([](const Queue& q) { return q.role == QueueRole::control; }) - run.time;
  const auto since_begin = [&](Nanoseconds end) { return std::max(end - begin, Nanoseconds{}); };
  const Nanoseconds comm = since_begin(last([](const Queue& q) { return q.role == QueueRole::collective; }));
  return {since_begin(last([](const Queue& q) { return q.role == QueueRole::gemm; })), comm, comm};
}

RunOptions options_of_run(const TimeOptions& options) {
  RunOptions run = options.run;
  run.trace = options.by_command || options.contention;
  run.sim.span_names = false;
  run.sim.arbitration = options.arbitration;
  return run;
}

OverlapTimes times_of(const Run& run, const Program& program, bool by_command) {
  const RoleTimes parts = by_command ? times_by_role(run.timeline, program) : parts_by_queue(run, program);
  OverlapTimes times{.time = run.time, .gemm = parts.gemm, .comm = parts.collective, .sent = parts.sent};
  times.hbm_bytes = run.predicted->memory_bytes;
  times.dram = run.predicted->traffic;
  times.energy = run.energy;
  times.tracker_entries_peak = run.tracker_entries_peak;
  if (run.tracker_entries_peak) {
    times.tracker_wait = Nanoseconds{std::llround(run.predicted->tracker_wait_seconds * 1e9)};
  }
  return times;
}

Outcome<OverlapTimes> predicted_times(Target& target, const VerifiedProgram& program, const TimeOptions& options) {
  const auto run = target.run(program, options_of_run(options));
  if (!run) return fail(run.error());
  OverlapTimes times = times_of(*run, program.program(), options.by_command);
  if (options.contention) {
    const auto contention = contention_of(program, run->timeline);
    if (!contention) return fail(contention.error());
    times.contention = *contention;
  }
  return times;
}

/// One iteration tells how long it takes; then a run without timestamps, and an iteration with them for the parts,
/// whose share of its time is taken: timestamps and chance make it longer or shorter than the others.
Outcome<OverlapTimes> measured_times(Target& target, const VerifiedProgram& program, const TimeOptions& options) {
  RunOptions asked = options.run;
  asked.iterations = iterations_of_round(options.run.iterations);
  RunOptions once = asked;
  once.iterations = 1;
  once.warmup = 0;
  const auto first = target.run(program, once);
  if (!first) return fail(first.error());
  const bool is_long = first->time > kLong;
  if (is_long) asked.warmup = std::min(asked.warmup, 1U);
  const auto run = target.run(program, asked);
  if (!run) return fail(run.error());
  RunOptions traced = asked;
  traced.trace = true;
  traced.warmup = is_long ? 0 : std::min(asked.warmup, 1U);
  traced.iterations = 1;
  traced.device.check = device::CheckOutputs::none;
  const auto spans = target.run(program, traced);
  if (!spans) return fail(spans.error());
  const RoleTimes parts = times_by_role(spans->timeline, program.program());
  const double scale = ratio(run->time, spans->time);
  const auto scaled = [&](Nanoseconds part) {
    return std::min(run->time, Nanoseconds{std::llround(scale * static_cast<double>(part.value))});
  };
  OverlapTimes times{
      .time = run->time, .gemm = scaled(parts.gemm), .comm = scaled(parts.collective), .sent = scaled(parts.sent)};
  times.wrong = run->check->wrong;
  return times;
}

}  // namespace

std::uint32_t iterations_of_round(std::uint32_t iterations) {
  return static_cast<std::uint32_t>((iterations + kMeasuredRounds - 1) / kMeasuredRounds);
}

std::uint32_t measured_iterations(std::uint32_t iterations) {
  return iterations_of_round(iterations) * static_cast<std::uint32_t>(kMeasuredRounds);
}

Outcome<std::vector<Outcome<OverlapTimes>>> time_all(const std::vector<TimeOne>& jobs, bool predicted,
                                                     std::uint32_t threads, const Progress& progress) {
  std::vector<std::optional<Outcome<OverlapTimes>>> rounds(jobs.size() * (predicted ? 1 : kMeasuredRounds));
  const bool all =
      (!progress || progress(0, rounds.size())) &&
      for_each_in_parallel(
          rounds.size(), predicted ? threads : 1, [&](std::size_t i) { rounds[i] = jobs[i % jobs.size()](); },
          [&](std::size_t done) { return !progress || progress(done, rounds.size()); });
  if (!all) return fail_at(Stage::run, {"overlap.interrupted", "interrupted before it was finished", ""});
  std::vector<Outcome<OverlapTimes>> times;
  for (std::size_t i = 0; i < jobs.size(); ++i) times.push_back(median_round(rounds, i, jobs.size()));
  return times;
}

Outcome<OverlapTimes> predicted_times(const CheckedProgram& program, const TimeOptions& options) {
  const auto run = simulate_checked(program, options_of_run(options));
  if (!run) return fail(run.error());
  return times_of(*run, program.program(), options.by_command);
}

Outcome<OverlapTimes> time_program(Target& target, const VerifiedProgram& program, const TimeOptions& options) {
  return target.predicts() ? predicted_times(target, program, options) : measured_times(target, program, options);
}

Outcome<OverlapTimes> time_program(Target& target, Result<Program> program, const Machine& machine,
                                   const TimeOptions& options) {
  const auto verified = prove(std::move(program), machine);
  if (!verified) return fail(verified.error());
  return time_program(target, *verified, options);
}

double ratio(Nanoseconds over, Nanoseconds under) {
  return under.value == 0 ? 0 : static_cast<double>(over.value) / static_cast<double>(under.value);
}

}  // namespace cortado::pipeline
