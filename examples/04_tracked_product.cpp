// T3 in steps: a GEMM whose output map sends parts of the result on, and memory that counts updates.
//
// Four GPUs multiply, and the sum of the four results is divided among them. Stores of a GPU's first chunk go straight
// to the next GPU of the ring; later chunks are passed on by DMA commands that wait until memory has counted all
// updates of a piece, the own one and that of the GPU before; the last one stays.
//
// The first version counts one update less, so pieces leave before the neighbour's sum is in. The verifier refuses it;
// the right one is proved, timed and run.
#include <cstdio>

#include "cortado/plan.hpp"
#include "cortado/study.hpp"
#include "cortado/target.hpp"

using namespace cortado;

constexpr std::uint32_t kRanks = 4;

int failed(const Diagnostic& error) {
  std::printf("%s\n", to_string(error).c_str());
  return 1;
}

int main() {
  const auto machine = load_machine("mi300x-8+t3");
  if (!machine) return failed(machine.error());
  const OverlapProblem problem{.relation = Relation::collective_needs_gemm,
                               .gemms = {{.m = 512, .n = 256, .k = 128, .dtype = DType::f16}},
                               .collectives = {{.collective = "reduce-scatter"}},
                               .ranks = kRanks};
  const auto plan = pipeline::plan_strategy(problem, *machine, "t3", {.pieces = 2, .algorithm = "ring"});
  if (!plan) return failed(plan.error().errors.front());

  Program hasty = plan->program;
  for (Tracker& tracker : hasty.trackers) tracker.updates -= 1;
  const auto refused = verify(std::move(hasty), *machine);
  if (refused) return 1;  // the verifier must catch the wrong count
  std::printf("an update less: %s\n", to_string(refused.error().front()).c_str());

  const auto verified = verify(plan->program, *machine);
  if (!verified) return failed(verified.error().front());
  const auto predicted = simulator()->run(*verified, {});
  if (!predicted) return failed(predicted.error().errors.front());
  std::printf("all updates: proved; %zu trackers, %llu ns predicted\n", plan->program.trackers.size(),
              static_cast<unsigned long long>(predicted->time.value));

  const auto node = open_target({.name = "soft", .gpus = kRanks, .soft = {.adversarial_seed = 7}}, *machine);
  if (!node) return failed(node.error());
  const auto run = (*node)->run(*verified, {.iterations = 5, .device = {.check = device::CheckOutputs::every}});
  if (!run) return failed(run.error().errors.front());
  std::printf("run 5 times in adversarial order: %llu bytes checked, %llu wrong\n",
              static_cast<unsigned long long>(run->check->checked), static_cast<unsigned long long>(run->check->wrong));
  return run->check->wrong == 0 ? 0 : 1;
}
