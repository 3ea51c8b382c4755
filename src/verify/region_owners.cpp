#include "verify/region_owners.hpp"

#include <algorithm>

#include "verify/regions.hpp"

namespace cortado::verifier {

RegionOwners::RegionOwners(std::span<const Region> owned, std::span<const Region> asked) {
  std::size_t buffers = 0;
  for (const Region& region : owned) buffers = std::max<std::size_t>(buffers, region.buffer.value + std::size_t{1});
  for (const Region& region : asked) buffers = std::max<std::size_t>(buffers, region.buffer.value + std::size_t{1});
  std::vector<bool> strided(buffers, false);  // buffers without one have a single strip, whatever their regions are
  for (const auto& list : {owned, asked}) {
    for (const Region& region : list) {
      if (is_strided(region)) strided[region.buffer.value] = true;
    }
  }
  std::vector<std::vector<Region>> regions(buffers);
  for (const auto& list : {owned, asked}) {
    for (const Region& region : list) {
      if (strided[region.buffer.value]) regions[region.buffer.value].push_back(region);
    }
  }
  strips_.reserve(buffers);
  for (const auto& list : regions) strips_.emplace_back(list);
  owners_.resize(buffers);
  for (std::uint32_t i = 0; i < owned.size(); ++i) own(owned[i], i);
}

void RegionOwners::own(const Region& region, std::uint32_t number) {
  const Strips& strips = strips_[region.buffer.value];
  auto& owners = owners_[region.buffer.value];
  owners.resize(strips.count());
  for (const Strips::Cell& cell : strips.cells(region)) {
    owners[cell.strip].visit(cell.begin, cell.end, [&](std::uint64_t, std::uint64_t, const Owner* other) {
      if (other != nullptr && !overlap_) overlap_ = {other->number, number};
    });
    owners[cell.strip].assign(cell.begin, cell.end, Owner{number});
  }
}

}  // namespace cortado::verifier
