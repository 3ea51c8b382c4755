// Seeded random numbers that are the same on every platform and standard library (the std distributions are not).
#pragma once

#include <cstdint>

namespace cortado {

/// SplitMix64: one 64-bit word of state; every seed is good. Also usable as a hash of its seed.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  /// In [0, bound); bound > 0. Uniform up to a bias below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) { return next() % bound; }

  constexpr bool chance(std::uint64_t one_in) { return below(one_in) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace cortado
