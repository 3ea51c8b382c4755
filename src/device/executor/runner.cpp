#include "device/executor/runner.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include "device/executor/stall_report.hpp"
#include "device/executor/trace_collector.hpp"

namespace cortado::device {
namespace {

/// Number of idle turns between two readings of the clock.
constexpr std::uint32_t kIdleTurns = 64;
/// How long nothing may move before faults and progress are checked, and the time between two such checks.
constexpr std::int64_t kLookInterval = 1'000'000;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

bool any_step(const std::vector<HostProgram>& hosts, StepKind kind) {
  return std::any_of(hosts.begin(), hosts.end(), [&](const HostProgram& host) {
    return std::any_of(host.steps.begin(), host.steps.end(), [&](const HostStep& step) { return step.kind == kind; });
  });
}

}  // namespace

Runner::Runner(Preparation& preparation, const RunOptions& options)
    : prepared_(preparation),
      options_(options),
      clock_(options.iterations),
      begin_is_stamped_(any_step(preparation.hosts, StepKind::stamp_begin)),
      end_is_stamped_(any_step(preparation.hosts, StepKind::stamp_end)) {
  if (preparation.trace) trace_.emplace(preparation);
}

Result<RunResult> Runner::run() {
  CORTADO_RETURN_IF_ERROR(prepared_.check->use(options_.data));
  if (options_.check != CheckOutputs::none || options_.data.write) {
    prepared_.check->poison(options_.seed, 0);
    for (std::uint32_t rank = 0; rank < prepared_.program().ranks; ++rank) {
      prepared_.check->fill_inputs(RankId{rank}, options_.seed, 0);
    }
  }
  for (std::uint64_t first = 0; first < options_.iterations; first += batch_iterations_) {
    const std::uint64_t left = options_.iterations - first;
    CORTADO_RETURN_IF_ERROR(run_batch(first, std::min(left, prepared_.max_batch_iterations)));
  }
  return result();
}

Status Runner::replay() {
  CORTADO_RETURN_IF_ERROR(open_iteration());
  return take_turns();
}

Status Runner::arm() {
  CORTADO_RETURN_IF_ERROR(open_iteration());
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    const std::vector<HostStep>& steps = prepared_.hosts[host].steps;
    const auto trigger = std::ranges::find(steps, StepKind::trigger, &HostStep::kind);
    if (trigger == steps.end()) continue;
    const auto before = static_cast<std::uint64_t>(trigger - steps.begin());
    while (hosts_[host].step < before && advance(host, before - hosts_[host].step)) {
    }
  }
  return {};
}

Status Runner::open_iteration() {
  if (armed()) return {};
  if (hosts_.empty() || batch_iterations_ == prepared_.max_batch_iterations) {
    if (!hosts_.empty()) CORTADO_RETURN_IF_ERROR(drain());
    CORTADO_RETURN_IF_ERROR(prepared_.check->use(options_.data));
    begin_batch(0, 0);
  }
  ++batch_iterations_;
  unfinished_ = hosts_.size();
  return {};
}

void Runner::begin_batch(std::uint64_t first_iteration, std::uint64_t iterations) {
  first_iteration_ = first_iteration;
  batch_iterations_ = iterations;
  for (std::uint64_t* word : prepared_.words) std::atomic_ref(*word).store(0, std::memory_order_release);
  for (RingWriter& writer : prepared_.dma) writer.begin_batch();
  hosts_.assign(prepared_.hosts.size(), {});
  unfinished_ = hosts_.size();
}

Status Runner::run_batch(std::uint64_t first_iteration, std::uint64_t iterations) {
  begin_batch(first_iteration, iterations);
  if (options_.adversarial_seed) {
    Random random(*options_.adversarial_seed + first_iteration);
    CORTADO_RETURN_IF_ERROR(take_random_turns(random));
  } else {
    CORTADO_RETURN_IF_ERROR(take_turns());
  }
  return drain();
}

Status Runner::take_turns() {
  while (unfinished_ > 0) {
    bool any = false;
    for (std::size_t host = 0; host < hosts_.size(); ++host) any |= advance(host, kNoLimit);
    if (any) {
      moved();
    } else {
      CORTADO_RETURN_IF_ERROR(wait_for_device());
    }
  }
  return {};
}

// The chosen host queue executes several commands in a row, so that queues drift apart by more than single commands.
Status Runner::take_random_turns(Random& random) {
  while (unfinished_ > 0) {
    const std::size_t host = random.below(hosts_.size());
    if (advance(host, random.chance(4) ? random.below(16) : 1)) moved();
    const std::uint64_t turns = random.chance(3) ? random.below(12) : random.below(2);
    for (std::uint64_t i = 0; i < turns; ++i) CORTADO_RETURN_IF_ERROR(wait_for_device());
  }
  return {};
}

Status Runner::drain() {
  std::atomic_ref(*prepared_.drain_word).store(0, std::memory_order_release);
  for (ComputeStream& stream : prepared_.compute) stream.submit_drain(prepared_.drain_word);
  // What kernels submit must come before the drain of its ring.
  if (prepared_.kernels_submit) CORTADO_RETURN_IF_ERROR(wait_for_drained(prepared_.compute.size()));
  for (RingWriter& writer : prepared_.dma) {
    while (!writer.try_submit_drain(prepared_.drain_word)) CORTADO_RETURN_IF_ERROR(wait_for_device());
  }
  CORTADO_RETURN_IF_ERROR(wait_for_drained(prepared_.dma.size() + prepared_.compute.size()));
  moved();
  return {};
}

Status Runner::wait_for_drained(std::uint64_t queues) {
  while (std::atomic_ref(*prepared_.drain_word).load(std::memory_order_acquire) < queues) {
    CORTADO_RETURN_IF_ERROR(wait_for_device());
  }
  return {};
}

bool Runner::advance(std::size_t host, std::uint64_t max_commands) {
  HostState& state = hosts_[host];
  const std::vector<HostStep>& steps = prepared_.hosts[host].steps;
  std::uint64_t executed = 0;
  while (executed < max_commands && state.iteration < batch_iterations_) {
    if (!state.inside) enter_iteration(host);
    if (state.step < steps.size()) {
      if (!try_step(host, steps[state.step])) break;
      ++state.step;
    }
    if (state.step == steps.size()) leave_iteration(host);
    ++executed;
  }
  return executed > 0;
}

bool Runner::try_step(std::size_t host, const HostStep& step) {
  HostState& state = hosts_[host];
  if (!trace_) return execute(step, state);
  if (state.step_started < 0) state.step_started = clock_.now();
  if (!execute(step, state)) return false;
  trace_->at(first_iteration_ + state.iteration, host, state.step) = {state.step_started, clock_.now()};
  state.step_started = -1;
  return true;
}

bool Runner::execute(const HostStep& step, HostState& state) {
  const auto value = [&] { return step.value + state.iteration * step.advance; };
  const auto counter = [&] { return std::atomic_ref(*step.word).load(std::memory_order_acquire); };
  const std::uint64_t iteration = first_iteration_ + state.iteration;
  switch (step.kind) {
    case StepKind::wait_ge:
      return counter() >= value();
    case StepKind::wait_eq:
      return counter() == value();
    case StepKind::add:
    case StepKind::trigger:
      std::atomic_ref(*step.word).fetch_add(step.value, std::memory_order_acq_rel);
      return true;
    case StepKind::set:
      std::atomic_ref(*step.word).store(value(), std::memory_order_release);
      return true;
    case StepKind::submit_dma:
      return prepared_.dma[step.target].try_submit(state.iteration, prepared_.slots.offset(iteration));
    case StepKind::submit_compute:
      prepared_.compute[step.target].submit(state.iteration, prepared_.slots.offset(iteration));
      return true;
    case StepKind::stamp_begin:
      stamp_begin(iteration);
      return true;
    case StepKind::stamp_end:
      stamp_end(iteration);
      return true;
    case StepKind::stamp:
      return true;
  }
  return true;
}

void Runner::enter_iteration(std::size_t host) {
  HostState& state = hosts_[host];
  const std::uint64_t iteration = first_iteration_ + state.iteration;
  state.inside = true;
  const std::uint64_t inputs = pattern_iteration(iteration);
  if (options_.check != CheckOutputs::none && inputs > 0) {  // those of iteration 0 were written before the run
    for (const RankId rank : prepared_.hosts[host].caller_of) prepared_.check->fill_inputs(rank, options_.seed, inputs);
  }
  if (!begin_is_stamped_) stamp_begin(iteration);
}

void Runner::leave_iteration(std::size_t host) {
  HostState& state = hosts_[host];
  const std::uint64_t iteration = first_iteration_ + state.iteration;
  if (!end_is_stamped_) stamp_end(iteration);
  const bool last = iteration + 1 == options_.iterations;
  if (options_.check == CheckOutputs::every || (options_.check == CheckOutputs::last && last)) {
    for (const RankId rank : prepared_.hosts[host].caller_of) {
      prepared_.check->check_outputs(rank, options_.seed, pattern_iteration(iteration), iteration, totals_);
    }
  }
  if (last) {
    for (const RankId rank : prepared_.hosts[host].caller_of) prepared_.check->show_outputs(rank);
  }
  if (host == 0 && options_.progress) options_.progress(iteration + 1, options_.iterations);
  state.inside = false;
  state.step = 0;
  ++state.iteration;
  if (state.iteration == batch_iterations_) --unfinished_;
}

void Runner::moved() {
  stalled_since_ = -1;
  backoff_.moved();
}

Status Runner::wait_for_device() {
  if (prepared_.driver.assist()) backoff_.moved();
  if (++idle_turns_ < kIdleTurns) return {};
  idle_turns_ = 0;
  if (options_.stop && options_.stop()) return fail("device.interrupted", "stopped before all iterations were done");
  CORTADO_RETURN_IF_ERROR(look_for_stall());
  if (const auto nap = backoff_.nap(std::chrono::nanoseconds(clock_.now())); nap.count() > 0) {
    std::this_thread::sleep_for(nap);
  }
  return {};
}

Status Runner::look_for_stall() {
  const std::int64_t now = clock_.now();
  if (stalled_since_ < 0) {
    stalled_since_ = now;
    last_look_ = now;
    fingerprint_ = progress_fingerprint(prepared_);
    return {};
  }
  if (now - last_look_ < kLookInterval) return {};
  last_look_ = now;
  if (std::optional<Diagnostic> fault = fault_report(prepared_)) return fail(std::move(*fault));
  const std::uint64_t fingerprint = progress_fingerprint(prepared_);
  if (fingerprint != fingerprint_) {
    fingerprint_ = fingerprint;
    stalled_since_ = now;
    backoff_.moved();
    return {};
  }
  if (std::chrono::nanoseconds(now - stalled_since_) < options_.timeout) return {};
  return fail(stall_report(prepared_, hosts_, batch_iterations_, options_.timeout));
}

RunResult Runner::result() const {
  RunResult result;
  result.timeline.where = prepared_.driver.topology().node;
  for (const Queue& queue : prepared_.program().queues) {
    result.timeline.tracks.push_back({queue.name, queue.rank, queue.kind == QueueKind::host});
  }
  result.timeline.bytes_moved = prepared_.bytes_per_iteration * options_.iterations;
  result.timeline.iteration_times = clock_.times();
  if (trace_) {
    TraceRange range;
    range.end_iteration = options_.iterations;
    range.iterations = std::min<std::uint64_t>(options_.iterations, prepared_.slots.depth);
    range.host_now = clock_.now();
    range.device_now = prepared_.driver.clock();
    collect_trace(prepared_, *trace_, range, result.timeline);
  }
  result.checked_bytes = totals_.checked_bytes;
  result.wrong_bytes = totals_.wrong_bytes;
  result.first_wrong = totals_.first_wrong;
  for (const Tracker& tracker : prepared_.program().trackers) {
    const RankId rank = prepared_.program().buffer(tracker.region.buffer).rank;
    result.tracker_entries_peak = std::max(result.tracker_entries_peak, prepared_.driver.tracker_use(rank).peak);
  }
  return result;
}

}  // namespace cortado::device
