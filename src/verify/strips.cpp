#include "verify/strips.hpp"

#include <algorithm>

#include "verify/runs.hpp"

namespace cortado::verifier {
namespace {

/// With more cuts than this, rows are handled one by one.
constexpr std::size_t kMaxCuts = 1024;

std::vector<Region> all_joined(std::span<const Region> regions) {
  std::vector<Region> result;
  result.reserve(regions.size());
  for (const Region& region : regions) result.push_back(joined(region));
  return result;
}

}  // namespace

Strips::Strips(std::span<const Region> regions) : pitch_(common_pitch(all_joined(regions))), cuts_{0, pitch_} {
  if (pitch_ == 1) return;
  for (const Region& region : regions) {
    const std::uint64_t begin = region.offset.value % pitch_;
    cuts_.push_back(begin);
    cuts_.push_back((begin + joined(region).width.value) % pitch_);
  }
  std::ranges::sort(cuts_);
  const auto doubles = std::ranges::unique(cuts_);
  cuts_.erase(doubles.begin(), doubles.end());
  if (cuts_.size() > kMaxCuts) {
    pitch_ = 1;
    cuts_ = {0, 1};
  }
}

Strips::Cells Strips::cells(const Region& region) const {
  Cells cells;
  if (is_one_cell(region)) {
    cells.push_back(whole(region));
    return cells;
  }
  for (const PlacedRuns& runs : runs_of(region, pitch_)) {
    for (const Rectangle& r : rectangles(runs.address, pitch_)) {
      auto strip = static_cast<std::size_t>(std::ranges::lower_bound(cuts_, r.column_begin) - cuts_.begin());
      for (; cuts_[strip] < r.column_end; ++strip) cells.push_back({strip, r.row_begin, r.row_end});
    }
  }
  return cells;
}

std::pair<std::uint64_t, std::uint64_t> Strips::first_run(const Cell& cell) const {
  const std::uint64_t begin = cell.begin * pitch_ + cuts_[cell.strip];
  if (count() == 1) return {begin, cell.end * pitch_};
  return {begin, begin + cuts_[cell.strip + 1] - cuts_[cell.strip]};
}

}  // namespace cortado::verifier
