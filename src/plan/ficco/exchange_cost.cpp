#include "plan/ficco/exchange_cost.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace cortado::plan {
namespace {

// Gains below this fraction of the time cannot be distinguished from the error of the estimate.
constexpr double kLeastGain = 0.01;

// The first steps find their stagings free.
constexpr std::uint32_t kUngatedSteps = 2;

struct Packets {
  double queues;
  double copies;  // of a step
};

Packets packets_of(ExchangeVariant variant, double peers) {
  switch (variant) {
    case ExchangeVariant::pcpy:
      return {peers, peers};
    case ExchangeVariant::bcst:
      return {std::ceil(peers / 2), std::ceil(peers / 2)};
    case ExchangeVariant::b2b:
      return {1, peers};
    case ExchangeVariant::automatic:
      break;
  }
  CORTADO_CHECK(false, "a variant that says how bytes are carried");
  return {};
}

/// U.
double host_time(const Packets& packets, const StepLoad& load, const HostTiming& host) {
  const double waits = load.in_turn && load.steps > kUngatedSteps ? (load.steps - kUngatedSteps) * load.peers : 0;
  const double all = load.steps * (packets.copies + packets.queues) + waits;  // one signal per queue and step
  return packets.queues * static_cast<double>(host.submit.value) + all * static_cast<double>(host.packet.value);
}

/// M.
double moving_time(ExchangeVariant variant, const StepLoad& load, const Timing& timing) {
  const EngineTiming& engine = timing.engine;
  const bool mesh = timing.link.shape == LinkShape::mesh;
  const double bytes = static_cast<double>(load.piece.value);  // 1 GB/s is one byte per ns
  const double link = mesh ? timing.link.rate.value : timing.link.rate.value / load.peers;
  if (variant == ExchangeVariant::pcpy) return bytes / std::min(engine.rate.value, link);
  if (variant == ExchangeVariant::bcst) return bytes / std::min(engine.broadcast_rate.value / 2, link);
  const double one = timing.link.rate.value;
  const double together = mesh ? one * std::min(engine.copies_in_flight, load.peers) : one;
  const double last_issued = (load.peers - 1.0) * static_cast<double>(engine.copy_issue.value);
  return std::max(last_issued + bytes / std::min(engine.rate.value, one),
                  load.peers * bytes / std::min(engine.rate.value, together));
}

}  // namespace

double exchange_time(ExchangeVariant variant, const StepLoad& load, const Timing& timing) {
  const auto ns = [](Nanoseconds time) { return static_cast<double>(time.value); };
  const EngineTiming& engine = timing.engine;
  const double ahead = host_time(packets_of(variant, load.peers), load, timing.host);
  const double step = ns(engine.copy_start) + moving_time(variant, load, timing) + ns(engine.sync);
  const double turn = load.in_turn ? load.products + ns(timing.cores.flag) + ns(engine.wake) + step : 0;
  return ahead + std::max(ns(engine.fetch) + step, ns(timing.cores.launch) + load.own_kernels) +
         (load.steps - 1.0) * std::max({step, load.step_kernels, turn / 2}) + load.step_kernels;
}

ExchangeVariant fastest_exchange(const StepLoad& load, const Machine& machine) {
  if (!machine.timing || machine.timing->engine.threads > 0) return ExchangeVariant::pcpy;
  const double plain = exchange_time(ExchangeVariant::pcpy, load, *machine.timing);
  double least = plain * (1 - kLeastGain);
  ExchangeVariant fastest = ExchangeVariant::pcpy;
  for (const ExchangeVariant variant : {ExchangeVariant::bcst, ExchangeVariant::b2b}) {
    if (variant == ExchangeVariant::bcst && !(load.same && machine.features.broadcast)) continue;
    const double time = exchange_time(variant, load, *machine.timing);
    if (time >= least) continue;
    least = time;
    fastest = variant;
  }
  return fastest;
}

}  // namespace cortado::plan
