#include "base/small_vector.hpp"

#include <string>

#include <gtest/gtest.h>

namespace cortado {
namespace small_vector_test {

using Words = SmallVector<std::string, 2>;

TEST(SmallVector, KeepsItemsInOrderBeyondItsOwnRoom) {
  Words words{"a", "b"};
  EXPECT_EQ(words, (Words{"a", "b"}));
  for (const char* word : {"c", "d", "e", "f", "g"}) words.push_back(word);
  ASSERT_EQ(words.size(), 7U);
  EXPECT_EQ(words.front(), "a");
  EXPECT_EQ(words[6], "g");
  EXPECT_EQ(words, (Words{"a", "b", "c", "d", "e", "f", "g"}));
  EXPECT_FALSE(words == (Words{"a", "b"}));
}

TEST(SmallVector, IsEmptyAfterItWasMoved) {
  for (const std::size_t size : {1U, 5U}) {
    Words words;
    for (std::size_t i = 0; i < size; ++i) words.push_back(std::to_string(i));
    const Words copy = words;
    Words moved = std::move(words);
    EXPECT_EQ(moved, copy);
    EXPECT_TRUE(words.empty());  // NOLINT(bugprone-use-after-move): that is the point
    words = std::move(moved);
    EXPECT_EQ(words, copy);
    EXPECT_EQ(moved.begin(), moved.end());  // NOLINT(bugprone-use-after-move)
  }
}

TEST(SmallVector, ErasesAndGrowsAgain) {
  SmallVector<int, 2> numbers{1, 2, 3, 4};
  erase_if(numbers, [](int n) { return n % 2 == 0; });
  EXPECT_EQ(numbers, (SmallVector<int, 2>{1, 3}));
  numbers.clear();
  EXPECT_TRUE(numbers.empty());
  for (int n = 0; n < 4; ++n) numbers.push_back(n);
  EXPECT_EQ(numbers, (SmallVector<int, 2>{0, 1, 2, 3}));
}

}  // namespace small_vector_test
}  // namespace cortado
