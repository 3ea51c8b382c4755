#include "cortado/timeline.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/visit.hpp"

namespace cortado {

Nanoseconds median_time(const Timeline& timeline) {
  std::vector<Nanoseconds> times = timeline.iteration_times;
  if (times.empty()) return {};
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  if (times.size() % 2 == 1) return *middle;
  const Nanoseconds below = *std::max_element(times.begin(), middle);
  return {below.value + (middle->value - below.value) / 2};
}

std::optional<EnergyUse> energy_of_iteration(const Timeline& timeline) {
  if (!timeline.energy || timeline.iteration_energies.empty()) return std::nullopt;
  const double share = 1 / static_cast<double>(timeline.iteration_energies.size());
  EnergyUse use{.energy = {}, .seconds = 0, .gpus = timeline.energy->gpus};
  for (const Energy& energy : timeline.iteration_energies) use.energy += energy;
  for (const Nanoseconds time : timeline.iteration_times) use.seconds += static_cast<double>(time.value) * 1e-9;
  use.energy = use.energy * share;
  use.seconds *= share;
  return use;
}

Nanoseconds upper_median(std::vector<Nanoseconds> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// --- Times by role ---------------------------------------------------------------------------------------------------

namespace {

struct Iteration {
  std::optional<Nanoseconds> begin;
  Nanoseconds gemm{};
  Nanoseconds collective{};
  Nanoseconds sent{};
};

void note(const Span& span, const Queue& queue, Iteration& iteration) {
  const auto until = [&](Nanoseconds& end) { end = std::max(end, span.end); };
  if (queue.role == QueueRole::collective) {
    until(iteration.collective);
    until(iteration.sent);
  } else if (span.kind == SpanKind::kernel || span.kind == SpanKind::copy) {
    until(role_of(queue, span.command) == QueueRole::collective ? iteration.collective : iteration.gemm);
  }
}

}  // namespace

RoleTimes times_by_role(const Timeline& timeline, const Program& program) {
  std::map<std::uint32_t, Iteration> iterations;
  for (const Span& span : timeline.spans) {
    Iteration& iteration = iterations[span.iteration];
    const Queue& queue = program.queues[span.track];
    if (queue.role == QueueRole::control) {
      if (queue.commands[span.command] != Command{Timestamp{"begin"}}) continue;
      iteration.begin = std::min(iteration.begin.value_or(span.start), span.start);
    } else {
      note(span, queue, iteration);
    }
  }
  std::vector<Nanoseconds> gemm;
  std::vector<Nanoseconds> collective;
  std::vector<Nanoseconds> sent;
  for (const auto& [number, one] : iterations) {
    const Nanoseconds begin = one.begin.value_or(Nanoseconds{});
    gemm.push_back(std::max(one.gemm - begin, Nanoseconds{}));
    collective.push_back(std::max(one.collective - begin, Nanoseconds{}));
    sent.push_back(std::max(one.sent - begin, Nanoseconds{}));
  }
  return {upper_median(std::move(gemm)), upper_median(std::move(collective)), upper_median(std::move(sent))};
}

// --- Bandwidths ------------------------------------------------------------------------------------------------------

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
