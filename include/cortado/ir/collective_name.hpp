// The collectives there are, as a type: a name from outside becomes one in find_collective(), and only there.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/core.h>

#include "cortado/base/result.hpp"

namespace cortado {

/// A literal of its name is one, checked by the compiler: `request.collective = "all-gather"`.
class Collective {
 public:
  enum class Kind : std::uint8_t {
    all_gather,
    all_to_all,
    reduce_scatter,
    all_reduce,
    broadcast,
    gather,
    scatter,
    point_to_point,
  };
  static constexpr std::array<std::string_view, 8> kNames{
      "all-gather", "all-to-all", "reduce-scatter", "all-reduce", "broadcast", "gather", "scatter", "point-to-point"};

  constexpr Collective() = default;
  constexpr explicit Collective(Kind kind) : kind_(kind) {}
  consteval Collective(const char* name) : kind_(literal(name)) {}

  constexpr Kind kind() const { return kind_; }
  constexpr std::string_view name() const { return kNames[static_cast<std::size_t>(kind_)]; }
  friend constexpr auto operator<=>(Collective, Collective) = default;

 private:
  static consteval Kind literal(std::string_view name) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (kNames[i] == name) return static_cast<Kind>(i);
    }
    throw "there is no such collective";
  }

  Kind kind_ = Kind::all_gather;
};

/// All, in the order of lists.
inline constexpr auto kCollectives = [] {
  std::array<Collective, Collective::kNames.size()> all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = Collective(static_cast<Collective::Kind>(i));
  return all;
}();

/// By name; unknown ones are refused with the nearest known one (plan.unknown_collective).
Result<Collective> find_collective(std::string_view name);

}  // namespace cortado

template <>
struct fmt::formatter<cortado::Collective> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(cortado::Collective collective, Context& context) const {
    return fmt::formatter<std::string_view>::format(collective.name(), context);
  }
};
