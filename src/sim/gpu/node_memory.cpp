#include "sim/gpu/node_memory.hpp"

#include <algorithm>

namespace cortado::sim {
namespace {

/// Splits the piece that contains `place`, so that one begins there.
template <class Pieces>
auto split_at(Pieces& pieces, std::uint64_t place) {
  auto after = pieces.lower_bound(place);
  if (after != pieces.end() && after->first == place) return after;
  auto& before = std::prev(after)->second;
  if (before.end <= place) return after;
  auto tail = before;
  before.end = place;
  return pieces.emplace_hint(after, place, tail);
}

}  // namespace

NodeMemory::NodeMemory(const MemoryTiming& timing, const Program& program, FluidSystem& fluid) {
  for (const NodeLevel& level : timing.node) {
    levels_.push_back(
        {fluid.add_resource(level.rate.bytes_per_second()), static_cast<double>(level.cache_bytes.value)});
  }
  if (levels_.empty()) return;
  for (const Buffer& buffer : program.buffers) {
    buffers_.push_back({{0, {.end = buffer.size.value, .touched = kNever, .written = kNever}}});
  }
}

void NodeMemory::touch(const Command& command, Bytes bytes, UseList& uses) {
  if (levels_.empty()) return;
  for (Level& level : levels_) level.crossing = 0;
  for (const auto& [region, kind] : accesses(command)) {
    for (std::uint64_t row = 0; row < region.rows; ++row) {
      const std::uint64_t begin = region.row_offset(row).value;
      touch(buffers_[region.buffer.value], begin, begin + region.width.value, kind);
    }
  }
  for (const Level& level : levels_) {
    if (level.crossing > 0) uses.add(level.resource, level.crossing / static_cast<double>(bytes.value));
  }
}

void NodeMemory::touch(Pieces& pieces, std::uint64_t begin, std::uint64_t end, AccessKind kind) {
  const bool reads = kind != AccessKind::write;
  const bool writes = kind != AccessKind::read;
  const auto first = split_at(pieces, begin);
  const auto last = split_at(pieces, end);
  for (auto piece = first; piece != last; ++piece) {
    Piece& what = piece->second;
    const auto bytes = static_cast<double>(what.end - piece->first);
    for (Level& level : levels_) {
      const bool is_last = &level == &levels_.back();
      if (reads || !is_last) level.crossing += bytes * miss_share(level, what.touched);
      if (writes && is_last) level.crossing += bytes * miss_share(level, what.written);
    }
    what.touched = clock_;
    if (writes) what.written = clock_;
  }
  if (writes) {  // all of it is the same now
    pieces.erase(first, last);
    pieces.emplace(begin, Piece{.end = end, .touched = clock_, .written = clock_});
  }
  clock_ += (end - begin) * (reads && writes ? 2 : 1);
}

double NodeMemory::miss_share(const Level& level, std::uint64_t before) const {
  if (before == kNever) return 1;
  const auto distance = static_cast<double>(clock_ - before);
  return 1 - std::min(1.0, level.cache_bytes / distance);
}

}  // namespace cortado::sim
