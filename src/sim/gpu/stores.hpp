// The stores of a GEMM that are flows of their own: behind its workgroups, past the caches, each output block to its
// place in the memory of this GPU or of another.
//
// What a batch of workgroups has made is cut, in the order of production, into runs: tiles of one block that have the
// same trackers, up to the next tile signal. The runs to one GPU drain one after another (a lane); lanes drain side by
// side. Tiles count as written in the order of production.
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
  /// The program outlives this.
  ProductStores(const Gemm& gemm, const Program& program, const Trackers& trackers);

  /// Bytes that a workgroup's stores of one byte of C write, and read first: 1 and 0, or more where it accumulates or
  /// sums parts of k by itself.
  double writes() const { return writes_; }
  double reads() const { return reads_; }

  struct Run {
    std::uint32_t block = 0;
    std::uint64_t first = 0;  ///< workgroup
    std::uint32_t workgroups = 0;
    std::uint64_t bytes = 0;  ///< of C
    bool drained = false;
    std::uint32_t first_update = 0;  ///< among updates_of
    std::uint32_t updates = 0;
  };

  /// Trackers that a workgroup updates.
  std::span<const TrackerUpdate> updates_by(std::uint64_t workgroup) const;

  /// So many workgroups, in the order of production, are through.
  void add(std::uint64_t first, std::uint64_t count);

  /// Time of the memory that the stores of the first `count` workgroups take, in bytes that are stored.
  double memory_cost(std::uint64_t count, double update_cost) const;

  RankId to(std::uint32_t lane) const { return lanes_[lane].to; }
  std::uint32_t lanes() const { return static_cast<std::uint32_t>(lanes_.size()); }
  /// The next run of a lane, if none of it is on its way.
  std::optional<std::uint32_t> start(std::uint32_t lane);
  /// The run of a lane that is on its way.
  std::optional<std::uint32_t> under_way(std::uint32_t lane) const;
  /// It has drained; returns how many workgroups are done that were not before, in the order of production.
  std::uint64_t drain(std::uint32_t lane);

  /// The least workgroup, of those that are through, whose run has not drained; the largest number there is if all
  /// have.
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
  std::vector<std::uint64_t> cuts_;          // tiles behind which a signal is raised, ascending
  std::vector<Tile> tiles_;                  // in the order of production
  std::vector<TrackerUpdate> tile_updates_;  // by one workgroup each
  std::vector<Run> runs_;                    // as they were added
  std::vector<TrackerUpdate> run_updates_;
  std::vector<Lane> lanes_;
  std::size_t first_undrained_ = 0;
};

}  // namespace cortado::sim
