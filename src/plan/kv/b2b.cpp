// b2b: packets of all copies in one submission and one signal for each engine, as DMA-Latte does it for collectives.
// Prelaunched, the packets are with the engines before the blocks are wanted, behind a wait for a trigger.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "plan/kv/strategies.hpp"
#include "plan/kv/workbench.hpp"

namespace cortado::plan::kv {
namespace {

void add_rank(Workbench& bench, RankId rank, KvDirection direction, const std::vector<EngineId>& engines,
              bool prelaunch) {
  ProgramBuilder& builder = bench.builder();
  Workbench::Host& host = bench.host(rank);
  const std::string of = fmt::format("{}{}", rank.value, suffix_of(direction));
  std::vector<QueueId> queues;
  for (const EngineId engine : engines) {
    queues.push_back(builder.dma_queue(fmt::format("copies{}.{}", of, engine.value), rank, engine));
    if (!prelaunch) continue;
    const SignalId go = builder.signal(fmt::format("go{}.{}", of, engine.value));
    builder.add(queues.back(), Wait{go});
    host.triggers.push_back(go);
  }
  for (std::size_t i = 0; i < bench.fragments().size(); ++i) {
    builder.add(queues[i % queues.size()], bench.transfer(rank, bench.fragments()[i], direction));
  }
  const SignalId done = builder.signal("done" + of);
  for (const QueueId queue : queues) {
    builder.add(queue, Signal{done});
    (prelaunch ? host.ahead : host.submits).push_back(queue);
  }
  host.waits.push_back({done, queues.size()});
}

Result<Program> plan_back_to_back(const KvRequest& request, const Machine& machine, bool prelaunch) {
  CORTADO_RETURN_IF_ERROR(check_kv_request(request, machine));
  Workbench bench(prelaunch ? "b2b-prelaunch" : "b2b", request, machine);
  for (const KvDirection direction : bench.directions()) {
    const std::vector<EngineId> engines = bench.engines(request.engines, direction);
    if (engines.size() < request.engines) {
      return fail("kv.engines", fmt::format("{} engines asked for", request.engines),
                  fmt::format("a GPU of {} has {}", machine.name, engines.size()));
    }
    for (std::uint32_t r = 0; r < request.ranks; ++r) {
      add_rank(bench, RankId{r}, direction, engines, prelaunch);
    }
  }
  return std::move(bench).finish();
}

}  // namespace

Result<Program> plan_b2b(const KvRequest& request, const Machine& machine) {
  return plan_back_to_back(request, machine, false);
}

Result<Program> plan_b2b_prelaunch(const KvRequest& request, const Machine& machine) {
  return plan_back_to_back(request, machine, true);
}

}  // namespace cortado::plan::kv
