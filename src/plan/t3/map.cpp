#include "plan/t3.hpp"

namespace cortado {
namespace {

CopyOp op_of(std::uint64_t updates) {
  return updates > 1 ? CopyOp::add : CopyOp::store;
}

}  // namespace

T3Map& T3Map::remote_map(std::uint32_t chunk, RankId to, CopyOp op, std::optional<std::uint32_t> slot) {
  entries_.push_back({.chunk = chunk, .slot = slot.value_or(chunk), .op = op, .remote = to});
  return *this;
}

T3Map& T3Map::dma_map(std::uint32_t chunk, DmaOperation dma, std::uint64_t updates, std::optional<std::uint64_t> pieces,
                      std::optional<std::uint32_t> slot) {
  return dma_map(chunk, std::vector{dma}, updates, pieces, slot);
}

T3Map& T3Map::dma_map(std::uint32_t chunk, std::vector<DmaOperation> dma, std::uint64_t updates,
                      std::optional<std::uint64_t> pieces, std::optional<std::uint32_t> slot) {
  entries_.push_back({.chunk = chunk,
                      .slot = slot.value_or(chunk),
                      .op = op_of(updates),
                      .dma = std::move(dma),
                      .updates = updates,
                      .pieces = pieces});
  return *this;
}

T3Map& T3Map::keep(std::uint32_t chunk, std::uint64_t updates, std::optional<std::uint32_t> slot) {
  entries_.push_back({.chunk = chunk, .slot = slot.value_or(chunk), .op = op_of(updates), .updates = updates});
  return *this;
}

T3Map& T3Map::relay(std::uint32_t chunk, DmaOperation dma, std::uint64_t updates, std::optional<std::uint64_t> pieces,
                    std::optional<std::uint32_t> slot) {
  entries_.push_back({.chunk = chunk,
                      .slot = slot.value_or(chunk),
                      .produced = false,
                      .dma = {dma},
                      .updates = updates,
                      .pieces = pieces});
  return *this;
}

T3Map& T3Map::receive(std::uint32_t chunk, std::uint64_t updates, std::optional<std::uint32_t> slot) {
  entries_.push_back({.chunk = chunk, .slot = slot.value_or(chunk), .produced = false, .updates = updates});
  return *this;
}

T3Map& T3Map::in_turns() {
  in_turns_ = true;
  return *this;
}

}  // namespace cortado
