#include "plan/t3/program.hpp"

namespace cortado {

Result<T3Plan> plan_t3(const T3Request& request, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const plan::CheckedT3 checked, plan::check_t3(request, machine));
  return plan::make_t3_program(checked, machine);
}

Result<T3Plan> plan_t3(const T3Request& request, const std::vector<T3Map>& maps, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const plan::CheckedT3 checked, plan::check_t3(request, maps, machine));
  return plan::make_t3_program(checked, machine);
}

}  // namespace cortado
