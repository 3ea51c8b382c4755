#include "verify/callers.hpp"

#include <algorithm>
#include <tuple>

#include "cortado/ir/visit.hpp"

#include "verify/regions.hpp"

namespace cortado::verifier {
namespace {

/// The same bytes with neighbours and doubles joined.
std::vector<Region> merged(std::vector<Region> regions) {
  for (Region& region : regions) region = joined(region);
  std::ranges::sort(regions, {},
                    [](const Region& r) { return std::tuple(r.buffer, r.offset, r.rows, r.width, r.pitch); });
  std::vector<Region> result;
  for (const Region& region : regions) {
    if (!result.empty()) {
      Region& last = result.back();
      if (region == last) continue;
      const bool plain = region.rows == 1 && last.rows == 1 && region.buffer == last.buffer;
      if (plain && region.offset <= last.offset + last.width) {
        last.width = std::max(last.offset + last.width, region.offset + region.width) - last.offset;
        continue;
      }
    }
    result.push_back(region);
  }
  return result;
}

}  // namespace

std::vector<std::optional<QueueId>> caller_queues(const Program& program) {
  std::vector<std::optional<QueueId>> own(program.ranks);
  std::optional<QueueId> for_all;
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    const Queue& queue = program.queues[q];
    if (queue.kind != QueueKind::host) continue;
    auto& slot = queue.rank ? own[queue.rank->value] : for_all;
    if (!slot) slot = QueueId{q};
  }
  for (auto& queue : own) {
    if (!queue) queue = for_all;
  }
  return own;
}

std::vector<CallerRegions> caller_regions(const Program& program) {
  const auto callers = caller_queues(program);
  std::vector<CallerRegions> regions(program.queues.size());
  const auto caller_of = [&](const Region& region) { return callers[program.buffer(region.buffer).rank.value]; };
  for_each_output(program.contract, [&](const Region& region) {
    if (const auto queue = caller_of(region)) regions[queue->value].outputs.push_back(region);
  });
  for_each_input(program.contract, [&](const Region& region) {
    if (const auto queue = caller_of(region)) regions[queue->value].inputs.push_back(region);
  });
  for (CallerRegions& both : regions) {
    both.inputs = merged(std::move(both.inputs));
    both.outputs = merged(std::move(both.outputs));
  }
  return regions;
}

}  // namespace cortado::verifier
