// A GEMM with an output map under way: makes its tiles and stores them where the map says.
//
// A tile is made of split_k partial GEMMs over parts of k, and each one is an update of the tile's bytes. For a
// block whose stores add, an update is the partial GEMM, rounded to the type of the elements; for one whose stores
// overwrite, update i is the GEMM over the parts up to i, so that the last store leaves the whole GEMM.
//
// run() stores tile by tile in the order of production. run_random() has several tiles under way and stores rows of
// their partial GEMMs in any order that the meaning of the GEMM allows.
//
// A tile that has to wait (TileHold) is under way from its turn on, as one that holds a compute unit; it is made when
// its words are there. run() has one tile under way, so that it waits as well.
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
  /// `op` has outputs, none of them empty, and a split_k of at least one, was checked, and outlives this.
  explicit MappedGemm(const GemmLaunchOp& op) : op_(&op) {}

  /// About so many operations of work, at least one partial GEMM of a tile unless that has to wait.
  std::optional<PacketFault> run(std::uint64_t flops, TrackerUnit& trackers);
  /// A few rows, of tiles that need not wait.
  std::optional<PacketFault> run_random(Random& random, TrackerUnit& trackers);

  /// Tiles before the first, in the order of production, that is not all stored.
  std::uint64_t tiles_done() const;
  bool finished() const { return under_way_.empty() && block_ == op_->outputs.size(); }
  /// Grows with every store.
  std::uint64_t stores() const { return stores_; }

 private:
  struct Tile {
    const OutputSpan* block = nullptr;
    std::uint64_t row = 0;  ///< of the block
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
    std::uint64_t number = 0;  ///< in the order of production
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
