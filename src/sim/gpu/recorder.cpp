#include "sim/gpu/recorder.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "ir/visit.hpp"

namespace cortado::sim {
namespace {

SpanKind kind_of(const Queue& queue, const Command& command) {
  if (std::holds_alternative<Wait>(command)) return SpanKind::wait;
  if (std::holds_alternative<Signal>(command) || std::holds_alternative<Trigger>(command)) return SpanKind::signal;
  if (std::holds_alternative<Timestamp>(command)) return SpanKind::mark;
  if (queue.kind == QueueKind::host) return SpanKind::host;
  return moves_bytes(command) ? SpanKind::copy : SpanKind::kernel;
}

}  // namespace

Recorder::Recorder(const CheckedProgram& program, const SimulateOptions& options)
    : program_(program.program()), trace_(options.trace), names_(options.span_names), iterations_(options.iterations) {
  timeline_.simulated = true;
  timeline_.where = fmt::format("simulated {}", program.machine().name);
  if (options.sharing.local) {
    timeline_.where += fmt::format(", local sharing within {:g} %", 100 * options.sharing.tolerance);
  }
  if (!trace_) return;
  std::size_t commands = 0;
  for (const Queue& queue : program_.queues) commands += queue.commands.size();
  timeline_.spans.reserve(commands);
  timeline_.tracks.reserve(program_.queues.size());
  for (const Queue& queue : program_.queues) {
    timeline_.tracks.push_back({queue.name, queue.rank, queue.kind == QueueKind::host});
  }
}

std::uint32_t Recorder::begin(std::uint32_t queue, std::uint32_t command, std::uint32_t iteration, SimTime at) {
  if (!trace_) return kNoSpan;
  const Queue& of_queue = program_.queues[queue];
  const Command& what = of_queue.commands[command];
  timeline_.spans.push_back({.track = queue,
                             .name = names_ ? to_string(program_, what) : std::string(),
                             .kind = kind_of(of_queue, what),
                             .start = to_nanoseconds(at),
                             .end = to_nanoseconds(at),
                             .bytes = bytes_written(what),
                             .iteration = iteration,
                             .command = command});
  return static_cast<std::uint32_t>(timeline_.spans.size() - 1);
}

void Recorder::end(std::uint32_t span, SimTime at) {
  if (span != kNoSpan) timeline_.spans[span].end = to_nanoseconds(at);
}

void Recorder::flow(std::uint32_t from, std::uint32_t to) {
  if (from != kNoSpan && to != kNoSpan) timeline_.flows.push_back({from, to});
}

void Recorder::stamp(const std::string& label, std::uint32_t iteration, SimTime at) {
  Iteration& it = iterations_[iteration];
  if (label == "begin") it.begin = std::min(it.begin, at);
  if (label == "end") it.end = std::max(it.end, at);
}

void Recorder::host_at_work(std::uint32_t iteration, SimTime at) {
  iterations_[iteration].whole.include(at);
}

void Recorder::Bounds::include(SimTime at) {
  first = std::min(first, at);
  last = std::max(last, at);
}

Timeline Recorder::finish() && {
  for (const Iteration& it : iterations_) {
    const bool bracketed = it.begin != SimTime::never() && it.end >= it.begin;
    const bool worked = it.whole.first != SimTime::never();  // a program without host commands does nothing
    const SimTime whole = worked ? it.whole.last - it.whole.first : SimTime{};
    timeline_.iteration_times.push_back(to_nanoseconds(bracketed ? it.end - it.begin : whole));
  }
  return std::move(timeline_);
}

}  // namespace cortado::sim
