#include "pipeline/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cortado::pipeline {
namespace {

/// The first iteration finds empty caches; the median of three is a warm one.
constexpr std::uint32_t kSimulatedIterations = 3;

}  // namespace

double Comparison::ratio() const {
  return measured.value > 0 ? static_cast<double>(simulated.value) / static_cast<double>(measured.value) : 0;
}

double Comparison::error() const {
  return std::abs(ratio() - 1);
}

Outcome<Comparison> compare_verified(const VerifiedProgram& program, Target& device, const RunOptions& options) {
  const auto simulated =
      simulator()->run(program, {.iterations = kSimulatedIterations, .trace = options.trace, .sim = options.sim});
  if (!simulated) return fail(simulated.error());
  const auto measured = device.run(program, options);
  if (!measured) return fail(measured.error());
  Comparison comparison{measured->time, simulated->time, measured->check->wrong, simulated->energy};
  if (options.trace) {
    comparison.measured_timeline = last_iteration(measured->timeline);
    comparison.simulated_timeline = last_iteration(simulated->timeline);
  }
  return comparison;
}

ErrorSummary summary_of(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  const std::size_t middle = errors.size() / 2;
  const double median = errors.size() % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
  return {median, errors.back()};
}

Timeline last_iteration(const Timeline& timeline) {
  constexpr std::uint32_t kDropped = std::numeric_limits<std::uint32_t>::max();
  Timeline last = timeline;
  last.spans.clear();
  last.flows.clear();
  last.counters.clear();
  if (!timeline.iteration_times.empty()) last.iteration_times = {timeline.iteration_times.back()};
  if (!timeline.iteration_energies.empty()) last.iteration_energies = {timeline.iteration_energies.back()};
  last.energy = energy_of_iteration(last);
  std::uint32_t iteration = 0;
  for (const Span& span : timeline.spans) iteration = std::max(iteration, span.iteration);
  Nanoseconds first{std::numeric_limits<std::int64_t>::max()};
  std::vector<std::uint32_t> place(timeline.spans.size(), kDropped);
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    if (timeline.spans[i].iteration != iteration) continue;
    place[i] = static_cast<std::uint32_t>(last.spans.size());
    last.spans.push_back(timeline.spans[i]);
    first = std::min(first, timeline.spans[i].start);
  }
  for (Span& span : last.spans) {
    span.iteration = 0;  // the only one that iteration_times has
    span.start = span.start - first;
    span.end = span.end - first;
  }
  for (const Flow& flow : timeline.flows) {
    if (place[flow.from_span] == kDropped || place[flow.to_span] == kDropped) continue;
    last.flows.push_back({place[flow.from_span], place[flow.to_span]});
  }
  return last;
}

}  // namespace cortado::pipeline
