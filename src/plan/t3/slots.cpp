#include "plan/t3/slots.hpp"

#include <algorithm>
#include <numeric>

namespace cortado::plan {

std::vector<FinalSlot> final_slots(const T3Request& request, std::uint32_t rank) {
  std::vector<std::uint32_t> all(request.ranks);
  std::iota(all.begin(), all.end(), 0U);
  if (request.collective == "reduce-scatter") return {{rank, rank, all}};
  std::vector<FinalSlot> slots;
  for (const std::uint32_t from : all) slots.push_back({from, request.collective == "all-gather" ? 0 : rank, {from}});
  return slots;
}

Slots::Slots(const CheckedT3& checked, const Chunks& chunks, Schedule& schedule)
    : chunks_(chunks), places_(checked.request.ranks) {
  for (std::uint32_t rank = 0; rank < checked.request.ranks; ++rank) {
    for (const FinalSlot& slot : final_slots(checked.request, rank)) reserve(rank, slot.slot, slot.chunk);
    for (const T3Entry& entry : checked.maps[rank].entries()) {
      reserve(entry.remote ? entry.remote->value : rank, entry.slot, entry.chunk);
      for (const DmaOperation& dma : entry.dma) reserve(dma.to.value, dma.slot.value_or(entry.slot), entry.chunk);
    }
  }
  for (std::uint32_t rank = 0; rank < checked.request.ranks; ++rank) {
    std::vector<std::uint32_t> final;
    for (const FinalSlot& slot : final_slots(checked.request, rank)) final.push_back(slot.slot);
    std::vector<std::uint32_t> others;
    for (const auto& [slot, place] : places_[rank]) {
      if (!std::binary_search(final.begin(), final.end(), slot)) others.push_back(slot);
    }
    stack(rank, "chunks", BufferRole::scratch, others, schedule);
    stack(rank, "out", BufferRole::output, final, schedule);
  }
}

void Slots::reserve(std::uint32_t rank, std::uint32_t slot, std::uint32_t chunk) {
  Place& place = places_[rank][slot];
  place.size = std::max(place.size, chunks_.bytes(chunk));
}

void Slots::stack(std::uint32_t rank, std::string_view kind, BufferRole role, const std::vector<std::uint32_t>& slots,
                  Schedule& schedule) {
  Bytes size{};
  for (const std::uint32_t slot : slots) {
    places_[rank][slot].matrix.offset = size;
    size += places_[rank][slot].size;
  }
  const BufferId buffer = schedule.buffer(kind, RankId{rank}, size, role).buffer;
  for (const std::uint32_t slot : slots) places_[rank][slot].matrix.buffer = buffer;
}

Matrix Slots::matrix(std::uint32_t rank, std::uint32_t slot, std::uint32_t chunk) const {
  Matrix matrix = places_[rank].at(slot).matrix;
  matrix.pitch = chunks_.row_bytes(chunk);
  return matrix;
}

}  // namespace cortado::plan
