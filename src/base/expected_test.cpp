#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cortado/result.hpp"

namespace cortado::expected_test {

Result<std::string> half_of(int number) {
  if (number % 2 != 0) return fail("test.odd", "an odd number");
  return std::to_string(number / 2);
}

Result<std::size_t> digits_of_half(int number) {
  CORTADO_ASSIGN_OR_RETURN(const std::string half, half_of(number));
  return half.size();
}

TEST(ExpectedTest, HasAValueOrAnError) {
  EXPECT_EQ(half_of(8).value(), "4");
  EXPECT_FALSE(half_of(7).has_value());
  EXPECT_EQ(half_of(7).error().code, "test.odd");
  EXPECT_EQ(digits_of_half(200).value(), 3U);
  EXPECT_EQ(digits_of_half(201).error().message, "an odd number");
  EXPECT_EQ(half_of(7).value_or("none"), "none");
}

TEST(ExpectedTest, AnErrorThatMovedAwayLeavesNoValueBehind) {
  Result<std::string> failed = half_of(7);
  const Result<std::string> moved = std::move(failed);
  EXPECT_EQ(moved.error().code, "test.odd");
  EXPECT_FALSE(failed.has_value());  // NOLINT(bugprone-use-after-move)
}

TEST(ExpectedTest, IsCopiedAndAssigned) {
  Result<std::string> one = half_of(8);
  const Result<std::string> failed = half_of(7);
  Result<std::string> copy = failed;
  EXPECT_EQ(copy.error(), failed.error());
  copy = one;
  EXPECT_EQ(copy.value(), "4");
  copy = failed;
  EXPECT_EQ(copy.error().code, "test.odd");
  one = copy;
  EXPECT_FALSE(one);
  std::vector<Result<std::string>> many(3, failed);
  many.insert(many.begin(), std::move(copy));
  EXPECT_EQ(many.front().error().code, "test.odd");
}

TEST(ExpectedTest, HoldsWhatCannotBeCopied) {
  const auto made = []() -> Result<std::unique_ptr<const int>> { return std::make_unique<int>(3); };
  Result<std::unique_ptr<const int>> held = made();
  EXPECT_EQ(**held, 3);
  EXPECT_EQ(*std::move(held).value(), 3);
}

TEST(ExpectedTest, AStatusIsOneWord) {
  EXPECT_EQ(sizeof(Status), sizeof(void*));
  const auto checked = [](bool well) -> Status {
    if (!well) return fail("test.unwell", "not well");
    return {};
  };
  EXPECT_TRUE(checked(true));
  EXPECT_EQ(checked(false).error().code, "test.unwell");
}

TEST(ExpectedDeathTest, AbortsWhereAValueIsAskedOfAnError) {
  EXPECT_DEATH(half_of(7).value(), "a value is asked for");
}

}  // namespace cortado::expected_test
