#include "verify/callers.hpp"

#include <algorithm>
#include <tuple>

#include "ir/visit.hpp"
#include "verify/regions.hpp"

namespace cortado::verifier {
namespace {

/// Appends regions of one buffer to `all`, with adjacent and duplicate ones joined.
void add_merged(std::vector<Region> regions, std::vector<Region>& all) {
  for (Region& region : regions) region = joined(region);
  const auto key = [](const Region& r) { return std::tuple(r.offset, r.rows, r.width, r.pitch); };
  if (!std::ranges::is_sorted(regions, {}, key)) std::ranges::sort(regions, {}, key);
  const std::size_t before = all.size();
  for (const Region& region : regions) {
    if (all.size() > before) {
      Region& last = all.back();
      if (region == last) continue;
      const bool plain = region.rows == 1 && last.rows == 1;
      if (plain && region.offset <= last.offset + last.width) {
        last.width = std::max(last.offset + last.width, region.offset + region.width) - last.offset;
        continue;
      }
    }
    all.push_back(region);
  }
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
  std::vector<CallerRegions> of_buffers(program.buffers.size());
  for_each_output(program.contract,
                  [&](const Region& region) { of_buffers[region.buffer.value].outputs.push_back(region); });
  for_each_input(program, [&](const Region& region) {
    auto& inputs = of_buffers[region.buffer.value].inputs;
    if (inputs.empty() || inputs.back() != region) inputs.push_back(region);  // a gathered block appears once per rank
  });
  std::vector<CallerRegions> regions(program.queues.size());
  for (std::uint32_t b = 0; b < of_buffers.size(); ++b) {
    const auto queue = callers[program.buffers[b].rank.value];
    if (!queue) continue;
    add_merged(std::move(of_buffers[b].inputs), regions[queue->value].inputs);
    add_merged(std::move(of_buffers[b].outputs), regions[queue->value].outputs);
  }
  return regions;
}

}  // namespace cortado::verifier
