// A set of slot numbers that threads add to and remove from without locks: one bit per slot.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

namespace cortado::device::soft {

class SlotSet {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit SlotSet(std::uint32_t slots) : words_((slots + 63) / 64) {}

  void add(std::uint32_t slot) { words_[slot / 64].fetch_or(bit(slot), std::memory_order_seq_cst); }
  /// True if this call removed it.
  bool remove(std::uint32_t slot) {
    return (words_[slot / 64].fetch_and(~bit(slot), std::memory_order_seq_cst) & bit(slot)) != 0;
  }
  bool contains(std::uint32_t slot) const {
    return (words_[slot / 64].load(std::memory_order_relaxed) & bit(slot)) != 0;
  }

  /// The first member at or after `from` and below `end`; kNone if there is none.
  std::uint32_t next(std::uint32_t from, std::uint32_t end) const {
    while (from < end) {
      const std::uint64_t word = words_[from / 64].load(std::memory_order_seq_cst) >> (from % 64);
      if (word != 0) {
        const std::uint32_t found = from + static_cast<std::uint32_t>(std::countr_zero(word));
        return found < end ? found : kNone;
      }
      from = (from / 64 + 1) * 64;
    }
    return kNone;
  }

  /// Like next(), but wraps around to the start, up to `from`.
  std::uint32_t next_around(std::uint32_t from, std::uint32_t end) const {
    const std::uint32_t found = next(from, end);
    return found != kNone ? found : next(0, from < end ? from : end);
  }

  bool empty(std::uint32_t end) const { return next(0, end) == kNone; }

 private:
  static std::uint64_t bit(std::uint32_t slot) { return std::uint64_t{1} << (slot % 64); }

  std::vector<std::atomic<std::uint64_t>> words_;
};

}  // namespace cortado::device::soft
