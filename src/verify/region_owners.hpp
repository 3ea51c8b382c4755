// Who owns which bytes: a set of disjoint regions, and the parts of other regions that lie in them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cortado/program.hpp"

#include "verify/interval_map.hpp"
#include "verify/strips.hpp"

namespace cortado::verifier {

inline constexpr std::uint32_t kNoOwner = ~0U;

class RegionOwners {
 public:
  /// Regions are numbered by their position in `owned`; `asked` lists all other regions that will be looked up. All
  /// must lie inside their buffers.
  RegionOwners(std::span<const Region> owned, std::span<const Region> asked);

  /// The numbers of the first two regions that overlap, if any.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> overlap() const { return overlap_; }

  /// Calls visit(const Strips::Cell&, owner) for the parts of the region; owner is kNoOwner where nobody owns them.
  template <class Visitor>
  void visit(const Region& region, Visitor&& visit) const {
    const Strips& strips = strips_[region.buffer.value];
    const auto& owners = owners_[region.buffer.value];
    strips.for_each_cell(region, [&](const Strips::Cell& cell) {
      if (owners.empty()) return visit(cell, kNoOwner);
      owners[cell.strip].visit(cell.begin, cell.end, [&](std::uint64_t begin, std::uint64_t end, const Owner* owner) {
        visit(Strips::Cell{cell.strip, begin, end}, owner == nullptr ? kNoOwner : owner->number);
      });
    });
  }

  const Strips& strips(BufferId buffer) const { return strips_[buffer.value]; }
  std::size_t buffers() const { return strips_.size(); }

 private:
  struct Owner {
    std::uint32_t number = kNoOwner;

    const Owner& advanced_by(std::uint64_t) const { return *this; }
    bool continues(const Owner& next, std::uint64_t) const { return number == next.number; }
  };

  void own(const Region& region, std::uint32_t number);

  std::vector<Strips> strips_;                           // by buffer
  std::vector<std::vector<IntervalMap<Owner>>> owners_;  // by buffer and strip; no strips if nothing is owned there
  std::optional<std::pair<std::uint32_t, std::uint32_t>> overlap_;
};

}  // namespace cortado::verifier
