#include "plan/t3/request.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado {
namespace plan {
namespace {

constexpr std::array kAxisNames{"auto", "rows", "columns"};  // in the order of T3Axis

std::vector<std::string> algorithms_of(Collective collective) {
  std::vector<std::string> known;
  for (const T3Preset& preset : list_t3_presets()) {
    if (preset.collective == collective) known.push_back(preset.algorithm);
  }
  return known;
}

Status check_collective(Collective collective) {
  if (!algorithms_of(collective).empty()) return {};
  std::vector<std::string> known;
  for (const Collective one : kCollectives) {
    if (!algorithms_of(one).empty()) known.emplace_back(one.name());
  }
  return fail("t3.collective", fmt::format("T3 has no collective '{}' after a GEMM", collective),
              suggestion(collective.name(), known));
}

Status check_t3_ranks(std::uint32_t ranks, const Machine& machine) {
  if (ranks >= 2 && ranks <= machine.gpus) return {};
  return fail("t3.ranks", fmt::format("{} ranks requested on {}, which has {} GPUs", ranks, machine.name, machine.gpus),
              machine.gpus < 2 ? "use a machine with more GPUs" : fmt::format("use 2 to {} ranks", machine.gpus));
}

Status check_tracker(const Machine& machine) {
  if (machine.features.tracker) return {};
  return fail(About::machine, "t3.feature",
              fmt::format("machine {} has no tracker: its memory does not count updates", machine.name),
              "use a machine with [tracker] in its file, e.g. mi300x-8+t3 or t3-ring-16");
}

bool adds(const T3Map& map) {
  return std::any_of(map.entries().begin(), map.entries().end(), [](const T3Entry& entry) {
    const auto adding = [](const DmaOperation& dma) { return dma.op == CopyOp::add; };
    return (entry.produced && entry.op == CopyOp::add) || std::any_of(entry.dma.begin(), entry.dma.end(), adding);
  });
}

Status check_adding(const std::vector<T3Map>& maps, const Machine& machine) {
  if (machine.features.near_memory_compute || std::none_of(maps.begin(), maps.end(), adds)) return {};
  return fail(
      About::machine, "t3.feature",
      fmt::format("machine {} has no near_memory_compute: its memory does not add what meets there", machine.name),
      "use a machine with it, e.g. mi300x-8+t3 or t3-ring-16, or a collective that adds nothing, with a split of k of "
      "1");
}

/// The first pair of ranks between which an algorithm needs a link that does not exist.
std::optional<std::pair<std::uint32_t, std::uint32_t>> missing_link(const std::string& algorithm, std::uint32_t ranks,
                                                                    const Machine& machine) {
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t to = 0; to < ranks; ++to) {
      const bool needed = algorithm == "ring" ? to == (from + 1) % ranks : to != from;
      if (needed && !machine.linked[from][to]) return std::pair{from, to};
    }
  }
  return {};
}

Status check_links(const std::string& algorithm, std::uint32_t ranks, const Machine& machine) {
  const auto missing = missing_link(algorithm, ranks, machine);
  if (!missing) return {};
  const bool ring = algorithm == "ring";
  return fail(About::machine, "t3.topology",
              fmt::format("{} {} ranks, but GPU {} of {} has no link to GPU {}",
                          ring ? "a ring links the" : algorithm + " needs links between all", ranks, missing->first,
                          machine.name, missing->second),
              ring ? "use all GPUs of a ring, or a machine where every pair is linked"
                   : "use a machine where every pair is linked, or the algorithm ring if there is a ring");
}

/// The requested preset, or the direct one if every pair is linked.
Result<T3Preset> choose_preset(const T3Request& request, const Machine& machine) {
  const std::vector<std::string> known = algorithms_of(request.collective);
  std::string algorithm = request.algorithm;
  if (algorithm == "auto") {
    const bool ring = missing_link("direct", request.ranks, machine).has_value() &&
                      std::find(known.begin(), known.end(), "ring") != known.end();
    algorithm = ring ? "ring" : "direct";
  }
  for (const T3Preset& preset : list_t3_presets()) {
    if (preset.collective != request.collective || preset.algorithm != algorithm) continue;
    CORTADO_RETURN_IF_ERROR(check_links(algorithm, request.ranks, machine));
    return preset;
  }
  return fail(About::strategy, "t3.algorithm", fmt::format("{} has no algorithm '{}'", request.collective, algorithm),
              suggestion(algorithm, known));
}

/// For the GEMM of a rank.
std::uint32_t chunks_of(const T3Request& request) {
  return request.collective == "all-gather" ? 1 : request.ranks;
}

/// The axis must be resolved.
Result<Tiling> settle_tiling(const T3Request& request, const Machine& machine) {
  const std::uint64_t chunks = chunks_of(request);
  const bool by_rows = request.axis == T3Axis::rows;
  const ProductCut cut{.row_parts = by_rows ? chunks : 1, .column_parts = by_rows ? 1 : chunks};
  Tiling tiling = request.tiling ? *request.tiling : choose_tiling(request.gemm, machine, machine.compute_units, cut);
  if (!request.tiling && !machine.features.near_memory_compute) tiling.split_k = 1;  // memory cannot add the parts
  if (request.split_k > 0) tiling.split_k = request.split_k;
  if (tiling.tile_m == 0 || tiling.tile_n == 0 || tiling.split_k == 0) {
    return fail(About::strategy, "t3.tiling", "tiles with 0 rows, columns or workgroups", "use 1 or more of each");
  }
  constexpr std::uint64_t kLargestTile = 1U << 28U;  // as the largest dimension of a GEMM
  if (tiling.tile_m > kLargestTile || tiling.tile_n > kLargestTile) {
    return fail(About::strategy, "t3.tiling", fmt::format("tiles of {} x {}", tiling.tile_m, tiling.tile_n),
                "use no more than the GEMM has rows and columns");
  }
  if (tiling.split_k <= request.gemm.k) return tiling;
  return fail(About::strategy, "t3.tiling",
              fmt::format("k is {}, too short for {} workgroups", request.gemm.k, tiling.split_k),
              fmt::format("use a split of k of 1 to {}", request.gemm.k));
}

/// What does not depend on the maps.
Result<CheckedT3> settle(const T3Request& request, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_collective(request.collective));
  CheckedT3 checked{request, {}, {}};
  if (request.ranks == 0) checked.request.ranks = machine.gpus;
  const std::uint32_t ranks = checked.request.ranks;
  CORTADO_RETURN_IF_ERROR(check_t3_ranks(ranks, machine));
  CORTADO_RETURN_IF_ERROR(check_tracker(machine));
  if (request.gemm.accumulate) {
    return fail("t3.accumulate", "a GEMM that accumulates has no contract: repeated runs would add up",
                "drop accumulate");
  }
  CORTADO_RETURN_IF_ERROR(check_gemm(request.gemm, machine));
  if (request.axis == T3Axis::automatic) {
    checked.request.axis = request.gemm.m >= request.gemm.n ? T3Axis::rows : T3Axis::columns;
  }
  const bool by_rows = checked.request.axis == T3Axis::rows;
  const std::uint64_t extent = by_rows ? request.gemm.m : request.gemm.n;
  if (request.collective != "all-gather" && extent < ranks) {
    return fail(About::strategy, "t3.shape",
                fmt::format("{} {} cannot be divided among {} ranks", extent, by_rows ? "rows" : "columns", ranks),
                "use fewer ranks or a larger GEMM, or split along the other dimension");
  }
  CORTADO_ASSIGN_OR_RETURN(checked.tiling, settle_tiling(checked.request, machine));
  checked.request.split_k = checked.tiling.split_k;
  return checked;
}

// --- Maps by hand ----------------------------------------------------------------------------------------------------

/// "" if a program can be made of the entry.
std::string fault(std::uint32_t rank, const T3Entry& entry, const CheckedT3& checked, const Machine& machine) {
  const std::uint32_t ranks = checked.request.ranks;
  if (entry.chunk >= checked.maps[rank].chunks()) return "there is no such chunk";
  if (entry.pieces == 0) return "it has no pieces";
  std::vector<RankId> receivers;
  if (entry.remote) receivers.push_back(*entry.remote);
  for (const DmaOperation& dma : entry.dma) receivers.push_back(dma.to);
  for (const RankId to : receivers) {
    if (to.value >= ranks) return fmt::format("it goes to rank {}, but there are {} ranks", to.value, ranks);
    if (to.value != rank && !machine.linked[rank][to.value]) {
      return fmt::format("it goes to rank {}, which is not a neighbour on {}", to.value, machine.name);
    }
  }
  return {};
}

Status check_maps(const CheckedT3& checked, const Machine& machine) {
  const T3Request& request = checked.request;
  if (checked.maps.size() != request.ranks) {
    return fail(About::strategy, "t3.map", fmt::format("{} maps for {} ranks", checked.maps.size(), request.ranks),
                "use one map per rank");
  }
  const std::uint32_t chunks = chunks_of(request);
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    if (checked.maps[rank].chunks() != chunks) {
      return fail(About::strategy, "t3.map",
                  fmt::format("the map of rank {} has {} chunks; for {} on {} ranks a GEMM has {}", rank,
                              checked.maps[rank].chunks(), request.collective, request.ranks, chunks),
                  "split the GEMM of every rank into as many chunks as the collective needs");
    }
    for (const T3Entry& entry : checked.maps[rank].entries()) {
      const std::string found = fault(rank, entry, checked, machine);
      if (found.empty()) continue;
      return fail(About::strategy, "t3.map",
                  fmt::format("chunk {} (slot {}) of rank {}: {}", entry.chunk, entry.slot, rank, found),
                  "correct the map of that rank");
    }
  }
  return {};
}

}  // namespace

Result<CheckedT3> check_t3(const T3Request& request, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(CheckedT3 checked, settle(request, machine));
  CORTADO_ASSIGN_OR_RETURN(const T3Preset preset, choose_preset(checked.request, machine));
  checked.request.algorithm = preset.algorithm;
  checked.maps = preset.maps(checked.request.ranks, checked.tiling.split_k);
  CORTADO_RETURN_IF_ERROR(check_adding(checked.maps, machine));
  return checked;
}

Result<CheckedT3> check_t3(const T3Request& request, const std::vector<T3Map>& maps, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(CheckedT3 checked, settle(request, machine));
  checked.request.algorithm = "map";
  checked.maps = maps;
  CORTADO_RETURN_IF_ERROR(check_maps(checked, machine));
  CORTADO_RETURN_IF_ERROR(check_adding(maps, machine));
  return checked;
}

}  // namespace plan

std::string name_of(T3Axis axis) {
  return plan::kAxisNames[static_cast<std::size_t>(axis)];
}

Result<T3Axis> find_t3_axis(std::string_view name) {
  const auto found = std::find(plan::kAxisNames.begin(), plan::kAxisNames.end(), name);
  if (found != plan::kAxisNames.end()) return static_cast<T3Axis>(found - plan::kAxisNames.begin());
  return fail("t3.axis", fmt::format("unknown axis '{}'", name),
              suggestion(name, {plan::kAxisNames.begin(), plan::kAxisNames.end()}));
}

}  // namespace cortado
