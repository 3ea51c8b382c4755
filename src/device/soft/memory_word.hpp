// Signal words in memory as engines and kernels access them.
//
// Every access is an atomic access of the whole aligned 64-bit word, even if a packet names only one half of it: host,
// kernels and engines then always agree on the size of the atomic object. Loads acquire and stores release, so whoever
// sees a signal sees the bytes that were written before it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "cortado/packets.hpp"

namespace cortado::device::soft {

/// The address as engines and packets use it.
inline std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

/// The word that contains the address.
inline std::atomic_ref<std::uint64_t> word_at(std::uint64_t address) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(address & ~std::uint64_t{7}));
}

/// Bit position of the 32-bit half that `address` names in its little-endian word.
inline unsigned half_shift(std::uint64_t address) {
  return (address & 4) != 0 ? 32 : 0;
}

inline std::uint64_t load_word(std::uint64_t address) {
  return word_at(address).load(std::memory_order_acquire);
}
inline void store_word(std::uint64_t address, std::uint64_t value) {
  word_at(address).store(value, std::memory_order_release);
}
inline void add_to_word(std::uint64_t address, std::uint64_t value) {
  word_at(address).fetch_add(value, std::memory_order_acq_rel);
}

/// `address` is a multiple of 4.
inline std::uint32_t load_half(std::uint64_t address) {
  return static_cast<std::uint32_t>(load_word(address) >> half_shift(address));
}
void store_half(std::uint64_t address, std::uint32_t value);

bool poll_holds(sdma::PollFunction function, std::uint32_t value, std::uint32_t reference);

/// The part of an ATOMIC's operation number that matters here. "Returning" forms have the same effect on memory.
struct AtomicForm {
  std::uint8_t function = 0;  ///< as the 32-bit returning form: 0x07 swap, 0x08 cmpswap, 0x0f add, ...
  bool wide = false;          ///< 64-bit operand
};

inline constexpr std::uint8_t kAtomicCompareSwap = 0x08;

/// None for numbers outside the table of operations.
std::optional<AtomicForm> atomic_form(std::uint8_t operation);

/// The new contents of memory, for operands of 64 or 32 bits.
std::uint64_t atomic_result(AtomicForm form, std::uint64_t old_value, std::uint64_t data, std::uint64_t compare);

/// Executes the operation; false if it was a compare-and-swap that did not match.
bool apply_atomic(AtomicForm form, std::uint64_t address, std::uint64_t data, std::uint64_t compare);

}  // namespace cortado::device::soft
