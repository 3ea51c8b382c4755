// T3 as a programmer sees it: a product whose output map is written by hand.
//
// Four GPUs multiply, and the sum of the four products is divided among them. Each GPU sends to the next one in the
// ring: stores of its first chunk go straight there, the next two are passed on by DMA commands that wait until memory
// has counted two updates of a piece (the own one and that of the GPU before), and the last one stays.
//
// The first version counts one update instead of two, so pieces leave before the neighbour's sum is in. The verifier
// refuses it; the right one is proved, timed and run.
#include <cstdio>

#include "cortado/device/executor.hpp"
#include "cortado/device/soft.hpp"
#include "cortado/plan/t3.hpp"
#include "cortado/sim/simulate.hpp"
#include "cortado/verify/verify.hpp"

using namespace cortado;

constexpr std::uint32_t kRanks = 4;

std::vector<T3Map> ring(std::uint64_t updates) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const RankId next{(rank + 1) % kRanks};
    const auto before = [&](std::uint32_t steps) { return (rank + kRanks - steps) % kRanks; };
    maps.push_back(T3Map(kRanks)
                       .remote_map(before(1), next, CopyOp::add)
                       .dma_map(before(2), {next, CopyOp::add}, updates)
                       .dma_map(before(3), {next, CopyOp::add}, updates)
                       .keep(rank, 2));
  }
  return maps;
}

int report(const Diagnostic& error) {
  std::printf("%s\n", to_string(error).c_str());
  return 1;
}

int main() {
  const auto machine = load_machine("mi300x-8+t3");
  if (!machine) return report(machine.error());
  const T3Request request{.gemm = {512, 256, 128, DType::f16},
                          .collective = "reduce-scatter",
                          .ranks = kRanks,
                          .tiling = Tiling{32, 64, 1},
                          .pieces = 2};

  const auto hasty = plan_t3(request, ring(1), *machine);
  if (!hasty) return report(hasty.error());
  const auto refused = verify(hasty->program, *machine);
  if (refused) return 1;  // the verifier must catch the wrong count
  std::printf("one update: %s\n", to_string(refused.error().front()).c_str());

  const auto plan = plan_t3(request, ring(2), *machine);
  if (!plan) return report(plan.error());
  const auto verified = verify(plan->program, *machine);
  if (!verified) return report(verified.error().front());
  const auto simulated = sim::simulate(*verified);
  if (!simulated) return report(simulated.error());
  std::printf("two updates: proved; %zu trackers, %llu ns predicted\n", plan->program.trackers.size(),
              static_cast<unsigned long long>(median_time(simulated->timeline).value));

  auto node = device::open_soft_node(*machine, kRanks, {.workers = {}, .adversarial_seed = 7, .faults = {}});
  if (!node) return report(node.error());
  auto prepared = device::PreparedProgram::prepare(*verified, **node);
  if (!prepared) return report(prepared.error());
  const auto result = prepared->run({.iterations = 5, .check = device::CheckOutputs::every});
  if (!result) return report(result.error());
  std::printf("run 5 times in adversarial order: %llu bytes checked, %llu wrong\n",
              static_cast<unsigned long long>(result->checked_bytes),
              static_cast<unsigned long long>(result->wrong_bytes));
  return result->wrong_bytes == 0 ? 0 : 1;
}
