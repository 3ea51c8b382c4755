// The stores of a GEMM as separate flows: after its workgroups, bypassing the caches, each output block to its
// destination in the memory of this GPU or of another.
//
// What a batch of workgroups has computed is cut, in production order, into runs: tiles of one block that have the same
// trackers, up to the next tile signal. The runs to one GPU drain one after another (a lane); lanes drain side by side.
// Tiles count as written in production order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cortado/program.hpp"

#include "sim/gpu/trackers.hpp"

namespace cortado::sim {

class ProductStores {
 public:
  /// The program must outlive this.
  ProductStores(const Gemm& gemm, const Program& program, const Trackers& trackers);

  /// Bytes written, and read before, when a workgroup stores one byte of C: 1 and 0, or more if it accumulates or sums
  /// parts of k itself.
  double writes() const { return writes_; }
  double reads() const { return reads_; }

  struct Run {
    std::uint32_t block = 0;
    std::uint64_t first = 0;  ///< workgroup
    std::uint32_t workgroups = 0;
    std::uint64_t bytes = 0;  ///< of C
    bool drained = false;
    std::uint32_t first_update = 0;  ///< index in updates_of
    std::uint32_t updates = 0;
  };

  /// Trackers that a workgroup updates.
  std::span<const TrackerUpdate> updates_by(std::uint64_t workgroup) const;

  /// This many workgroups, in production order, have finished computing.
  void add(std::uint64_t first, std::uint64_t count);

  /// Memory time taken by the stores of the first `count` workgroups, in equivalent bytes stored.
  double memory_cost(std::uint64_t count, double update_cost) const;

  RankId to(std::uint32_t lane) const { return lanes_[lane].to; }
  std::uint32_t lanes() const { return static_cast<std::uint32_t>(lanes_.size()); }
  /// The next run of a lane, if none of that lane is draining.
  std::optional<std::uint32_t> start(std::uint32_t lane);
  /// The run of a lane that is draining.
  std::optional<std::uint32_t> under_way(std::uint32_t lane) const;
  /// That run has drained; returns how many more workgroups are now done in production order.
  std::uint64_t drain(std::uint32_t lane);

  /// The smallest workgroup, of those that have finished computing, whose run has not drained; the largest possible
  /// number if all have.
  std::uint64_t first_undrained() const;

  const Run& run(std::uint32_t index) const { return runs_[index]; }
  const OutputBlock& block(const Run& run) const { return blocks_[run.block]; }
  std::span<const TrackerUpdate> updates_of(const Run& run) const;

 private:
  struct Tile {
    std::uint32_t block;
    std::uint32_t first_update;
    std::uint32_t updates;
    std::uint64_t bytes;
  };
  struct Lane {
    RankId to;
    std::vector<std::uint32_t> runs;
    std::size_t next = 0;
    bool busy = false;
  };

  bool same_trackers(const Tile& one, const Tile& other) const;
  std::uint32_t lane_of(std::uint32_t block);
  void append(std::uint64_t workgroup, bool begins);

  const Program* program_;
  std::uint64_t split_k_;
  double writes_ = 1;
  double reads_ = 0;
  std::vector<OutputBlock> blocks_;
  std::vector<std::uint64_t> cuts_;          // tiles after which a signal is raised, ascending
  std::vector<Tile> tiles_;                  // in production order
  std::vector<TrackerUpdate> tile_updates_;  // by one workgroup each
  std::vector<Run> runs_;                    // in the order in which they were added
  std::vector<TrackerUpdate> run_updates_;
  std::vector<Lane> lanes_;
  std::size_t first_undrained_ = 0;
};

}  // namespace cortado::sim
