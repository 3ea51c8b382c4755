// The program of checked maps.
#pragma once

#include "plan/t3/request.hpp"

namespace cortado::plan {

Result<T3Plan> make_t3_program(const CheckedT3& checked, const Machine& machine);

}  // namespace cortado::plan
