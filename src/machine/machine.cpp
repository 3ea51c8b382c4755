#include "cortado/machine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/small_vector.hpp"

namespace cortado {

const Engine* Machine::engine(EngineId id) const {
  const auto found = std::find_if(engines.begin(), engines.end(), [id](const Engine& e) { return e.id == id; });
  return found == engines.end() ? nullptr : &*found;
}

EngineId Machine::engine_towards(RankId src, RankId dst) const {
  CORTADO_CHECK(src.value < gpus && dst.value < gpus, "both ranks are GPUs of the machine");
  if (src.value < affinity.size() && dst.value < affinity[src.value].size()) {
    if (const auto& best = affinity[src.value][dst.value]) return *best;
  }
  // The peers of src in ascending order are its peers 0, 1, ...; so gpus-1 engines serve gpus-1 peers one to one.
  const std::uint32_t peer = dst.value > src.value ? dst.value - 1 : dst.value;
  SmallVector<EngineId, 32> candidates;
  for (const EngineClass kind : {EngineClass::peer, EngineClass::host}) {
    if (!candidates.empty()) break;
    for (const Engine& e : engines) {
      if (e.kind == kind && e.present) candidates.push_back(e.id);
    }
  }
  std::ranges::sort(candidates);
  CORTADO_CHECK(!candidates.empty(), "a machine has at least one engine that is present");
  return candidates[peer % candidates.size()];
}

std::uint32_t Machine::link_count(RankId src, RankId dst) const {
  CORTADO_CHECK(src.value < gpus && dst.value < gpus, "both ranks are GPUs of the machine");
  if (src == dst || !linked[src.value][dst.value]) return 0;
  return link_counts.empty() ? 1 : link_counts[src.value][dst.value];
}

std::vector<EngineId> Machine::present_engines(EngineClass kind) const {
  std::vector<EngineId> ids;
  for (const Engine& e : engines) {
    if (e.kind == kind && e.present) ids.push_back(e.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

Result<ClockMode> parse_clock_mode(std::string_view name) {
  if (name == "by-power") return ClockMode::by_power;
  if (name == "fixed") return ClockMode::fixed;
  return fail("machine.clock", fmt::format("unknown clock mode '{}'", name), "use by-power or fixed");
}

}  // namespace cortado
