#include "pipeline/overlap/times.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "pipeline/median.hpp"
#include "pipeline/parallel.hpp"

namespace cortado::pipeline {
namespace {

/// An iteration that takes longer warms up in one, and one with timestamps tells as much as two.
constexpr Nanoseconds kLong{50'000'000};
constexpr std::uint32_t kTracedIterations = 2;

struct Iteration {
  std::optional<Nanoseconds> begin;
  Nanoseconds gemm{};
  Nanoseconds comm{};
  Nanoseconds sent{};
};

/// A copy behind the last product of its queue, or a sum.
bool serves_collective(const Queue& queue, std::size_t index) {
  if (const auto* kernel = std::get_if<Kernel>(&queue.commands[index])) return kernel->op == KernelOp::reduce;
  if (!std::holds_alternative<Copy>(queue.commands[index])) return false;
  return std::none_of(queue.commands.begin() + static_cast<std::ptrdiff_t>(index), queue.commands.end(),
                      [](const Command& command) { return std::holds_alternative<Gemm>(command); });
}

void note(const Span& span, const Queue& queue, Iteration& iteration) {
  const auto until = [&](Nanoseconds& end) { end = std::max(end, span.end); };
  if (!is_product_queue(queue)) {
    until(iteration.comm);
    until(iteration.sent);
  } else if (span.kind == SpanKind::kernel || span.kind == SpanKind::copy) {
    until(serves_collective(queue, span.command) ? iteration.comm : iteration.gemm);
  }
}

/// A computer that is busy with other things slows down what happens to run then. So all programs are measured in turn,
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

/// From when queues end, without a trace.
Parts parts_by_queue(const Run& run, const Program& program) {
  const std::vector<Nanoseconds>& ends = run.predicted->queue_ends;
  const auto last = [&](auto&& wanted) {
    Nanoseconds end{};
    for (std::size_t i = 0; i < program.queues.size(); ++i) {
      if (wanted(program.queues[i])) end = std::max(end, ends[i]);
    }
    return end;
  };
  // Host queues end with "end", the time of the iteration counts to there.
  const Nanoseconds begin = last([](const Queue& q) { return q.kind == QueueKind::host; }) - run.time;
  const auto since_begin = [&](Nanoseconds end) { return std::max(end - begin, Nanoseconds{}); };
  const Nanoseconds comm =
      since_begin(last([](const Queue& q) { return q.kind != QueueKind::host && !is_product_queue(q); }));
  return {since_begin(last(is_product_queue)), comm, comm};
}

Outcome<OverlapTimes> predicted_times(Target& target, const VerifiedProgram& program, const TimeOptions& options) {
  RunOptions run_options = options.run;
  run_options.trace = options.by_command || options.contention;
  run_options.sim.arbitration = options.arbitration;
  const auto run = target.run(program, run_options);
  if (!run) return tl::unexpected(run.error());
  const Parts parts =
      options.by_command ? parts_of(run->timeline, program.program()) : parts_by_queue(*run, program.program());
  OverlapTimes times{.time = run->time, .gemm = parts.gemm, .comm = parts.comm, .sent = parts.sent};
  times.hbm_bytes = run->predicted->memory_bytes;
  times.dram = run->predicted->traffic;
  times.energy = run->energy;
  times.tracker_entries_peak = run->tracker_entries_peak;
  if (run->tracker_entries_peak) {
    times.tracker_wait = Nanoseconds{std::llround(run->predicted->tracker_wait_seconds * 1e9)};
  }
  if (options.contention) {
    const auto contention = contention_of(program, run->timeline);
    if (!contention) return tl::unexpected(contention.error());
    times.contention = *contention;
  }
  return times;
}

/// One iteration tells how long it takes; then a run without timestamps, and one with them for the parts.
Outcome<OverlapTimes> measured_times(Target& target, const VerifiedProgram& program, const TimeOptions& options) {
  RunOptions asked = options.run;
  asked.iterations = iterations_of_round(options.run.iterations);
  RunOptions once = asked;
  once.iterations = 1;
  once.warmup = 0;
  const auto first = target.run(program, once);
  if (!first) return tl::unexpected(first.error());
  const bool is_long = first->time > kLong;
  if (is_long) asked.warmup = std::min(asked.warmup, 1U);
  const auto run = target.run(program, asked);
  if (!run) return tl::unexpected(run.error());
  RunOptions traced = asked;
  traced.trace = true;
  traced.warmup = is_long ? 0 : std::min(asked.warmup, 1U);
  traced.iterations = is_long ? 1 : std::min(asked.iterations, kTracedIterations);
  traced.device.check = device::CheckOutputs::none;
  const auto spans = target.run(program, traced);
  if (!spans) return tl::unexpected(spans.error());
  const Parts parts = parts_of(spans->timeline, program.program());
  OverlapTimes times{.time = run->time, .gemm = parts.gemm, .comm = parts.comm, .sent = parts.sent};
  times.wrong = run->check->wrong;
  return times;
}

}  // namespace

Parts parts_of(const Timeline& timeline, const Program& program) {
  std::map<std::uint32_t, Iteration> iterations;
  for (const Span& span : timeline.spans) {
    Iteration& iteration = iterations[span.iteration];
    const Queue& queue = program.queues[span.track];
    if (queue.kind == QueueKind::host) {
      if (queue.commands[span.command] != Command{Timestamp{"begin"}}) continue;
      iteration.begin = std::min(iteration.begin.value_or(span.start), span.start);
    } else {
      note(span, queue, iteration);
    }
  }
  std::vector<Nanoseconds> gemm;
  std::vector<Nanoseconds> comm;
  std::vector<Nanoseconds> sent;
  for (const auto& [number, one] : iterations) {
    const Nanoseconds begin = one.begin.value_or(Nanoseconds{});
    gemm.push_back(std::max(one.gemm - begin, Nanoseconds{}));
    comm.push_back(std::max(one.comm - begin, Nanoseconds{}));
    sent.push_back(std::max(one.sent - begin, Nanoseconds{}));
  }
  return {median(std::move(gemm)), median(std::move(comm)), median(std::move(sent))};
}

bool is_product_queue(const Queue& queue) {
  const auto multiplies = [](const Command& command) { return std::holds_alternative<Gemm>(command); };
  return queue.kind == QueueKind::compute && std::any_of(queue.commands.begin(), queue.commands.end(), multiplies);
}

std::uint32_t iterations_of_round(std::uint32_t iterations) {
  return static_cast<std::uint32_t>((iterations + kMeasuredRounds - 1) / kMeasuredRounds);
}

std::uint32_t measured_iterations(std::uint32_t iterations) {
  return iterations_of_round(iterations) * static_cast<std::uint32_t>(kMeasuredRounds);
}

Outcome<std::vector<Outcome<OverlapTimes>>> time_all(const std::vector<TimeOne>& jobs, bool predicted,
                                                     std::uint32_t threads, const Progress& progress) {
  std::vector<std::optional<Outcome<OverlapTimes>>> rounds(jobs.size() * (predicted ? 1 : kMeasuredRounds));
  const bool all = for_each_in_parallel(
      rounds.size(), predicted ? threads : 1, [&](std::size_t i) { rounds[i] = jobs[i % jobs.size()](); },
      [&](std::size_t done) { return !progress || progress(done, rounds.size()); });
  if (!all) return fail_at(Stage::run, {"overlap.interrupted", "interrupted before all was done", ""});
  std::vector<Outcome<OverlapTimes>> times;
  for (std::size_t i = 0; i < jobs.size(); ++i) times.push_back(median_round(rounds, i, jobs.size()));
  return times;
}

Outcome<OverlapTimes> time_program(Target& target, Result<Program> program, const Machine& machine,
                                   const TimeOptions& options) {
  const auto verified = prove(std::move(program), machine);
  if (!verified) return tl::unexpected(verified.error());
  return target.predicts() ? predicted_times(target, *verified, options) : measured_times(target, *verified, options);
}

double ratio(Nanoseconds over, Nanoseconds under) {
  return under.value == 0 ? 0 : static_cast<double>(over.value) / static_cast<double>(under.value);
}

}  // namespace cortado::pipeline
