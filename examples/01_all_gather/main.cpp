// Plans, proves and really runs an 8-GPU all-gather on the embedded node, from outside the Cortado source tree.
#include <cstdio>

#include "cortado/plan.hpp"
#include "cortado/target.hpp"

using namespace cortado;

Result<ByteCheck> all_gather(Bytes bytes) {
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine("mi300x-8"));
  Result<Program> program = plan_collective(
      {.collective = "all-gather", .variant = "bcst", .bytes = bytes, .prelaunch = true, .in_place = true}, machine);
  CORTADO_ASSIGN_OR_RETURN(const auto node, open_target({.name = "soft"}, machine));
  const auto run = run_on(*node, std::move(program), machine, {.iterations = 10});
  if (!run) return fail(run.error().errors.front());
  return run->check.value();
}

int main() {
  const auto check = all_gather(1_MiB);
  if (!check) {
    std::fprintf(stderr, "%s\n", to_string(check.error()).c_str());
    return 1;
  }
  std::printf("all-gather of 1 MiB on 8 GPUs: %llu output bytes checked, %llu wrong\n",
              static_cast<unsigned long long>(check->checked), static_cast<unsigned long long>(check->wrong));
  return check->wrong == 0 ? 0 : 1;
}
