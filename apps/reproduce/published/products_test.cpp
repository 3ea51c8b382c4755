#include "reproduce/published/products.hpp"

#include <gtest/gtest.h>

namespace cortado::published {
namespace products_test {

const std::string kHead =
    "name = 'x'\ntitle = 'x'\nmachine = 'm'\ndtype = 'bf16'\nsource = 's'\nconfidence = 'B'\nused_for = 'validation'\n"
    "goal_mean = 5\n";

TEST(Products, ListsHavePointsAndGoals) {
  const auto lists = load_products();
  ASSERT_TRUE(lists);
  ASSERT_EQ(lists->size(), 15U);
  for (const ProductList& list : *lists) {
    EXPECT_GE(list.points.size(), 4U) << list.name;
    EXPECT_GT(list.goal_mean, 0) << list.name;
  }
}

TEST(Products, PointsAreExtentsTimeAndUnits) {
  const auto list = parse_products(kHead + "points = [[1, 2, 3, 4.5], [4, 5, 6, 7, 128]]\n", "f");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->points[0].k, 3U);
  EXPECT_EQ(list->points[0].us, 4.5);
  EXPECT_EQ(list->points[0].units, 0U);
  EXPECT_EQ(list->points[1].units, 128U);
}

TEST(Products, WrongPointsAreRefused) {
  for (const char* points : {"points = [[1, 2, 3]]\n", "points = [[1, 2, 3, 0]]\n", "points = [3]\n", ""}) {
    EXPECT_FALSE(parse_products(kHead + points, "f")) << points;
  }
}

}  // namespace products_test
}  // namespace cortado::published
