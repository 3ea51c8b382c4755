// The one list of overlap policies.
#include <fmt/format.h>

#include "cortado/base/text.hpp"

#include "plan/c3/policy.hpp"

namespace cortado {
namespace plan {

// Each is defined in the file of its name.
Policy serial_policy();
Policy c3_policy();
Policy c3_sp_policy();
Policy c3_rp_policy();
Policy c3_sp_rp_policy();
Policy conccl_policy();
Policy conccl_rp_policy();
Policy auto_policy();

const std::vector<Policy>& fixed_policies() {
  static const std::vector<Policy> list{
      serial_policy(),   c3_policy(),     c3_sp_policy(),     c3_rp_policy(),
      c3_sp_rp_policy(), conccl_policy(), conccl_rp_policy(),
  };
  return list;
}

namespace {

const std::vector<Policy>& policies() {
  static const std::vector<Policy> list = [] {
    std::vector<Policy> all = fixed_policies();
    all.push_back(auto_policy());
    return all;
  }();
  return list;
}

Result<const Policy*> find_policy(std::string_view name) {
  for (const Policy& policy : policies()) {
    if (policy.info.name == name) return &policy;
  }
  std::vector<std::string> known;
  for (const Policy& policy : policies()) known.push_back(policy.info.name);
  return fail("c3.policy", fmt::format("unknown policy '{}'", name), suggestion(name, known));
}

}  // namespace
}  // namespace plan

std::vector<PolicyInfo> list_policies() {
  std::vector<PolicyInfo> infos;
  for (const plan::Policy& policy : plan::policies()) infos.push_back(policy.info);
  return infos;
}

Status check_policy(std::string_view name) {
  CORTADO_RETURN_IF_ERROR(plan::find_policy(name));
  return {};
}

Result<OverlapWay> choose_way(std::string_view policy, const OverlapRequest& request, const Machine& machine,
                              const CostModel& cost) {
  CORTADO_ASSIGN_OR_RETURN(const plan::Policy* found, plan::find_policy(policy));
  CORTADO_ASSIGN_OR_RETURN(const OverlapRequest checked, plan::check_overlap(request, machine));
  return found->decide({checked, machine, cost});
}

}  // namespace cortado
