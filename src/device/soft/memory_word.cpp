#include "device/soft/memory_word.hpp"

#include <algorithm>

namespace cortado::device::soft {
namespace {

std::uint64_t with_half(std::uint64_t word, unsigned shift, std::uint32_t half) {
  const std::uint64_t mask = std::uint64_t{0xffffffff} << shift;
  return (word & ~mask) | (std::uint64_t{half} << shift);
}

template <class Unsigned, class Signed>
Unsigned result(std::uint8_t function, Unsigned old_value, Unsigned data, Unsigned compare) {
  const auto signed_old = static_cast<Signed>(old_value);
  const auto signed_data = static_cast<Signed>(data);
  switch (function) {
    case 0x07:
      return data;
    case kAtomicCompareSwap:
      return old_value == compare ? data : old_value;
    case 0x0f:
      return old_value + data;
    case 0x10:
      return old_value - data;
    case 0x11:
      return static_cast<Unsigned>(std::min(signed_old, signed_data));
    case 0x12:
      return std::min(old_value, data);
    case 0x13:
      return static_cast<Unsigned>(std::max(signed_old, signed_data));
    case 0x14:
      return std::max(old_value, data);
    case 0x15:
      return old_value & data;
    case 0x16:
      return old_value | data;
    case 0x17:
      return old_value ^ data;
    case 0x18:  // inc: counts 0 .. data and wraps
      return old_value >= data ? 0 : old_value + 1;
    case 0x19:  // dec: counts data .. 0 and wraps
      return old_value == 0 || old_value > data ? data : old_value - 1;
    default:
      return old_value;
  }
}

}  // namespace

void store_half(std::uint64_t address, std::uint32_t value) {
  const auto word = word_at(address);
  const unsigned shift = half_shift(address);
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(seen, with_half(seen, shift, value), std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
  }
}

bool poll_holds(sdma::PollFunction function, std::uint32_t value, std::uint32_t reference) {
  switch (function) {
    case sdma::PollFunction::always:
      return true;
    case sdma::PollFunction::lt:
      return value < reference;
    case sdma::PollFunction::le:
      return value <= reference;
    case sdma::PollFunction::eq:
      return value == reference;
    case sdma::PollFunction::ne:
      return value != reference;
    case sdma::PollFunction::ge:
      return value >= reference;
    case sdma::PollFunction::gt:
      return value > reference;
  }
  return false;
}

std::optional<AtomicForm> atomic_form(std::uint8_t operation) {
  constexpr std::uint8_t kFunctionBits = 0x1f;
  constexpr std::uint8_t kWideBit = 0x20;
  const auto function = static_cast<std::uint8_t>(operation & kFunctionBits);
  const bool known = function == 0x07 || function == kAtomicCompareSwap || (function >= 0x0f && function <= 0x19);
  if (!known || operation > 0x7f) return std::nullopt;
  return AtomicForm{function, (operation & kWideBit) != 0};
}

std::uint64_t atomic_result(AtomicForm form, std::uint64_t old_value, std::uint64_t data, std::uint64_t compare) {
  if (form.wide) return result<std::uint64_t, std::int64_t>(form.function, old_value, data, compare);
  return result<std::uint32_t, std::int32_t>(form.function, static_cast<std::uint32_t>(old_value),
                                             static_cast<std::uint32_t>(data), static_cast<std::uint32_t>(compare));
}

bool apply_atomic(AtomicForm form, std::uint64_t address, std::uint64_t data, std::uint64_t compare) {
  const auto word = word_at(address);
  const unsigned shift = form.wide ? 0 : half_shift(address);
  const std::uint64_t mask = form.wide ? ~std::uint64_t{0} : 0xffffffff;
  std::uint64_t seen = word.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t operand = (seen >> shift) & mask;
    if (form.function == kAtomicCompareSwap && operand != (compare & mask)) return false;
    const std::uint64_t next = atomic_result(form, operand, data, compare);
    const std::uint64_t wanted = form.wide ? next : with_half(seen, shift, static_cast<std::uint32_t>(next));
    if (word.compare_exchange_weak(seen, wanted, std::memory_order_acq_rel, std::memory_order_acquire)) return true;
  }
}

}  // namespace cortado::device::soft
