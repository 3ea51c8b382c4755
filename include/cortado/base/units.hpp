// Strong types for the quantities and identities that cross module boundaries.
//
// A `Bytes` is never a `Nanoseconds` and a `RankId` never a `QueueId`; the bare number is `.value`.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace cortado {

/// A size or an offset in bytes.
struct Bytes {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return {a.value * n}; }
  friend constexpr Bytes operator*(std::uint64_t n, Bytes a) { return {a.value * n}; }
  friend constexpr Bytes operator/(Bytes a, std::uint64_t n) { return {a.value / n}; }
  constexpr Bytes& operator+=(Bytes b) {
    value += b.value;
    return *this;
  }
};

inline constexpr Bytes operator""_B(unsigned long long n) {
  return {n};
}
inline constexpr Bytes operator""_KiB(unsigned long long n) {
  return {n << 10};
}
inline constexpr Bytes operator""_MiB(unsigned long long n) {
  return {n << 20};
}
inline constexpr Bytes operator""_GiB(unsigned long long n) {
  return {n << 30};
}

/// A time or a duration in integer nanoseconds, so that results repeat bit for bit.
struct Nanoseconds {
  std::int64_t value = 0;

  friend constexpr auto operator<=>(Nanoseconds, Nanoseconds) = default;
  friend constexpr Nanoseconds operator+(Nanoseconds a, Nanoseconds b) { return {a.value + b.value}; }
  friend constexpr Nanoseconds operator-(Nanoseconds a, Nanoseconds b) { return {a.value - b.value}; }
};

inline constexpr double microseconds(Nanoseconds t) {
  return static_cast<double>(t.value) / 1e3;
}

inline constexpr double to_seconds(Nanoseconds t) {
  return static_cast<double>(t.value) / 1e9;
}

/// A rate in decimal gigabytes per second.
struct GBps {
  double value = 0;

  friend constexpr auto operator<=>(GBps, GBps) = default;
  constexpr double bytes_per_second() const { return value * 1e9; }
};

/// An index into one of the vectors of a Program or a Machine, distinct per kind of thing.
template <class Tag>
struct Id {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(Id, Id) = default;
};

using RankId = Id<struct RankTag>;      ///< a GPU of the program, 0 .. ranks-1
using BufferId = Id<struct BufferTag>;  ///< index into Program::buffers
using SignalId = Id<struct SignalTag>;  ///< index into Program::signals
using QueueId = Id<struct QueueTag>;    ///< index into Program::queues
using EngineId = Id<struct EngineTag>;  ///< physical DMA engine number of a GPU, as the driver counts them

}  // namespace cortado

template <class Tag>
struct std::hash<cortado::Id<Tag>> {
  std::size_t operator()(cortado::Id<Tag> id) const noexcept { return id.value; }
};
