#include <algorithm>
#include <map>
#include <vector>

#include "cortado/timeline.hpp"

#include "ir/visit.hpp"

namespace cortado {
namespace {

/// Number of bytes touched by at least one of the regions.
std::uint64_t union_bytes(const std::vector<Region>& regions) {
  std::map<BufferId, std::vector<std::pair<std::uint64_t, std::uint64_t>>> ranges;
  for (const Region& region : regions) {
    auto& of_buffer = ranges[region.buffer];
    if (region.pitch == region.width) {  // rows without gaps are one run
      const std::uint64_t first = region.offset.value;
      of_buffer.emplace_back(first, first + region.bytes().value);
      continue;
    }
    for (std::uint64_t row = 0; row < region.rows; ++row) {
      const std::uint64_t first = region.row_offset(row).value;
      of_buffer.emplace_back(first, first + region.width.value);
    }
  }
  std::uint64_t total = 0;
  for (auto& [buffer, list] : ranges) {
    std::sort(list.begin(), list.end());
    std::uint64_t covered = 0;
    for (const auto& [first, last] : list) {
      if (last > covered) total += last - std::max(first, covered);
      covered = std::max(covered, last);
    }
  }
  return total;
}

}  // namespace

double bus_factor(std::string_view collective, std::uint32_t ranks) {
  const double n = ranks;
  if (collective == "all-reduce") return 2 * (n - 1) / n;
  for (const std::string_view name : {"all-gather", "reduce-scatter", "all-to-all", "gather", "scatter"}) {
    if (collective == name) return (n - 1) / n;
  }
  return 1;
}

double bandwidth_gbps(Bytes bytes, Nanoseconds time) {
  return time.value > 0 ? static_cast<double>(bytes.value) / static_cast<double>(time.value) : 0;
}

Bandwidths bandwidths(std::string_view collective, std::uint32_t ranks, Bytes bytes, Nanoseconds time) {
  const double algorithm = bandwidth_gbps(bytes, time);
  return {algorithm, algorithm * bus_factor(collective, ranks)};
}

Bytes whole_buffer(const Program& program) {
  // If there is a collective, matrices do not count as bytes moved by it.
  const bool moves = !program.contract.clauses.empty();
  std::vector<std::vector<Region>> inputs(program.ranks);
  std::vector<std::vector<Region>> outputs(program.ranks);
  const auto rank_of = [&](const Region& region) { return program.buffer(region.buffer).rank.value; };
  for (const Clause& clause : program.contract.clauses) {
    outputs[rank_of(clause.output)].push_back(clause.output);
    for (const Region& term : clause.terms) inputs[rank_of(term)].push_back(term);
  }
  std::uint64_t largest = 0;
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
    largest = std::max({largest, union_bytes(moves ? inputs[rank] : caller_inputs(program, RankId{rank})),
                        union_bytes(moves ? outputs[rank] : caller_outputs(program, RankId{rank}))});
  }
  return {largest};
}

}  // namespace cortado
