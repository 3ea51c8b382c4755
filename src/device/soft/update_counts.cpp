#include "device/soft/update_counts.hpp"

namespace cortado::device::soft {

UpdateCounts::Runs::iterator UpdateCounts::split_at(std::uint64_t place) {
  if (place == bytes_) return counts_.end();
  const auto run = std::prev(counts_.upper_bound(place));
  return run->first == place ? run : counts_.emplace_hint(std::next(run), place, run->second);
}

void UpdateCounts::join_at(std::uint64_t place) {
  const auto run = counts_.find(place);
  if (run == counts_.end() || run == counts_.begin()) return;
  if (std::prev(run)->second == run->second) counts_.erase(run);
}

void UpdateCounts::add(std::uint64_t first, std::uint64_t bytes) {
  const auto begin = split_at(first);
  const auto end = split_at(first + bytes);
  for (auto run = begin; run != end; ++run) ++run->second;
  total_ += bytes;
  // All counts between the ends grew equally: only at the ends can neighbours have become equal.
  join_at(first + bytes);
  join_at(first);
}

void UpdateCounts::clear() {
  counts_ = {{0, 0}};
  total_ = 0;
}

}  // namespace cortado::device::soft
