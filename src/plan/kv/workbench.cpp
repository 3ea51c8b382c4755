#include "plan/kv/workbench.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "base/text.hpp"
#include "verify/packet_space.hpp"

namespace cortado::plan {
namespace kv {
namespace {

/// The number of places in a pool in which every third place belongs to somebody else.
std::uint64_t places_of(const KvRequest& request) {
  return request.blocks + (request.blocks + 1) / 2;
}

/// A different place for each block, at random.
std::vector<std::uint64_t> block_table(const KvRequest& request, std::uint64_t salt) {
  std::vector<std::uint64_t> places(places_of(request));
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  Random random(request.seed * 2 + salt);
  for (std::uint64_t i = 0; i < request.blocks; ++i) {
    std::swap(places[i], places[i + random.below(places.size() - i)]);
  }
  places.resize(request.blocks);
  return places;
}

std::uint64_t ring_bytes_of(const Queue& queue, const Machine& machine) {
  return packets_dwords(queue, machine.dma, machine.features) * sizeof(std::uint32_t);
}

std::uint32_t numa_node_of(RankId rank, const Machine& machine) {
  if (!machine.timing || !machine.timing->host_link) return 0;
  return rank.value * machine.timing->host_link->numa_nodes / machine.gpus;
}

}  // namespace

Workbench::Workbench(std::string_view strategy, const KvRequest& request, const Machine& machine)
    : request_(request),
      machine_(machine),
      builder_(fmt::format("kv-{}", strategy), machine.name, request.ranks),
      gpu_table_(block_table(request, 0)),
      host_table_(block_table(request, 1)),
      pools_(std::size_t{request.ranks} * 2),
      hosts_(request.ranks) {
  const std::uint64_t per_layer = std::max<std::uint64_t>(request.fragments / request.layers, 1);
  for (std::uint64_t first = 0; first < request.fragments; first += per_layer) {
    for (std::uint64_t block = 0; block < request.blocks; ++block) {
      for (std::uint64_t i = 0; i < per_layer; ++i) fragments_.push_back({block, first + i});
    }
  }
  contract_.name = "kv";
}

std::vector<KvDirection> Workbench::directions() const {
  if (request_.direction == KvDirection::both) return {KvDirection::fetch, KvDirection::store};
  return {request_.direction};
}

Bytes Workbench::pool_bytes() const {
  return request_.fragment * request_.fragments * places_of(request_);
}

Region Workbench::place(BufferId pool, const std::vector<std::uint64_t>& table, const Fragment& fragment) const {
  const std::uint64_t at = fragment.index * places_of(request_) + table[fragment.block];
  return make_region(pool, request_.fragment * at, request_.fragment);
}

Region Workbench::on_gpu(RankId rank, const Fragment& fragment, KvDirection direction) {
  auto& pool = pools(rank, direction).gpu;
  if (!pool) {
    const bool fetch = direction == KvDirection::fetch;
    pool = builder_.buffer(fmt::format("{}{}", fetch ? "pool" : "stored", rank.value), rank, pool_bytes(),
                           fetch ? BufferRole::inout : BufferRole::input);
  }
  return place(*pool, gpu_table_, fragment);
}

Region Workbench::in_host(RankId rank, const Fragment& fragment, KvDirection direction) {
  auto& pool = pools(rank, direction).host;
  if (!pool) {
    const bool fetch = direction == KvDirection::fetch;
    pool =
        builder_.host_buffer(fmt::format("host_{}{}", fetch ? "pool" : "stored", rank.value), rank,
                             numa_node_of(rank, machine_), pool_bytes(), fetch ? BufferRole::input : BufferRole::inout);
  }
  return place(*pool, host_table_, fragment);
}

Copy Workbench::transfer(RankId rank, const Fragment& fragment, KvDirection direction) {
  if (direction == KvDirection::fetch) {
    promise(rank, rank, fragment);
    return {in_host(rank, fragment), on_gpu(rank, fragment)};
  }
  const Copy copy{on_gpu(rank, fragment, direction), in_host(rank, fragment, direction)};
  contract_.clauses.push_back({copy.dst, {copy.src}});
  return copy;
}

void Workbench::promise(RankId rank, RankId owner, const Fragment& fragment) {
  contract_.clauses.push_back({on_gpu(rank, fragment), {in_host(owner, fragment)}});
}

std::vector<EngineId> Workbench::engines(std::uint32_t count, KvDirection direction) const {
  std::vector<EngineId> best = kv_engines(machine_, direction);
  if (best.size() > count) best.resize(count);
  return best;
}

Result<Program> Workbench::finish() && {
  for (const Queue& queue : builder_.peek().queues) {
    if (queue.kind != QueueKind::dma || ring_bytes_of(queue, machine_) < machine_.dma.ring_bytes.value) continue;
    return fail("kv.ring",
                fmt::format("{} packets of queue {} do not fit in the ring of {}", queue.commands.size(), queue.name,
                            format_bytes(machine_.dma.ring_bytes)),
                "move fewer blocks at a time, or use more engines");
  }
  for (std::uint32_t rank = 0; rank < request_.ranks; ++rank) {
    const Host& host = hosts_[rank];
    const QueueId queue = builder_.host_queue(fmt::format("host{}", rank), RankId{rank});
    for (const QueueId ahead : host.ahead) builder_.add(queue, Submit{ahead});
    builder_.add(queue, Timestamp{"begin"});
    for (const SignalId ready : host.ready) builder_.add(queue, Signal{ready});
    if (!host.rung.empty()) {
      const QueueId kernel = builder_.compute_queue(fmt::format("rings{}", rank), RankId{rank}, 0, 1);
      for (const QueueId rung : host.rung) builder_.add(kernel, Submit{rung});
      builder_.add(queue, Submit{kernel});
    }
    for (const QueueId submit : host.submits) builder_.add(queue, Submit{submit});
    for (const SignalId trigger : host.triggers) builder_.add(queue, Trigger{trigger});
    for (const Host::Until& wait : host.waits) builder_.add(queue, Wait{wait.signal, wait.value});
    builder_.add(queue, Timestamp{"end"});
  }
  builder_.contract(std::move(contract_));
  return std::move(builder_).finish();
}

std::string_view suffix_of(KvDirection direction) {
  return direction == KvDirection::store ? "s" : "";
}

Result<Program> plan_single_stream(std::string_view name, const KvRequest& request, const Machine& machine,
                                   Submission submission, bool signal_each) {
  CORTADO_RETURN_IF_ERROR(check_kv_request(request, machine));
  Workbench bench(name, request, machine);
  ProgramBuilder& builder = bench.builder();
  const std::vector<Fragment>& fragments = bench.fragments();
  const bool calls = submission == Submission::batch && request.call > 0 && request.call < fragments.size();
  const std::size_t of_queue = calls ? request.call : fragments.size();
  for (std::uint32_t r = 0; r < request.ranks; ++r) {
    for (const KvDirection direction : bench.directions()) {
      const RankId rank{r};
      const std::string of = fmt::format("{}{}", r, suffix_of(direction));
      const SignalId done = builder.signal("done" + of);
      std::uint64_t signals = 0;
      for (std::size_t begin = 0; begin < fragments.size(); begin += of_queue) {
        const std::string label = calls ? fmt::format("copies{}.{}", of, begin / of_queue) : "copies" + of;
        const QueueId queue = builder.dma_queue(label, rank, bench.engines(1, direction).front());
        builder.submission(queue, submission);
        if (signals > 0) builder.add(queue, Wait{done, signals});
        for (std::size_t i = begin; i < std::min(begin + of_queue, fragments.size()); ++i) {
          builder.add(queue, bench.transfer(rank, fragments[i], direction));
          if (!signal_each) continue;
          builder.add(queue, Signal{done});
          ++signals;
        }
        if (!signal_each) {
          builder.add(queue, Signal{done});
          ++signals;
        }
        bench.host(rank).submits.push_back(queue);
      }
      bench.host(rank).waits.push_back({done, signals});
    }
  }
  return std::move(bench).finish();
}

}  // namespace kv

std::vector<EngineId> kv_engines(const Machine& machine, KvDirection direction) {
  std::vector<EngineId> best;
  const auto add = [&](EngineId id) {
    const Engine* engine = machine.engine(id);
    const bool usable = engine != nullptr && engine->present && std::ranges::find(best, id) == best.end();
    if (usable) best.push_back(id);
  };
  if (machine.timing && machine.timing->host_link) {
    const HostLinkTiming& link = *machine.timing->host_link;
    for (const std::uint32_t id : direction == KvDirection::store ? link.engines_from_gpu : link.engines_to_gpu)
      add({id});
  }
  for (const EngineClass kind : {EngineClass::host, EngineClass::peer}) {
    for (const EngineId id : machine.present_engines(kind)) add(id);
  }
  return best;
}

}  // namespace cortado::plan
