// Simulated time: an integer number of picoseconds.
//
// Why an integer: sums of times then do not depend on the order of addition, and equal times compare equal, so that a
// run repeats bit for bit. Why picoseconds: at 1 TB/s a byte takes one picosecond, so rounding the end of a transfer of
// n bytes is an error of at most one byte in n; with nanoseconds it would be a thousand. 2^63 ps are 106 days of
// simulated time.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "cortado/result.hpp"

namespace cortado::sim {

/// A point in simulated time, counted from the start of the simulation, or a duration.
struct SimTime {
  std::int64_t picoseconds = 0;

  /// Later than everything: the end of something that makes no progress. Adding to it changes nothing.
  static constexpr SimTime never() { return {std::numeric_limits<std::int64_t>::max()}; }

  friend constexpr auto operator<=>(SimTime, SimTime) = default;
  /// A sum beyond the range is never(). Durations must not be negative.
  friend constexpr SimTime operator+(SimTime a, SimTime b) {
    return a.picoseconds > never().picoseconds - b.picoseconds ? never() : SimTime{a.picoseconds + b.picoseconds};
  }
  friend constexpr SimTime operator-(SimTime a, SimTime b) { return {a.picoseconds - b.picoseconds}; }
};

constexpr SimTime to_sim_time(Nanoseconds t) {
  return {t.value * 1000};
}

/// To the nearest nanosecond, halves rounded up.
constexpr Nanoseconds to_nanoseconds(SimTime t) {
  const std::int64_t floor = t.picoseconds / 1000 - (t.picoseconds % 1000 < 0 ? 1 : 0);
  return {floor + (t.picoseconds - floor * 1000 >= 500 ? 1 : 0)};
}

constexpr double to_seconds(SimTime t) {
  return static_cast<double>(t.picoseconds) * 1e-12;
}

/// The shortest duration of whole picoseconds that is not less than `seconds` (not negative, not NaN), so that a
/// transfer never ends before its last byte; never() if that is out of range, as for amount / 0. An excess over a whole
/// picosecond of less than a thousandth is taken as a rounding error of `seconds` and dropped: transfers that are equal
/// except for the order of some additions end together.
constexpr SimTime sim_time_from_seconds(double seconds) {
  const double ps = seconds * 1e12;
  if (!(ps < 9.2e18)) return SimTime::never();
  const auto whole = static_cast<std::int64_t>(ps);
  return {ps - static_cast<double>(whole) > 1e-3 ? whole + 1 : whole};
}

}  // namespace cortado::sim
