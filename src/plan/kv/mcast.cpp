// mcast: of the GPUs that hold the same bytes, one reads host memory once, and multicast packets write to all of them.
#include <fmt/format.h>

#include "plan/kv/strategies.hpp"
#include "plan/kv/workbench.hpp"

namespace cortado::plan::kv {

Result<Program> plan_mcast(const KvRequest& request, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_kv_request(request, machine));
  if (request.group == 1 || request.direction != KvDirection::fetch) {
    return fail("kv.replicated", "no two GPUs hold the same bytes", "use b2b, or more GPUs than there are KV heads");
  }
  if (!machine.features.multicast) {
    return fail("kv.feature", fmt::format("engines of {} do not multicast", machine.name),
                "use bcst, or a machine with [multicast] (mi300x-8+codesign)");
  }
  Workbench bench("mcast", request, machine);
  ProgramBuilder& builder = bench.builder();
  for (std::uint32_t first = 0; first < request.ranks; first += request.group) {
    const RankId reader{first};
    const QueueId queue =
        builder.dma_queue(fmt::format("copies{}", first), reader, machine.engine_towards(reader, RankId{first + 1}));
    builder.packing(queue, Packing::multicast);
    bench.host(reader).submits.push_back(queue);
    for (std::uint32_t r = first + 1; r < first + request.group; ++r) {
      const SignalId ready = builder.signal(fmt::format("ready{}", r), reader);
      builder.add(queue, Wait{ready});
      bench.host(RankId{r}).ready.push_back(ready);
    }
    for (const Fragment& fragment : bench.fragments()) {
      for (std::uint32_t r = first; r < first + request.group; ++r) {
        builder.add(queue, Copy{bench.in_host(reader, fragment), bench.on_gpu(RankId{r}, fragment)});
        bench.promise(RankId{r}, reader, fragment);
      }
    }
    for (std::uint32_t r = first; r < first + request.group; ++r) {
      const SignalId done = builder.signal(fmt::format("done{}", r));
      builder.add(queue, Signal{done});
      bench.host(RankId{r}).waits.push_back({done});
    }
  }
  return std::move(bench).finish();
}

}  // namespace cortado::plan::kv
