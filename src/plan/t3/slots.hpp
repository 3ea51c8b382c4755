// Where chunks are stored in the memory of every rank.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "plan/collective/schedule.hpp"
#include "plan/t3/chunks.hpp"
#include "plan/t3/request.hpp"

namespace cortado::plan {

/// What the contract says about a slot.
struct FinalSlot {
  std::uint32_t slot = 0;
  std::uint32_t chunk = 0;
  std::vector<std::uint32_t> from{};  ///< ranks whose GEMMs of the chunk are added up in it
};

/// The final slots of a rank, ascending by `slot`.
std::vector<FinalSlot> final_slots(const T3Request& request, std::uint32_t rank);

class Slots {
 public:
  /// Adds the buffers "out<r>", which holds what is final, slot after slot, and "chunks<r>" for all others.
  Slots(const CheckedT3& checked, const Chunks& chunks, Schedule& schedule);

  /// The matrix of a chunk that is in the slot, without gaps.
  Matrix matrix(std::uint32_t rank, std::uint32_t slot, std::uint32_t chunk) const;

 private:
  struct Place {
    Bytes size{};  // of the largest chunk that arrives here
    Matrix matrix{};
  };

  void reserve(std::uint32_t rank, std::uint32_t slot, std::uint32_t chunk);
  void stack(std::uint32_t rank, std::string_view kind, BufferRole role, const std::vector<std::uint32_t>& slots,
             Schedule& schedule);

  const Chunks& chunks_;
  std::vector<std::map<std::uint32_t, Place>> places_;  // by rank and slot
};

}  // namespace cortado::plan
