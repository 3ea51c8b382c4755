// bcst: of two GPUs that hold the same bytes, one reads host memory once, and broadcast packets write to both.
#include <fmt/format.h>

#include "plan/kv/strategies.hpp"
#include "plan/kv/workbench.hpp"

namespace cortado::plan::kv {

Result<Program> plan_bcst(const KvRequest& request, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_kv_request(request, machine));
  if (request.group % 2 != 0 || request.direction != KvDirection::fetch) {
    return fail("kv.replicated", "no two GPUs hold the same bytes", "use b2b, or more GPUs than there are KV heads");
  }
  if (!machine.features.broadcast) {
    return fail("kv.broadcast", fmt::format("engines of {} do not broadcast", machine.name), "use b2b");
  }
  if (request.fragment.value % machine.dma.broadcast_alignment.value != 0) {
    return fail("kv.broadcast", fmt::format("fragments of {} bytes are not aligned", request.fragment.value),
                fmt::format("broadcasts need multiples of {}", machine.dma.broadcast_alignment.value));
  }
  Workbench bench("bcst", request, machine);
  ProgramBuilder& builder = bench.builder();
  for (std::uint32_t r = 0; r < request.ranks; r += 2) {
    const RankId reader{r};
    const RankId other{r + 1};
    const QueueId queue = builder.dma_queue(fmt::format("copies{}", r), reader, machine.engine_towards(reader, other));
    const SignalId ready = builder.signal(fmt::format("ready{}", other.value), reader);
    builder.add(queue, Wait{ready});
    for (const Fragment& fragment : bench.fragments()) {
      builder.add(queue, Broadcast{bench.in_host(reader, fragment), bench.on_gpu(reader, fragment),
                                   bench.on_gpu(other, fragment)});
      bench.promise(reader, reader, fragment);
      bench.promise(other, reader, fragment);
    }
    bench.host(other).ready.push_back(ready);
    for (const RankId rank : {reader, other}) {
      const SignalId done = builder.signal(fmt::format("done{}", rank.value));
      builder.add(queue, Signal{done});
      bench.host(rank).waits.push_back({done});
    }
    bench.host(reader).submits.push_back(queue);
  }
  return std::move(bench).finish();
}

}  // namespace cortado::plan::kv
