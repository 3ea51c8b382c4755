// b2b: packets of all copies in one submission and one signal per engine, as DMA-Latte does for collectives.
// Prelaunched, the engines have the packets before the blocks are needed, behind a wait for a trigger. On machines that
// support them: packets that walk the block table, one for every fragment of a block, and packets that a kernel writes
// and submits.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "plan/kv/strategies.hpp"
#include "plan/kv/workbench.hpp"

namespace cortado::plan::kv {
namespace {

/// Its forms, which differ in who submits the packets, when, and how many copies a packet holds.
struct Form {
  std::string_view name;
  bool prelaunch = false;
  bool rung = false;   ///< by a kernel
  bool lists = false;  ///< a packet walks the block table
};

/// Fragment by fragment, so that the blocks of each fragment are consecutive.
std::vector<Fragment> by_fragment(const Workbench& bench) {
  std::vector<Fragment> order = bench.fragments();
  std::ranges::stable_sort(order, {}, &Fragment::index);
  return order;
}

void add_rank(Workbench& bench, RankId rank, KvDirection direction, const std::vector<EngineId>& engines,
              const Form& form) {
  ProgramBuilder& builder = bench.builder();
  Workbench::Host& host = bench.host(rank);
  const std::string of = fmt::format("{}{}", rank.value, suffix_of(direction));
  std::vector<QueueId> queues;
  for (const EngineId engine : engines) {
    queues.push_back(builder.dma_queue(fmt::format("copies{}.{}", of, engine.value), rank, engine));
    if (form.lists) {
      builder.packing(queues.back(), Packing::indirect);
    } else if (bench.machine().features.fused_packets) {
      builder.packing(queues.back(), Packing::fused);
    }
    if (!form.prelaunch) continue;
    const SignalId go = builder.signal(fmt::format("go{}.{}", of, engine.value));
    builder.add(queues.back(), Wait{go});
    host.triggers.push_back(go);
  }
  const std::vector<Fragment> fragments = form.lists ? by_fragment(bench) : bench.fragments();
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    const std::size_t turn = form.lists ? fragments[i].index : i;
    builder.add(queues[turn % queues.size()], bench.transfer(rank, fragments[i], direction));
  }
  const SignalId done = builder.signal("done" + of);
  for (const QueueId queue : queues) {
    builder.add(queue, Signal{done});
    (form.prelaunch ? host.ahead : form.rung ? host.rung : host.submits).push_back(queue);
  }
  host.waits.push_back({done, queues.size()});
}

Result<Program> plan_back_to_back(const KvRequest& request, const Machine& machine, const Form& form) {
  CORTADO_RETURN_IF_ERROR(check_kv_request(request, machine));
  if (form.lists && request.fragments < request.engines) {
    return fail("kv.engines",
                fmt::format("{} engines for {} list{} of blocks", request.engines, request.fragments,
                            request.fragments == 1 ? "" : "s"),
                "each engine walks whole lists, and there is one list per fragment of a block");
  }
  Workbench bench(form.name, request, machine);
  for (const KvDirection direction : bench.directions()) {
    const std::vector<EngineId> engines = bench.engines(request.engines, direction);
    if (engines.size() < request.engines) {
      return fail("kv.engines", fmt::format("{} engines requested", request.engines),
                  fmt::format("a GPU of {} has {}", machine.name, engines.size()));
    }
    for (std::uint32_t r = 0; r < request.ranks; ++r) add_rank(bench, RankId{r}, direction, engines, form);
  }
  return std::move(bench).finish();
}

}  // namespace

Result<Program> plan_b2b(const KvRequest& request, const Machine& machine) {
  return plan_back_to_back(request, machine, {.name = "b2b"});
}

Result<Program> plan_b2b_prelaunch(const KvRequest& request, const Machine& machine) {
  return plan_back_to_back(request, machine, {.name = "b2b-prelaunch", .prelaunch = true});
}

Result<Program> plan_b2b_list(const KvRequest& request, const Machine& machine) {
  if (!machine.features.indirect) {
    return fail("kv.feature", fmt::format("engines of {} do not walk lists", machine.name),
                "use b2b, or a machine with [indirect] (mi300x-8+codesign)");
  }
  return plan_back_to_back(request, machine, {.name = "b2b-list", .lists = true});
}

Result<Program> plan_b2b_device(const KvRequest& request, const Machine& machine) {
  if (!machine.features.device_initiated) {
    return fail("kv.feature", fmt::format("kernels of {} do not ring doorbells", machine.name),
                "use b2b, or a machine with [device_initiated] (mi300x-8+codesign)");
  }
  return plan_back_to_back(request, machine, {.name = "b2b-device", .rung = true});
}

}  // namespace cortado::plan::kv
