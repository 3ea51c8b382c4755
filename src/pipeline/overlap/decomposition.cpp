#include "pipeline/overlap/decomposition.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::pipeline {
namespace {

constexpr std::size_t kMostKernels = 3;

std::string tiling_name(const Tiling& tiling) {
  const std::string tile = fmt::format("{}x{}", tiling.tile_m, tiling.tile_n);
  return tiling.split_k == 1 ? tile : fmt::format("{}/{}", tile, tiling.split_k);
}

/// The names with the most time; ties in the order of their names.
std::string longest(const std::map<std::string, double>& seconds) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, time] : seconds) sorted.emplace_back(-time, name);
  std::ranges::sort(sorted);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sorted.size() && i < kMostKernels; ++i) names.push_back(sorted[i].second);
  return join(names) + (sorted.size() > kMostKernels ? ", ..." : "");
}

}  // namespace

Pieces pieces_of(const Program& program, const Machine& machine) {
  using Key =
      std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, bool, std::uint64_t, std::uint64_t, std::uint64_t>;
  std::map<Key, GemmTimeParts> known;
  std::vector<Pieces> ranks(program.ranks);
  std::vector<std::map<std::string, double>> kernels(program.ranks);
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      const auto* gemm = std::get_if<Gemm>(&command);
      if (gemm == nullptr) continue;
      const GemmShape shape = shape_of(*gemm);
      const Tiling tiling = tiling_of(*gemm);
      const auto [found, added] = known.try_emplace(
          {shape.m, shape.n, shape.k, shape.accumulate, tiling.tile_m, tiling.tile_n, tiling.split_k});
      if (added) found->second = gemm_time_parts(shape, tiling, machine);
      Pieces& pieces = ranks[queue.rank->value];
      pieces.time += found->second;
      pieces.count += 1;
      if (pieces.count == 1 || flops(shape) > flops(pieces.largest)) pieces.largest = shape;
      kernels[queue.rank->value][tiling_name(tiling)] += found->second.sum();
    }
  }
  const auto slowest = std::ranges::max_element(ranks, {}, [](const Pieces& pieces) { return pieces.time.sum(); });
  slowest->kernels = longest(kernels[static_cast<std::size_t>(slowest - ranks.begin())]);
  return *slowest;
}

report::DecompositionCauses causes_of(const GemmTimeParts& pieces, const GemmTimeParts& whole) {
  const double all = whole.sum();
  return {.idle = (pieces.idle - whole.idle) / all,
          .tiles = (pieces.tiles - whole.tiles) / all,
          .operands = (pieces.operands - whole.operands) / all,
          .results = (pieces.results - whole.results) / all,
          .starts = (pieces.starts - whole.starts) / all};
}

}  // namespace cortado::pipeline
