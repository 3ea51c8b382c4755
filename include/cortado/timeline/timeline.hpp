// The Timeline: what happened and when, the common answer of the device (measured) and of the simulator (simulated).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/base/units.hpp"
#include "cortado/timeline/energy.hpp"

namespace cortado {

enum class SpanKind { copy, wait, signal, kernel, host, mark };

/// One thing on one track. `mark` has no duration.
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

/// A quantity over time, e.g. watts; value holds from its time on.
struct CounterSample {
  Nanoseconds time;
  double value = 0;
};
struct Counter {
  std::string name;
  std::string unit;
  std::vector<CounterSample> samples;
  std::optional<RankId> rank{};  ///< none: of the whole node
};

struct Timeline {
  bool simulated = false;
  /// "embedded node, 2 threads" or "simulated mi300x-8"; names an approximation that was asked for
  std::string where;
  std::vector<Track> tracks;
  std::vector<Span> spans;
  std::vector<Flow> flows;
  std::vector<Counter> counters;
  Bytes bytes_moved{};
  /// Time of each iteration: from "begin" to "end" of the host queues, or the whole of it (program.hpp, Timestamp).
  std::vector<Nanoseconds> iteration_times;
  /// Of all GPUs, from the first to the last moment; none: nobody counted it.
  std::optional<EnergyUse> energy{};
  /// Of all GPUs within the time of each iteration; empty if nobody counted it.
  std::vector<Energy> iteration_energies{};
};

/// Median of the iteration times; zero if there are none.
Nanoseconds median_time(const Timeline& timeline);

/// One of the values: of an even number the upper of the middle two. 0 if there are none.
Nanoseconds upper_median(std::vector<Nanoseconds> values);

/// Of an iteration: means of time and energy of all; none if nobody counted it.
std::optional<EnergyUse> energy_of_iteration(const Timeline& timeline);

}  // namespace cortado
