#include "serve/fetch_ways.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "pipeline/kv/transfer.hpp"
#include "plan/kv.hpp"
#include "serve/serve.hpp"

namespace cortado::serve {
namespace {

TransferCost transfer_cost(const pipeline::KvFetchCost& cost) {
  TransferCost made{.fixed_s = cost.seconds_fixed,
                    .per_block_s = cost.seconds_per_block,
                    .host_fixed_s = cost.host_seconds_fixed,
                    .host_per_block_s = cost.host_seconds_per_block,
                    .ahead_fixed_s = cost.ahead_seconds_fixed,
                    .ahead_per_block_s = cost.ahead_seconds_per_block,
                    .link_bytes_per_block = cost.link_bytes_per_block};
  for (const auto& [blocks, seconds, host_seconds, ahead_seconds] : cost.few) {
    made.few.push_back({static_cast<double>(blocks), seconds, host_seconds, ahead_seconds});
  }
  return made;
}

/// Strategies write with the same calls or packets that they read with. Those with a special way of reading (kernels,
/// copies to several GPUs, release by layer) write with plain calls or packets.
std::string store_of(const std::string& fetch) {
  if (fetch == "loop" || fetch == "batch") return fetch;
  return fetch == "kernel" ? "batch" : "b2b";
}

}  // namespace

std::vector<std::string> way_names() {
  std::vector<std::string> names;
  for (const plan::KvStrategy& strategy : plan::kv_strategies()) names.emplace_back(strategy.name);
  names.emplace_back(kHbmOnly);
  names.emplace_back(kRecompute);
  return names;
}

Status check_fetch(const std::string& name) {
  if (plan::find_kv_strategy(name)) return {};
  return fail("serve.way",
              name.empty() ? std::string("no way to obtain prefixes is named")
                           : fmt::format("{} is not a known way to obtain prefixes", name),
              suggestion(name, way_names()));
}

Outcome<FetchCost> fetch_way(const std::string& name, const FetchedCache& cache, const Machine& machine) {
  pipeline::KvFetchQuestion question{.model = cache.model,
                                     .tp = cache.tp,
                                     .kv_dtype = cache.kv_dtype,
                                     .block_tokens = cache.page,
                                     .layout = cache.layout,
                                     .strategy = name};
  const auto load = pipeline::kv_fetch_cost(question, machine);
  if (!load) return fail(load.error());
  question.store = true;
  question.strategy = store_of(name);
  const auto store = pipeline::kv_fetch_cost(question, machine);
  if (!store) return fail(store.error());
  FetchCost cost{.name = name, .load = transfer_cost(*load), .store = transfer_cost(*store)};
  const HostLinkTiming& link = *machine.timing->host_link;
  cost.both_rate = (load->compute_units > 0 ? link.units_both : link.both).bytes_per_second();
  cost.compute_share = static_cast<double>(load->compute_units) / machine.compute_units;
  if (name == "b2b-layers") cost.layers = static_cast<std::uint32_t>(cache.model.layers.size());
  for (TransferCost* one : {&cost.load, &cost.store}) {
    one->memory_share = one->link_bytes_per_block / one->per_block_s / machine.timing->memory.rate.bytes_per_second();
  }
  return cost;
}

}  // namespace cortado::serve
