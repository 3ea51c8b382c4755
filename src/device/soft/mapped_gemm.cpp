#include "device/soft/mapped_gemm.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "device/soft/cpu_kernels.hpp"
#include "device/soft/memory_word.hpp"

namespace cortado::device::soft {
namespace {

constexpr std::size_t kTilesUnderWay = 6;   // at most, in random order
constexpr std::uint64_t kRowsAtATime = 16;  // at most, in random order

/// Where part `part` of k begins.
std::uint64_t part_begin(const GemmLaunchOp& op, std::uint64_t part) {
  return op.k / op.split_k * part + std::min(op.k % op.split_k, part);
}

}  // namespace

void MappedGemm::start_tile() {
  const OutputSpan& block = op_->outputs[block_];
  Tile tile{&block, row_, column_, std::min(op_->tile_m, block.rows - row_),
            std::min(op_->tile_n, block.columns - column_)};
  TileStores stores{tile, started_++, {}};
  for (std::uint64_t part = op_->split_k; part > 0; --part) stores.left.push_back({part - 1, 0, tile.rows});
  under_way_.push_back(std::move(stores));
  column_ += tile.columns;
  if (column_ < block.columns) return;
  column_ = 0;
  row_ += tile.rows;
  if (row_ < block.rows) return;
  row_ = 0;
  ++block_;
}

bool MappedGemm::released(std::uint64_t number) const {
  const auto behind = std::ranges::upper_bound(op_->holds, number, {}, &TileHold::tiles);
  for (auto hold = behind; hold != op_->holds.begin() && std::prev(hold)->tiles == std::prev(behind)->tiles;) {
    --hold;
    if (load_word(address_of(hold->word)) < hold->value) return false;
  }
  return true;
}

std::optional<PacketFault> MappedGemm::run(std::uint64_t flops, TrackerUnit& trackers) {
  for (std::uint64_t done = 0; done < flops && !finished();) {
    if (under_way_.empty()) start_tile();
    if (!released(under_way_.front().number)) return std::nullopt;
    const Tile& tile = under_way_.front().tile;
    done += 2 * tile.rows * tile.columns * (op_->k / op_->split_k + 1);
    if (auto fault = store_next(0, trackers)) return fault;
  }
  return std::nullopt;
}

void MappedGemm::shuffle(TileStores& tile, Random& random) {
  std::vector<Store> rows;
  for (const Store& part : tile.left) {
    for (std::uint64_t row = 0; row < part.rows; ++row) rows.push_back({part.part, row, 1});
  }
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
  // For stores that overwrite, later parts of k must come after earlier ones.
  if (tile.tile.block->op == CopyOp::store) std::ranges::stable_sort(rows, std::greater<>(), &Store::part);
  tile.left = std::move(rows);
}

std::optional<PacketFault> MappedGemm::run_random(Random& random, TrackerUnit& trackers) {
  const auto more = [&] { return block_ < op_->outputs.size() && under_way_.size() < kTilesUnderWay; };
  while (more() && (under_way_.empty() || random.chance(2))) {
    start_tile();
    shuffle(under_way_.back(), random);
  }
  for (std::uint64_t left = 1 + random.below(kRowsAtATime); left > 0 && !under_way_.empty(); --left) {
    const std::size_t which = random.below(under_way_.size());
    if (!released(under_way_[which].number)) continue;
    if (auto fault = store_next(which, trackers)) return fault;
  }
  return std::nullopt;
}

std::uint64_t MappedGemm::tiles_done() const {
  std::uint64_t done = started_;
  for (const TileStores& tile : under_way_) done = std::min(done, tile.number);
  return done;
}

std::optional<PacketFault> MappedGemm::store_next(std::size_t which, TrackerUnit& trackers) {
  TileStores& tile = under_way_[which];
  const Store next = tile.left.back();
  if (auto fault = store(tile.tile, next, trackers)) return fault;
  ++stores_;
  tile.left.pop_back();
  if (tile.left.empty()) under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(which));
  return std::nullopt;
}

std::optional<PacketFault> MappedGemm::store(const Tile& tile, const Store& rows, TrackerUnit& trackers) {
  const OutputSpan& block = *tile.block;
  const bool add = block.op == CopyOp::add;
  const std::uint64_t k_begin = add ? part_begin(*op_, rows.part) : 0;
  const std::uint64_t k_end = part_begin(*op_, rows.part + 1);
  const std::vector<std::byte> values =
      partial_product(*op_, {block.row + tile.row + rows.row, rows.rows, block.column + tile.column, tile.columns},
                      k_begin, k_end - k_begin);
  const std::uint64_t element = size_of(op_->dtype).value;
  const std::uint64_t line = tile.columns * element;
  const bool touching = block.to.pitch == line;
  const std::uint64_t runs = touching ? 1 : rows.rows;
  const std::uint64_t bytes = touching ? line * rows.rows : line;
  for (std::uint64_t run = 0; run < runs; ++run) {
    std::byte* dst = block.to.data + (tile.row + rows.row + run) * block.to.pitch + tile.column * element;
    const Update update{dst, values.data() + run * line, bytes, block.op, op_->dtype};
    const auto untracked = add ? TrackerUnit::Untracked::fault : TrackerUnit::Untracked::allowed;
    if (auto fault = trackers.update(update, untracked)) return fault;
  }
  return std::nullopt;
}

}  // namespace cortado::device::soft
