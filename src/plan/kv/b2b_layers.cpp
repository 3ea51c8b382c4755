// b2b-layers: layer by layer, with a signal after each, so that attention of a layer can start while the next arrives.
#include <fmt/format.h>

#include "plan/kv/strategies.hpp"
#include "plan/kv/workbench.hpp"

namespace cortado::plan::kv {

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

}  // namespace cortado::plan::kv
