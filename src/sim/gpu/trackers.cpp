#include "sim/gpu/trackers.hpp"

#include <algorithm>
#include <limits>

namespace cortado::sim {
namespace {

/// Bytes of the region before the offset.
std::uint64_t bytes_below(const Region& region, std::uint64_t offset) {
  if (offset <= region.offset.value || region.rows == 0) return 0;
  const std::uint64_t behind = offset - region.offset.value;
  if (region.rows == 1) return std::min(behind, region.width.value);
  const std::uint64_t row = behind / region.pitch.value;
  if (row >= region.rows) return region.bytes().value;
  return row * region.width.value + std::min(behind % region.pitch.value, region.width.value);
}

std::uint64_t common_of_range(const Region& region, std::uint64_t begin, std::uint64_t end) {
  return bytes_below(region, end) - bytes_below(region, begin);
}

/// Rows without gaps are one range.
bool is_range(const Region& region) {
  return region.rows == 1 || region.pitch == region.width;
}

}  // namespace

std::uint64_t common_bytes(const Region& one, const Region& other) {
  if (is_range(one)) return common_of_range(other, one.offset.value, one.offset.value + one.bytes().value);
  if (is_range(other)) return common_of_range(one, other.offset.value, other.offset.value + other.bytes().value);
  const Region& fewer = one.rows < other.rows ? one : other;
  const Region& more = one.rows < other.rows ? other : one;
  std::uint64_t bytes = 0;
  for (std::uint64_t row = 0; row < fewer.rows; ++row) {
    const std::uint64_t begin = fewer.row_offset(row).value;
    bytes += common_of_range(more, begin, begin + fewer.width.value);
  }
  return bytes;
}

Trackers::Trackers(const Program& program, const Machine& machine)
    : program_(program), gpus_(program.ranks), by_buffer_(program.buffers.size()) {
  const TrackerLimits unlimited{std::numeric_limits<std::uint32_t>::max(), {1}};
  const TrackerLimits limits = machine.features.tracker.value_or(unlimited);
  entries_ = limits.entries;
  for (std::uint32_t i = 0; i < program.trackers.size(); ++i) {
    const Tracker& tracker = program.trackers[i];
    const std::uint64_t bytes = tracker.region.bytes().value;
    State& state = states_.emplace_back();
    state.gpu = program.buffer(tracker.region.buffer).rank.value;
    state.entries = static_cast<std::uint32_t>(limits.entries_for({bytes}));
    state.in_all = state.missing = bytes * tracker.updates;
    Gpu& gpu = gpus_[state.gpu];
    gpu.trackers.push_back(i);
    gpu.reserve = std::max(gpu.reserve, state.entries);
    const std::uint64_t begin = tracker.region.offset.value;
    const std::uint64_t extent = tracker.region.extent().value;
    by_buffer_[tracker.region.buffer.value].push_back({begin, begin + extent, i});
    longest_ = std::max(longest_, extent);
  }
  for (auto& watched : by_buffer_) std::ranges::stable_sort(watched, {}, &Watched::begin);
}

std::size_t Trackers::first_behind(std::span<const Watched> watched, std::uint64_t offset) const {
  const std::uint64_t from = offset - std::min(offset, longest_);
  auto at = std::ranges::lower_bound(watched, from, {}, &Watched::begin);
  while (at != watched.end() && at->end <= offset) ++at;
  return static_cast<std::size_t>(at - watched.begin());
}

std::optional<std::uint32_t> Trackers::around(const Region& region) const {
  std::optional<std::uint32_t> found;
  for_each_within(region, [&](std::uint32_t tracker, std::uint64_t bytes) {
    if (bytes == region.bytes().value) found = tracker;
  });
  return found;
}

bool Trackers::open(std::uint32_t index) {
  State& state = states_[index];
  if (state.is_open) return true;
  Gpu& gpu = gpus_[state.gpu];
  const std::uint32_t first = gpu.trackers[gpu.first];
  const bool is_first = index == first;
  const std::uint32_t held_by_first = states_[first].is_open ? states_[first].entries : 0;
  const std::uint32_t others = is_first ? 0 : gpu.held - held_by_first;
  const std::uint32_t room = is_first ? entries_ : entries_ - std::min(entries_, gpu.reserve);
  if (state.entries > room || others > room - state.entries) return false;
  state.is_open = true;
  gpu.held += state.entries;
  peak_ = std::max(peak_, gpu.held);
  return true;
}

bool Trackers::update(const TrackerUpdate& update) {
  State& state = states_[update.tracker];
  state.missing -= std::min(update.bytes, state.missing);  // only unverified programs write more
  if (state.missing > 0) return false;
  state.missing = state.in_all;
  ++state.fired;
  Gpu& gpu = gpus_[state.gpu];
  if (state.is_open) gpu.held -= state.entries;
  state.is_open = false;
  while (states_[gpu.trackers[gpu.first]].fired > gpu.round) {
    if (++gpu.first < gpu.trackers.size()) continue;
    gpu.first = 0;
    ++gpu.round;
  }
  return true;
}

std::uint64_t Trackers::missing_bytes(std::uint32_t tracker) const {
  return states_[tracker].missing;
}

}  // namespace cortado::sim
