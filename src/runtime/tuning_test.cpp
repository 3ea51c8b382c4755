#include "runtime/tuning.hpp"

#include <gtest/gtest.h>

namespace cortado::runtime {
namespace tuning_test {

TEST(Tuning, TheFirstRuleThatFitsDecides) {
  const auto tuning = Tuning::parse("all-gather<=64KiB:slots, all-gather : direct,<=1MiB:staged");
  ASSERT_TRUE(tuning) << to_string(tuning.error());
  EXPECT_EQ(tuning->variant_for(OperationKind::all_gather, 64 << 10), Variant::slots);
  EXPECT_EQ(tuning->variant_for(OperationKind::all_gather, (64 << 10) + 1), Variant::direct);
  EXPECT_EQ(tuning->variant_for(OperationKind::all_reduce, 1 << 20), Variant::staged);
  EXPECT_EQ(tuning->variant_for(OperationKind::all_reduce, 2 << 20), Variant::by_size);
}

TEST(Tuning, OneVariantIsForEverythingAndNoneIsBySize) {
  EXPECT_EQ(Tuning::parse("direct")->variant_for(OperationKind::gather, 1), Variant::direct);
  EXPECT_EQ(Tuning::parse("")->variant_for(OperationKind::gather, 1), Variant::by_size);
}

TEST(Tuning, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(Tuning::parse("fast").error().code, "runtime.options");
  const auto unknown = Tuning::parse("all-gahter:slots");
  EXPECT_EQ(unknown.error().code, "runtime.options");
  EXPECT_NE(unknown.error().hint.find("all-gather"), std::string::npos);
  EXPECT_FALSE(Tuning::parse("all-gather<=lots:slots"));
}

}  // namespace tuning_test
}  // namespace cortado::runtime
