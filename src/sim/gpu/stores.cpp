#include "sim/gpu/stores.hpp"

#include <algorithm>
#include <limits>

#include "ir/tiles.hpp"

namespace cortado::sim {

ProductStores::ProductStores(const Gemm& gemm, const Program& program, const Trackers& trackers)
    : program_(&program), split_k_(gemm.split_k), blocks_(output_blocks(gemm)) {
  const std::uint64_t element = size_of(gemm.dtype).value;
  if (gemm.outputs.empty()) {
    // Each part of a split GEMM writes its sums to memory in f32 and reads those of the others from there.
    const double size = static_cast<double>(element);
    const double parts = static_cast<double>(split_k_);
    writes_ = split_k_ == 1 ? 1 : sizeof(float) / size + 1 / parts;
    reads_ = (gemm.accumulate ? 1 / parts : 0) + (split_k_ == 1 ? 0 : sizeof(float) / size);
  }
  for (const TileSignal& raise : gemm.raises) cuts_.push_back(raise.tiles);
  tiles_.reserve(tile_count(gemm));
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    const OutputBlock& block = blocks_[b];
    const bool tracked = !gemm.outputs.empty() && trackers.watches(block.to.buffer);
    for (std::uint64_t row = 0; row < block.rows; row += gemm.tile_m) {
      const std::uint64_t rows = std::min(gemm.tile_m, block.rows - row);
      const Region whole{block.to.buffer, block.to.row_offset(row), block.to.width, rows, block.to.pitch};
      const auto around = tracked ? trackers.around(whole) : std::nullopt;
      for (std::uint64_t column = 0; column < block.columns; column += gemm.tile_n) {
        const std::uint64_t columns = std::min(gemm.tile_n, block.columns - column);
        Tile& tile = tiles_.emplace_back();
        tile.block = b;
        tile.first_update = static_cast<std::uint32_t>(tile_updates_.size());
        tile.bytes = rows * columns * element;
        if (around) {
          tile_updates_.push_back({*around, tile.bytes});
        } else if (tracked) {
          const Region region{block.to.buffer, whole.offset + Bytes{column * element}, Bytes{columns * element}, rows,
                              block.to.pitch};
          trackers.for_each_within(region, [&](std::uint32_t tracker, std::uint64_t bytes) {
            tile_updates_.push_back({tracker, bytes});
          });
        }
        tile.updates = static_cast<std::uint32_t>(tile_updates_.size()) - tile.first_update;
      }
    }
  }
}

std::span<const TrackerUpdate> ProductStores::updates_by(std::uint64_t workgroup) const {
  const Tile& tile = tiles_[workgroup / split_k_];
  return std::span(tile_updates_).subspan(tile.first_update, tile.updates);
}

std::span<const TrackerUpdate> ProductStores::updates_of(const Run& run) const {
  return std::span(run_updates_).subspan(run.first_update, run.updates);
}

double ProductStores::memory_cost(std::uint64_t count, double update_cost) const {
  double cost = 0;
  for (std::uint64_t workgroup = 0; workgroup < count; ++workgroup) {
    const Tile& tile = tiles_[workgroup / split_k_];
    const double write = blocks_[tile.block].op == CopyOp::add ? update_cost : 1;
    cost += static_cast<double>(tile.bytes) * (reads_ + writes_ * write);
  }
  return cost;
}

bool ProductStores::same_trackers(const Tile& one, const Tile& other) const {
  if (one.block != other.block || one.updates != other.updates) return false;
  for (std::uint32_t i = 0; i < one.updates; ++i) {
    if (tile_updates_[one.first_update + i].tracker != tile_updates_[other.first_update + i].tracker) return false;
  }
  return true;
}

void ProductStores::add(std::uint64_t first, std::uint64_t count) {
  const auto is_cut = [&](std::uint64_t tiles) { return std::ranges::binary_search(cuts_, tiles); };
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t workgroup = first + i;
    const std::uint64_t tile = workgroup / split_k_;
    const bool begins_tile = workgroup % split_k_ == 0;
    const bool begins = i == 0 || (begins_tile && (is_cut(tile) || !same_trackers(tiles_[tile - 1], tiles_[tile])));
    append(workgroup, begins);
  }
}

void ProductStores::append(std::uint64_t workgroup, bool begins) {
  const Tile& tile = tiles_[workgroup / split_k_];
  if (begins) {
    lanes_[lane_of(tile.block)].runs.push_back(static_cast<std::uint32_t>(runs_.size()));
    runs_.push_back({.block = tile.block,
                     .first = workgroup,
                     .first_update = static_cast<std::uint32_t>(run_updates_.size()),
                     .updates = tile.updates});
    for (const TrackerUpdate& update : updates_by(workgroup)) run_updates_.push_back({update.tracker, 0});
  }
  Run& run = runs_.back();
  ++run.workgroups;
  run.bytes += tile.bytes;
  for (std::uint32_t i = 0; i < tile.updates; ++i) {
    run_updates_[run.first_update + i].bytes += tile_updates_[tile.first_update + i].bytes;
  }
}

std::uint32_t ProductStores::lane_of(std::uint32_t block) {
  const RankId to = program_->buffer(blocks_[block].to.buffer).rank;
  const auto known = std::ranges::find(lanes_, to, &Lane::to);
  if (known != lanes_.end()) return static_cast<std::uint32_t>(known - lanes_.begin());
  lanes_.emplace_back().to = to;
  return lanes() - 1;
}

std::optional<std::uint32_t> ProductStores::start(std::uint32_t index) {
  Lane& lane = lanes_[index];
  if (lane.busy || lane.next == lane.runs.size()) return std::nullopt;
  lane.busy = true;
  return lane.runs[lane.next];
}

std::optional<std::uint32_t> ProductStores::under_way(std::uint32_t index) const {
  const Lane& lane = lanes_[index];
  if (!lane.busy) return std::nullopt;
  return lane.runs[lane.next];
}

std::uint64_t ProductStores::drain(std::uint32_t index) {
  Lane& lane = lanes_[index];
  runs_[lane.runs[lane.next++]].drained = true;
  lane.busy = false;
  std::uint64_t done = 0;
  for (; first_undrained_ < runs_.size() && runs_[first_undrained_].drained; ++first_undrained_) {
    done += runs_[first_undrained_].workgroups;
  }
  return done;
}

std::uint64_t ProductStores::first_undrained() const {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = first_undrained_; i < runs_.size(); ++i) {
    if (!runs_[i].drained) first = std::min(first, runs_[i].first);
  }
  return first;
}

}  // namespace cortado::sim
