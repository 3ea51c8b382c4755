#include "plan/ficco/composers.hpp"
#include "plan/ficco/request.hpp"

namespace cortado {

Result<FiccoPlan> plan_ficco(const DependentRequest& request, const FiccoSchedule& schedule, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const plan::CheckedDependence checked, plan::check_dependent(request, schedule, machine));
  const bool product_first = request.dependence == Dependence::product_first;
  const auto& compose = product_first ? plan::plan_product_first : plan::plan_collective_first;
  return compose(checked.request, checked.schedule, machine);
}

}  // namespace cortado
