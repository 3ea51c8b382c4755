// Fits the constants to the measured times; docs/models.md has the equations.
#include <algorithm>
#include <cmath>

#include "pipeline/calibrate.hpp"

namespace cortado::pipeline {
namespace {

/// Machine files take times from 1 ns on.
Nanoseconds at_least_1(double ns) {
  return {std::max<std::int64_t>(1, std::llround(ns))};
}

/// Two decimals are more than a measurement has.
GBps rounded(double rate) {
  return {std::max(std::round(rate * 100) / 100, 0.01)};
}

double slope(double many, double one, std::uint32_t count) {
  return std::max(0.0, (many - one) / (count - 1));
}

// Tiny copies run on the caller's thread alone, so all costs add up:
//   one queue of n copies, submitted     submit + (n + 1) packet + fetch + n copy + sync + poll
//   one queue of n copies, prelaunched   trigger + fetch + n copy + sync + poll
//   q queues of one copy                 q times everything except fetch and trigger
void fit_commands(const CommandTimes& t, Timing& timing) {
  const double copy = slope(t.prelaunched_copies, t.prelaunched_one, t.copies);
  const double packet = slope(t.many_copies, t.one, t.copies) - copy;
  const double poll = slope(t.many_waits, t.one, t.waits);
  const double queue = slope(t.many_queues, t.one, t.queues);
  const double prelaunched = slope(t.prelaunched_queues, t.prelaunched_one, t.queues);
  timing.host.packet = at_least_1(packet);
  timing.host.poll = at_least_1(poll);
  timing.engine.copy_start = at_least_1(copy);
  timing.engine.copy_issue = timing.engine.copy_start;
  const auto packets = static_cast<double>(2 * timing.host.packet.value);
  // The rest of a queue's time is the submission and what the engine does once per queue.
  const double once = queue - packets - copy - poll;
  const double submit = std::clamp(queue - prelaunched - packets, 0.0, std::max(once, 0.0));
  timing.host.submit = at_least_1(submit);
  timing.engine.sync = at_least_1(once - submit);
  const double fetch = t.one - queue;
  timing.engine.fetch = at_least_1(fetch);
  timing.engine.wake = timing.engine.fetch;
  const double trigger = t.prelaunched_one - std::max(prelaunched, copy + poll) - std::max(fetch, 0.0);
  timing.host.trigger = at_least_1(trigger);
  timing.host.signal = timing.host.trigger;
}

/// Bytes per nanosecond of copies that repeatedly touch this many bytes: each byte is read and written.
double modelled_rate(double top, const std::vector<NodeLevel>& levels, double touched) {
  double rate = top;
  for (const NodeLevel& level : levels) {
    const double missed = 1 - std::min(1.0, static_cast<double>(level.cache_bytes.value) / touched);
    if (missed > 0) rate = std::min(rate, level.rate.value / (2 * missed));
  }
  return rate;
}

double measured_rate(const CopyTime& point) {
  return static_cast<double>(point.copied.value) / std::max(point.ns, 1.0);
}

/// Sum of the squares of log(model / measured): twice is as bad as half.
double badness(double top, const std::vector<NodeLevel>& levels, const std::vector<CopyTime>& copies) {
  double sum = 0;
  for (const CopyTime& point : copies) {
    const double model = modelled_rate(top, levels, static_cast<double>(point.touched.value));
    const double error = std::log(model / measured_rate(point));
    sum += error * error;
  }
  return sum;
}

/// Rates with which the model meets one of the points exactly.
std::vector<double> rate_candidates(Bytes cache, const std::vector<CopyTime>& copies) {
  std::vector<double> rates;
  for (const CopyTime& point : copies) {
    const double missed = 1 - static_cast<double>(cache.value) / static_cast<double>(point.touched.value);
    if (missed > 0) rates.push_back(2 * missed * measured_rate(point));
  }
  return rates;
}

/// The two boundaries (near caches, memory) that explain the points best, of those with cache sizes at the powers of
/// the square root of two between the points and rates that meet one of the points.
std::vector<NodeLevel> fit_levels(double top, const std::vector<CopyTime>& copies) {
  std::vector<NodeLevel> best;
  if (copies.empty()) return best;
  std::vector<Bytes> caches;
  for (double size = static_cast<double>(copies.front().touched.value) / 4;
       size < static_cast<double>(copies.back().touched.value); size *= std::sqrt(2.0)) {
    caches.push_back({static_cast<std::uint64_t>(std::llround(size))});
  }
  double least = 0;
  const auto offer = [&](std::vector<NodeLevel> levels) {
    const double bad = badness(top, levels, copies);
    if (!best.empty() && bad >= least) return;
    least = bad;
    best = std::move(levels);
  };
  for (std::size_t i = 0; i < caches.size(); ++i) {
    for (const double near : rate_candidates(caches[i], copies)) {
      offer({{caches[i], {near}}});
      for (std::size_t j = i + 1; j < caches.size(); ++j) {
        for (const double far : rate_candidates(caches[j], copies)) {
          if (far < near) offer({{caches[i], {near}}, {caches[j], {far}}});
        }
      }
    }
  }
  return best;
}

}  // namespace

Timing fit_timing(const CalibrationData& data, const Machine& base) {
  Timing timing;
  fit_commands(data.commands, timing);
  EngineTiming& engine = timing.engine;
  engine.rate = rounded(data.rate);
  if (base.features.broadcast) engine.broadcast_rate = rounded(data.broadcast_rate);
  engine.local_rate = engine.rate;
  engine.copies_in_flight = 1;
  // Threads that do not make it faster, because the computer is busy, do not count.
  const double speed_up = std::round(data.parallel_rate / data.rate);
  engine.threads = static_cast<std::uint32_t>(std::clamp(speed_up, 1.0, static_cast<double>(data.threads)));
  const double top = engine.threads * engine.rate.value;
  timing.memory.node = fit_levels(top, data.copies);
  for (NodeLevel& level : timing.memory.node) level.rate = rounded(level.rate.value);
  // There are no links and no memories of single GPUs, so they must not limit anything. A thread reads and writes.
  timing.link.shape = base.timing ? base.timing->link.shape : LinkShape::mesh;
  timing.link.rate = rounded(top);
  timing.link.peak = timing.link.rate;
  timing.link.latency = {1};
  timing.memory.peak = rounded(2 * top);
  timing.memory.rate = timing.memory.peak;
  const double unit_rate = data.rate / base.compute_units;
  timing.cores = {.launch = timing.host.submit,
                  .call = timing.host.packet,
                  .start = engine.fetch,
                  .flag = engine.sync,
                  .copy_rate = rounded(unit_rate),
                  .local_rate = rounded(2 * unit_rate),
                  .wire_efficiency = 1};
  return timing;
}

}  // namespace cortado::pipeline
