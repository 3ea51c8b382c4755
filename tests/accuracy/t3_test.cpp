// What T3 found over the sub-layers of five models, on one set of constants (machines/t3-ring-16.toml; -8 and -32 build
// on it). published/t3.toml says which figures the constants were chosen by and which were kept apart.
#include <gtest/gtest.h>

#include "reproduced.hpp"

namespace cortado {
namespace t3_test {

/// (2N-1)/(N-2), exactly by count; the paper's figure is rounded.
TEST(T3, ReadsOfReduceScatterAreThoseOfThePaper) {
  EXPECT_NEAR(figure_of(reproduced("t3"), "reduce-scatter reads tp 8"), 15.0 / 6, 1e-9);
  EXPECT_NEAR(figure_of(reproduced("t3"), "reduce-scatter reads tp 16"), 31.0 / 14, 1e-9);
}

}  // namespace t3_test
}  // namespace cortado
