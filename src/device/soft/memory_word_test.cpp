#include "device/soft/memory_word.hpp"

#include <array>

#include <gtest/gtest.h>

namespace cortado::device::soft {
namespace memory_word_test {

std::uint64_t address_of(const std::uint64_t& word) {
  return reinterpret_cast<std::uint64_t>(&word);
}

TEST(MemoryWord, HalvesAreThoseOfALittleEndianWord) {
  alignas(8) std::uint64_t word = 0x11111111'22222222;
  EXPECT_EQ(load_half(address_of(word)), 0x22222222u);
  EXPECT_EQ(load_half(address_of(word) + 4), 0x11111111u);
  store_half(address_of(word) + 4, 7);
  EXPECT_EQ(word, 0x00000007'22222222u);
  store_half(address_of(word), 9);
  EXPECT_EQ(word, 0x00000007'00000009u);
}

TEST(MemoryWord, PollFunctionsCompareUnsigned) {
  using sdma::PollFunction;
  struct Case {
    PollFunction function;
    bool less, equal, greater;  // value against the reference
  };
  for (const Case& c :
       std::array{Case{PollFunction::always, true, true, true}, Case{PollFunction::lt, true, false, false},
                  Case{PollFunction::le, true, true, false}, Case{PollFunction::eq, false, true, false},
                  Case{PollFunction::ne, true, false, true}, Case{PollFunction::ge, false, true, true},
                  Case{PollFunction::gt, false, false, true}}) {
    EXPECT_EQ(poll_holds(c.function, 6, 7), c.less) << static_cast<int>(c.function);
    EXPECT_EQ(poll_holds(c.function, 7, 7), c.equal) << static_cast<int>(c.function);
    EXPECT_EQ(poll_holds(c.function, 0xffffffff, 7), c.greater) << static_cast<int>(c.function);
  }
}

struct AtomicCase {
  std::uint8_t function;
  std::uint64_t old_value, data, compare, wide_result;
};

// Results by hand, with the definitions of the texture-cache operations; all-ones is -1 for the signed ones.
constexpr std::uint64_t kMinusOne = ~std::uint64_t{0};
constexpr std::array kAtomicCases{
    AtomicCase{0x07, 5, 9, 0, 9},                  // swap
    AtomicCase{0x08, 5, 9, 5, 9},                  // cmpswap that matches
    AtomicCase{0x0f, 5, 9, 0, 14},                 // add
    AtomicCase{0x0f, 5, kMinusOne, 0, 4},          // add of -1, as runtimes decrement signals
    AtomicCase{0x10, 5, 9, 0, kMinusOne - 3},      // sub: -4
    AtomicCase{0x11, 5, kMinusOne, 0, kMinusOne},  // smin
    AtomicCase{0x12, 5, kMinusOne, 0, 5},          // umin
    AtomicCase{0x13, 5, kMinusOne, 0, 5},          // smax
    AtomicCase{0x14, 5, kMinusOne, 0, kMinusOne},  // umax
    AtomicCase{0x15, 6, 3, 0, 2},                  // and
    AtomicCase{0x16, 6, 3, 0, 7},                  // or
    AtomicCase{0x17, 6, 3, 0, 5},                  // xor
    AtomicCase{0x18, 6, 7, 0, 7},                  // inc below the limit
    AtomicCase{0x18, 7, 7, 0, 0},                  // inc at the limit wraps
    AtomicCase{0x19, 6, 7, 0, 5},                  // dec
    AtomicCase{0x19, 0, 7, 0, 7},                  // dec at zero wraps
};

TEST(MemoryWord, AtomicsDoWhatTheirNumberSaysInAllFourForms) {
  for (const AtomicCase& c : kAtomicCases) {
    for (const int form_bits : {0x00, 0x20, 0x40, 0x60}) {
      const auto form = atomic_form(static_cast<std::uint8_t>(c.function | form_bits));
      ASSERT_TRUE(form.has_value());
      alignas(8) std::uint64_t word = c.old_value;
      EXPECT_TRUE(apply_atomic(*form, address_of(word), c.data, c.compare));
      const std::uint64_t expected = form->wide ? c.wide_result : static_cast<std::uint32_t>(c.wide_result);
      EXPECT_EQ(word, expected) << "function " << static_cast<int>(c.function) << " form " << form_bits;
    }
  }
}

TEST(MemoryWord, NarrowAtomicLeavesTheOtherHalfAlone) {
  alignas(8) std::uint64_t word = 0xffffffff'ffffffff;
  apply_atomic(*atomic_form(0x0f), address_of(word) + 4, 1, 0);
  EXPECT_EQ(word, 0x00000000'ffffffffu);  // the upper half wrapped, without a carry out or in
}

TEST(MemoryWord, CompareSwapThatDoesNotMatchSaysSo) {
  alignas(8) std::uint64_t word = 5;
  EXPECT_FALSE(apply_atomic(*atomic_form(0x28), address_of(word), 9, 4));
  EXPECT_EQ(word, 5u);
}

TEST(MemoryWord, NumbersOutsideTheTableHaveNoForm) {
  for (const int operation : {0x00, 0x06, 0x09, 0x0e, 0x1a, 0x1f, 0x20, 0x3a, 0x60, 0x7f}) {
    EXPECT_FALSE(atomic_form(static_cast<std::uint8_t>(operation)).has_value()) << operation;
  }
}

}  // namespace memory_word_test
}  // namespace cortado::device::soft
