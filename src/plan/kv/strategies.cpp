#include "plan/kv/strategies.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::plan {

const std::vector<KvStrategy>& kv_strategies() {
  static const std::vector<KvStrategy> strategies{
      {"loop", "one runtime call, submission and signal per copy", kv::plan_loop},
      {"batch", "one runtime call with a list of copies", kv::plan_batch},
      {"b2b", "packets back to back, one submission and one signal per engine", kv::plan_b2b, false, true},
      {"b2b-prelaunch", "like b2b, but programmed one step ahead and started by a trigger", kv::plan_b2b_prelaunch,
       false, true},
      {"b2b-list", "like b2b, with packets that walk the block table (machines with [indirect])", kv::plan_b2b_list,
       false, true},
      {"b2b-device", "like b2b, but written and submitted by a kernel (machines with [device_initiated])",
       kv::plan_b2b_device, false, true},
      {"b2b-layers", "like b2b on one engine, with a signal for every layer", kv::plan_b2b_layers},
      {"bcst", "one read of host memory for two GPUs that hold the same bytes", kv::plan_bcst, true},
      {"mcast", "one read of host memory for all GPUs that hold the same bytes (machines with [multicast])",
       kv::plan_mcast, true},
      {"shard+gather", "every GPU fetches its share of the same bytes and sends it to the others",
       kv::plan_shard_gather, true},
      {"kernel", "a copy kernel on compute units", kv::plan_kernel, false, false, true},
  };
  return strategies;
}

Result<NamedKvStrategy> find_kv_strategy(std::string_view name) {
  const std::size_t slash = name.find('/');
  const std::string_view bare = name.substr(0, slash);
  const auto& all = kv_strategies();
  const auto found = std::ranges::find(all, bare, &KvStrategy::name);
  if (found == all.end()) {
    std::vector<std::string> known;
    for (const KvStrategy& strategy : all) known.emplace_back(strategy.name);
    return fail("kv.strategy", fmt::format("unknown strategy '{}'", name), "known: " + join(known));
  }
  NamedKvStrategy named{&*found, 1};
  if (slash == std::string_view::npos) return named;
  const auto engines = parse_number<std::uint32_t>(name.substr(slash + 1));
  if (!found->engines || !engines || *engines == 0) {
    return fail("kv.strategy", fmt::format("'{}' is not a strategy", name),
                found->engines ? "use a number of engines, such as b2b/4" : fmt::format("{} takes no number", bare));
  }
  named.engines = *engines;
  return named;
}

Status check_kv_request(const KvRequest& request, const Machine& machine) {
  if (request.ranks == 0 || request.ranks > machine.gpus || request.group == 0 || request.ranks % request.group != 0) {
    return fail("kv.request", fmt::format("{} GPUs in groups of {} requested", request.ranks, request.group),
                fmt::format("{} has {}", machine.name, machine.gpus));
  }
  if (request.blocks == 0 || request.fragments == 0 || request.fragment.value == 0 || request.layers == 0) {
    return fail("kv.request", "nothing to move", "use at least one block of at least one byte");
  }
  constexpr std::uint64_t kMostCopies = std::uint64_t{1} << 24;
  if (request.blocks > kMostCopies / request.fragments) {
    return fail("kv.request",
                fmt::format("{} of {}", counted(request.blocks, "block"), counted(request.fragments, "fragment")),
                fmt::format("a program moves at most {}", kMostCopies));
  }
  if (request.fragment > machine.dma.max_copy_bytes) {
    return fail("kv.request",
                fmt::format("fragments of {} are larger than one packet can copy, {}", format_bytes(request.fragment),
                            format_bytes(machine.dma.max_copy_bytes)),
                "use smaller blocks");
  }
  const Bytes all = request.fragment * request.fragments * (request.blocks + (request.blocks + 1) / 2);
  if (all > machine.memory_bytes) {
    return fail("kv.memory",
                fmt::format("a pool of {} does not fit in the {} of a GPU of {}", readable_bytes(all),
                            readable_bytes(machine.memory_bytes), machine.name),
                "move fewer or smaller blocks");
  }
  return {};
}

}  // namespace cortado::plan
