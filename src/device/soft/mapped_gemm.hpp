// A GEMM with an output map in progress: computes its tiles and stores them where the map says.
//
// A tile is the result of split_k partial GEMMs over parts of k, each of which is an update of the tile's bytes. For a
// block whose stores add, an update is the partial GEMM, rounded to the element type; for one whose stores overwrite,
// update i is the GEMM over the parts up to i, so that the last store leaves the whole GEMM.
//
// run() stores tile by tile in production order. run_random() has several tiles in progress and stores rows of their
// partial GEMMs in any order that the meaning of the GEMM allows.
//
// A tile that has to wait (TileHold) is in progress from its turn on, like one that holds a compute unit; it is
// computed when its words have reached their values. run() has only one tile in progress, so it waits with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.hpp"
#include "device/driver/compute.hpp"
#include "device/soft/packet_fault.hpp"
#include "device/soft/tracker_unit.hpp"

namespace cortado::device::soft {

class MappedGemm {
 public:
  /// `op` must have outputs, none of them empty, and a split_k of at least one, must have been checked, and must
  /// outlive this.
  explicit MappedGemm(const GemmLaunchOp& op) : op_(&op) {}

  /// Does about this many operations of work, and at least one partial GEMM of a tile unless that has to wait.
  std::optional<PacketFault> run(std::uint64_t flops, TrackerUnit& trackers);
  /// Stores a few rows of tiles that need not wait.
  std::optional<PacketFault> run_random(Random& random, TrackerUnit& trackers);

  /// The number of leading tiles, in production order, that are completely stored.
  std::uint64_t tiles_done() const;
  bool finished() const { return under_way_.empty() && block_ == op_->outputs.size(); }
  /// Increases with every store.
  std::uint64_t stores() const { return stores_; }

 private:
  struct Tile {
    const OutputSpan* block = nullptr;
    std::uint64_t row = 0;  ///< within the block
    std::uint64_t column = 0;
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
  };
  /// Rows of one partial GEMM.
  struct Store {
    std::uint64_t part = 0;
    std::uint64_t row = 0;
    std::uint64_t rows = 0;
  };
  struct TileStores {
    Tile tile;
    std::uint64_t number = 0;  ///< in production order
    std::vector<Store> left;   ///< last one first
  };

  void start_tile();
  bool released(std::uint64_t number) const;
  static void shuffle(TileStores& tile, Random& random);
  std::optional<PacketFault> store_next(std::size_t which, TrackerUnit& trackers);
  std::optional<PacketFault> store(const Tile& tile, const Store& rows, TrackerUnit& trackers);

  const GemmLaunchOp* op_;
  std::size_t block_ = 0;      // of the next tile to start
  std::uint64_t row_ = 0;      // in that block
  std::uint64_t column_ = 0;   // in that block
  std::uint64_t started_ = 0;  // tiles
  std::uint64_t stores_ = 0;
  std::vector<TileStores> under_way_;
};

}  // namespace cortado::device::soft
