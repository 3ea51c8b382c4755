// The Timeline: what happened and when. It is the common result of devices (measured) and of the simulator (predicted),
// with energy, memory traffic, the critical path, times by role and bandwidths.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

// --- Energy ----------------------------------------------------------------------------------------------------------
//
// Joules by part. Every part belongs to one component, so components are sums of parts and the
// total is the sum of components.

namespace cortado {

enum class EnergyPart : std::uint8_t {
  xcd_idle,
  xcd_leakage,
  xcd_clock,
  xcd_units,     ///< compute units that kernels hold
  xcd_products,  ///< multiplications and additions of GEMMs
  xcd_bytes,     ///< in and out of L2
  iod_idle,
  iod_leakage,
  iod_clock,
  iod_cache,
  iod_links,
  iod_engines,
  iod_packets,
  iod_polling,
  hbm_idle,
  hbm_leakage,
  hbm_clock,
  hbm_bytes,
  rest_idle,
  rest_loss,  ///< of voltage regulators
};

struct EnergyPartInfo {
  std::string_view name;
  Component component;
};

inline constexpr std::array<EnergyPartInfo, 20> kEnergyParts{{
    {"xcd_idle", Component::xcd},    {"xcd_leakage", Component::xcd},  {"xcd_clock", Component::xcd},
    {"xcd_units", Component::xcd},   {"xcd_products", Component::xcd}, {"xcd_bytes", Component::xcd},
    {"iod_idle", Component::iod},    {"iod_leakage", Component::iod},  {"iod_clock", Component::iod},
    {"iod_cache", Component::iod},   {"iod_links", Component::iod},    {"iod_engines", Component::iod},
    {"iod_packets", Component::iod}, {"iod_polling", Component::iod},  {"hbm_idle", Component::hbm},
    {"hbm_leakage", Component::hbm}, {"hbm_clock", Component::hbm},    {"hbm_bytes", Component::hbm},
    {"rest_idle", Component::rest},  {"rest_loss", Component::rest},
}};

struct Energy {
  std::array<double, kEnergyParts.size()> joules{};

  double& operator[](EnergyPart part) { return joules[static_cast<std::size_t>(part)]; }
  double operator[](EnergyPart part) const { return joules[static_cast<std::size_t>(part)]; }

  double of(Component component) const {
    double sum = 0;
    for (std::size_t i = 0; i < joules.size(); ++i) {
      if (kEnergyParts[i].component == component) sum += joules[i];
    }
    return sum;
  }
  double total() const {
    double sum = 0;
    for (const Component component : kComponents) sum += of(component);
    return sum;
  }

  friend bool operator==(const Energy&, const Energy&) = default;
  Energy& operator+=(const Energy& other) {
    for (std::size_t i = 0; i < joules.size(); ++i) joules[i] += other.joules[i];
    return *this;
  }
  Energy& operator-=(const Energy& other) {
    for (std::size_t i = 0; i < joules.size(); ++i) joules[i] -= other.joules[i];
    return *this;
  }
  friend Energy operator+(Energy one, const Energy& other) { return one += other; }
  friend Energy operator-(Energy one, const Energy& other) { return one -= other; }
  friend Energy operator*(Energy one, double factor) {
    for (double& joules : one.joules) joules *= factor;
    return one;
  }
};

/// Energy over a time on a number of GPUs, as in tables.
struct EnergyUse {
  Energy energy;       ///< of all GPUs
  double seconds = 0;  ///< over which it was spent
  std::uint32_t gpus = 1;

  double joules() const { return energy.total(); }
  /// Of one GPU, on average.
  double watts() const { return per_gpu(energy.total()); }
  double watts(Component component) const { return per_gpu(energy.of(component)); }
  double energy_delay() const { return joules() * seconds; }  ///< joule seconds

  /// Sequentially on the same GPUs.
  EnergyUse& operator+=(const EnergyUse& other) {
    energy += other.energy;
    seconds += other.seconds;
    return *this;
  }

 private:
  double per_gpu(double joules) const { return seconds > 0 ? joules / seconds / gpus : 0; }
};

// --- Timeline --------------------------------------------------------------------------------------------------------

enum class SpanKind { copy, wait, signal, kernel, host, mark };

/// One event on one track. `mark` has no duration.
struct Span {
  std::uint32_t track = 0;  ///< index into Timeline::tracks
  std::string name;
  SpanKind kind = SpanKind::copy;
  Nanoseconds start;
  Nanoseconds end;
  Bytes bytes{};  ///< moved, for copies
  std::uint32_t iteration = 0;
  std::uint32_t command = 0;  ///< index in the queue of the track
};

/// An arrow from the end of one span to the end of another: a signal that released a wait, a doorbell that started a
/// queue.
struct Flow {
  std::uint32_t from_span = 0;
  std::uint32_t to_span = 0;
};

/// One queue.
struct Track {
  std::string name;
  std::optional<RankId> rank{};  ///< none: a host thread that serves all ranks
  bool host = false;             ///< a host thread, not an engine or compute units
};

/// A quantity over time, e.g. watts; a value holds from its time on.
struct CounterSample {
  Nanoseconds time;
  double value = 0;
};
struct Counter {
  std::string name;
  std::string unit;
  std::vector<CounterSample> samples;
  std::optional<RankId> rank{};  ///< none: the whole node
};

struct Timeline {
  bool simulated = false;
  /// "embedded node, 2 threads" or "simulated mi300x-8"; also names a requested approximation
  std::string where;
  std::vector<Track> tracks;
  std::vector<Span> spans;
  std::vector<Flow> flows;
  std::vector<Counter> counters;
  Bytes bytes_moved{};
  /// Time of each iteration: from "begin" to "end" of the host queues, or the whole of it (program.hpp, Timestamp).
  std::vector<Nanoseconds> iteration_times;
  /// Of all GPUs, from start to end; none: not counted.
  std::optional<EnergyUse> energy{};
  /// Of all GPUs within the time of each iteration; empty: not counted.
  std::vector<Energy> iteration_energies{};
};

/// Median of the iteration times; zero if there are none.
Nanoseconds median_time(const Timeline& timeline);

/// One of the values; for an even number the upper of the middle two. 0 if there are none.
Nanoseconds upper_median(std::vector<Nanoseconds> values);

/// Per iteration: means of time and energy over all iterations; none: not counted.
std::optional<EnergyUse> energy_of_iteration(const Timeline& timeline);

// --- Memory traffic --------------------------------------------------------------------------------------------------
//
// Bytes read and written in the memories of all GPUs, by source. Cache hits do not count; an update by memory
// that adds counts once, as a write.

struct DramTraffic {
  double producer_reads = 0;  ///< by GEMMs
  double producer_writes = 0;
  double collective_reads = 0;  ///< by everything else: engines, and kernels that copy or add
  double collective_writes = 0;

  double reads() const { return producer_reads + collective_reads; }
  double writes() const { return producer_writes + collective_writes; }
  double total() const { return reads() + writes(); }

  DramTraffic& operator+=(const DramTraffic& other) {
    producer_reads += other.producer_reads;
    producer_writes += other.producer_writes;
    collective_reads += other.collective_reads;
    collective_writes += other.collective_writes;
    return *this;
  }
};

// --- Critical path ---------------------------------------------------------------------------------------------------
//
// The critical path of an iteration: the chain of spans and gaps that determined its end, traced backwards.
//
// At the end of a Wait the path continues with the span that raised the signal; at the start of any other span, with
// the event that let it start: the last one that finished on its track, or the Submit of its queue. Each moment of the
// iteration is on the path once, so the parts add up to its time.
//
// Example: one copy of 2 us. The path consists of the host's last poll of the signal (wait), the Signal (sync), the
// copy, the fetch between doorbell and copy (schedule) and the Submit (host). Of seven concurrent copies, only the
// one that ended last is on the path.

struct CriticalPath {
  Nanoseconds host;      ///< host threads at work: submissions, triggers, signals
  Nanoseconds schedule;  ///< doorbell or launch until the queue begins, and gaps between commands of a queue
  Nanoseconds copy;      ///< DMA copies: start-up, bytes, and gap to the next copy of the queue
  Nanoseconds kernel;    ///< compute units at work
  Nanoseconds sync;      ///< signals of engines and kernels: last byte until the signal is visible
  Nanoseconds wait;      ///< a signal is visible until the waiter sees it

  constexpr std::array<Nanoseconds, 6> in_order() const { return {host, schedule, copy, kernel, sync, wait}; }
};

inline constexpr std::array<std::string_view, 6> kCriticalPathNames{"host",   "schedule", "copy",
                                                                    "kernel", "sync",     "wait"};

/// The part of a copy's time before its first byte moves.
using StartUp = std::function<Nanoseconds(const Span& copy)>;

/// Of the last iteration of a traced timeline, which ends with the last span of its host queues and lasts as long as
/// its reported time. All zero without spans. With `start_up`, the start-up part of copies counts as schedule.
CriticalPath critical_path(const Timeline& timeline, const StartUp& start_up = {});

// --- Times by role ---------------------------------------------------------------------------------------------------
//
// When the GEMMs and the collective of a program ended, by the roles of its queues.

/// Relative to "begin".
struct RoleTimes {
  Nanoseconds gemm{};
  Nanoseconds collective{};
  Nanoseconds sent{};  ///< end of the collective without the work of GEMM streams for it: sums, and copies of own rows
};

/// Medians of the traced iterations. Waits in GEMM streams count as neither.
RoleTimes times_by_role(const Timeline& timeline, const Program& program);

// --- Bandwidths ------------------------------------------------------------------------------------------------------
//
// Bandwidths as defined by nccl-tests and rccl-tests, for comparison.
//
//   algbw = bytes of the whole buffer / time
//   busbw = algbw x factor, where the factor makes collectives and rank counts comparable with the speed of a link:
//     all-gather, reduce-scatter, all-to-all, gather, scatter   (n-1)/n
//     all-reduce                                                2(n-1)/n
//     broadcast, point-to-point                                 1
//
// Example: all-gather of 1 MiB on 8 ranks in 10 us: algbw = 1048576 B / 10000 ns = 104.9 GB/s, busbw = 7/8 of it
// = 91.8.

/// busbw / algbw of a collective; 1 for other names.
double bus_factor(std::string_view collective, std::uint32_t ranks);

/// Decimal GB/s, which is bytes per nanosecond; 0 if no time was measured.
double bandwidth_gbps(Bytes bytes, Nanoseconds time);

/// Decimal GB/s.
struct Bandwidths {
  double algorithm = 0;
  double bus = 0;
};
Bandwidths bandwidths(std::string_view collective, std::uint32_t ranks, Bytes bytes, Nanoseconds time);

/// Size of the whole buffer in the sense of nccl-tests, derived from the contract: the most bytes that one rank's
/// caller writes or reads. (All-gather: the gathered output; reduce-scatter: the input; scatter: the root's input.)
Bytes whole_buffer(const Program& program);

}  // namespace cortado
