// KV transfers by plain copies: loop, batch, b2b and its forms.
//
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

/// b2b-layers: layer by layer, with a signal after each, so that attention of a layer can start while the next arrives.
Result<Program> plan_b2b_layers(const KvRequest& request, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_kv_request(request, machine));
  if (request.direction != KvDirection::fetch) {
    return fail("kv.layers", "nothing waits for individual layers when storing", "use b2b");
  }
  if (request.layers == 1 || request.fragments % request.layers != 0) {
    return fail("kv.layers", "a block that holds all layers in one fragment has no layers to release",
                "use a layout other than cross-layer");
  }
  Workbench bench("b2b-layers", request, machine);
  ProgramBuilder& builder = bench.builder();
  const EngineId engine = bench.engines(1).front();
  const std::uint64_t of_layer = bench.fragments().size() / request.layers;
  for (std::uint32_t r = 0; r < request.ranks; ++r) {
    const RankId rank{r};
    const QueueId queue = builder.dma_queue(fmt::format("copies{}", r), rank, engine);
    if (machine.features.fused_packets) builder.packing(queue, Packing::fused);
    const SignalId layers = builder.signal(fmt::format("layers{}", r));
    for (std::size_t i = 0; i < bench.fragments().size(); ++i) {
      builder.add(queue, bench.transfer(rank, bench.fragments()[i]));
      if ((i + 1) % of_layer == 0) builder.add(queue, Signal{layers});
    }
    bench.host(rank).submits.push_back(queue);
    for (std::uint64_t layer = 1; layer <= request.layers; ++layer) bench.host(rank).waits.push_back({layers, layer});
  }
  return std::move(bench).finish();
}

/// loop: what a serving engine does that calls the runtime's asynchronous copy for every fragment.
Result<Program> plan_loop(const KvRequest& request, const Machine& machine) {
  return plan_single_stream("loop", request, machine, Submission::calls, true);
}

/// batch: a runtime call with a list of copies (cuMemcpyBatchAsync, hipMemcpyBatchAsync).
Result<Program> plan_batch(const KvRequest& request, const Machine& machine) {
  return plan_single_stream("batch", request, machine, Submission::batch, false);
}

}  // namespace cortado::plan::kv
