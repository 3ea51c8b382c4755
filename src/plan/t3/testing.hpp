// Helpers of the tests of T3.
#pragma once

#include "plan/collective/testing.hpp"
#include "plan/t3.hpp"

namespace cortado::plan {

inline T3Plan t3_for_test(const T3Request& request, const Machine& machine) {
  Result<T3Plan> plan = plan_t3(request, machine);
  EXPECT_TRUE(plan) << to_string(plan.error());
  return plan ? *std::move(plan) : T3Plan{};
}

}  // namespace cortado::plan
