// KV transfers of bytes that several GPUs hold: bcst, mcast and shard+gather.
#include <algorithm>

#include <fmt/format.h>

#include "plan/kv/strategies.hpp"
#include "plan/kv/workbench.hpp"

namespace cortado::plan::kv {

/// bcst: of two GPUs that hold the same bytes, one reads host memory once, and broadcast packets write to both.
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

/// mcast: of the GPUs that hold the same bytes, one reads host memory once, and multicast packets write to all of them.
Result<Program> plan_mcast(const KvRequest& request, const Machine& machine) {
  if (!machine.features.multicast) {
    return fail("kv.feature", fmt::format("engines of {} do not multicast", machine.name),
                "use bcst, or a machine with [multicast] (mi300x-8+codesign)");
  }
  CORTADO_RETURN_IF_ERROR(check_kv_request(request, machine));
  if (request.group == 1 || request.direction != KvDirection::fetch) {
    return fail("kv.replicated", "no two GPUs hold the same bytes", "use b2b, or more GPUs than there are KV heads");
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

// shard+gather: of the GPUs that hold the same bytes, each fetches its share over its own host link; meanwhile, slice
// by slice, an all-gather over the links between them completes it.

namespace {

/// Enough that little is left to gather when the last slice arrives.
constexpr std::size_t kSlices = 8;

/// A GPU's share of the fragments, in slices.
std::vector<std::vector<Fragment>> shares(const std::vector<Fragment>& all, std::uint32_t member, std::uint32_t group) {
  std::vector<Fragment> mine;
  for (std::size_t i = member; i < all.size(); i += group) mine.push_back(all[i]);
  std::vector<std::vector<Fragment>> slices;
  const std::size_t size = std::max<std::size_t>((mine.size() + kSlices - 1) / kSlices, 1);
  for (std::size_t i = 0; i < mine.size(); i += size) {
    const auto first = mine.begin() + static_cast<std::ptrdiff_t>(i);
    slices.emplace_back(first, first + static_cast<std::ptrdiff_t>(std::min(size, mine.size() - i)));
  }
  return slices;
}

}  // namespace

Result<Program> plan_shard_gather(const KvRequest& request, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_kv_request(request, machine));
  if (request.group < 2 || request.direction != KvDirection::fetch) {
    return fail("kv.replicated", "no two GPUs hold the same bytes", "use b2b, or more GPUs than there are KV heads");
  }
  Workbench bench("shard-gather", request, machine);
  ProgramBuilder& builder = bench.builder();
  const EngineId host_engine = bench.engines(1).front();
  // May be written by any rank of the group, and has everything that others send.
  std::vector<std::vector<SignalId>> ready(request.ranks);
  std::vector<SignalId> received;
  std::vector<std::uint64_t> senders(request.ranks, 0);
  for (std::uint32_t r = 0; r < request.ranks; ++r) received.push_back(builder.signal(fmt::format("received{}", r)));
  for (std::uint32_t r = 0; r < request.ranks; ++r) {
    const RankId rank{r};
    const std::uint32_t first = r / request.group * request.group;
    const auto slices = shares(bench.fragments(), r - first, request.group);
    if (slices.empty()) continue;
    const SignalId fetched = builder.signal(fmt::format("fetched{}", r), rank);
    const QueueId fetch = builder.dma_queue(fmt::format("fetch{}", r), rank, host_engine);
    for (const auto& slice : slices) {
      for (const Fragment& fragment : slice) builder.add(fetch, bench.transfer(rank, fragment));
      builder.add(fetch, Signal{fetched});
    }
    Workbench::Host& host = bench.host(rank);
    host.submits.push_back(fetch);
    const SignalId sent = builder.signal(fmt::format("sent{}", r));
    for (std::uint32_t p = first; p < first + request.group; ++p) {
      if (p == r) continue;
      const RankId peer{p};
      const QueueId send = builder.dma_queue(fmt::format("send{}.{}", r, p), rank, machine.engine_towards(rank, peer));
      const SignalId open = builder.signal(fmt::format("ready{}.{}", p, r), rank);
      bench.host(peer).ready.push_back(open);
      builder.add(send, Wait{open});
      for (std::size_t s = 0; s < slices.size(); ++s) {
        builder.add(send, Wait{fetched, s + 1});
        for (const Fragment& fragment : slices[s]) {
          builder.add(send, Copy{bench.on_gpu(rank, fragment), bench.on_gpu(peer, fragment)});
          bench.promise(peer, rank, fragment);
        }
      }
      builder.add(send, Signal{received[p]});
      builder.add(send, Signal{sent});
      ++senders[p];
      host.submits.push_back(send);
    }
    host.waits.push_back({fetched, slices.size()});
    host.waits.push_back({sent, request.group - 1});
  }
  for (std::uint32_t r = 0; r < request.ranks; ++r) {
    if (senders[r] > 0) bench.host(RankId{r}).waits.push_back({received[r], senders[r]});
  }
  return std::move(bench).finish();
}

}  // namespace cortado::plan::kv
