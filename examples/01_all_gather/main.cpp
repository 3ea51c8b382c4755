// Plans, proves and really runs an 8-GPU all-gather on the embedded node, from outside the Cortado source tree.
#include <cstdio>

#include "cortado/device/executor.hpp"
#include "cortado/device/soft.hpp"
#include "cortado/plan/collective.hpp"
#include "cortado/verify/verify.hpp"

using namespace cortado;

Result<device::RunResult> all_gather(Bytes bytes) {
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine("mi300x-8"));
  CORTADO_ASSIGN_OR_RETURN(
      Program program,
      plan_collective(
          {.collective = "all-gather", .variant = "bcst", .bytes = bytes, .prelaunch = true, .in_place = true},
          machine));
  const auto verified = verify(std::move(program), machine);
  if (!verified) return fail(verified.error().front());
  CORTADO_ASSIGN_OR_RETURN(const auto node, device::open_soft_node(machine, machine.gpus));
  CORTADO_ASSIGN_OR_RETURN(auto prepared, device::PreparedProgram::prepare(*verified, *node));
  return prepared.run({.iterations = 10});
}

int main() {
  const auto result = all_gather(1_MiB);
  if (!result) {
    std::fprintf(stderr, "%s\n", to_string(result.error()).c_str());
    return 1;
  }
  std::printf("all-gather of 1 MiB on 8 GPUs: %llu output bytes checked, %llu wrong\n",
              static_cast<unsigned long long>(result->checked_bytes),
              static_cast<unsigned long long>(result->wrong_bytes));
  return result->wrong_bytes == 0 ? 0 : 1;
}
