#include "pipeline/kv/fetch_times.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "pipeline/parallel.hpp"

namespace cortado::pipeline {

Outcome<FetchTimes::Way> FetchTimes::way_of(const std::string& name, std::uint64_t blocks) const {
  const auto strategy = plan::find_kv_strategy(name);
  if (!strategy) return fail_at(Stage::plan, strategy.error());
  const auto line = kv_line(*strategy, request_, machine_);
  if (!line) return fail(line.error());
  Way way{name, *strategy, *line};
  if (blocks >= line->from_blocks) return way;
  plan::KvRequest asked = request_;
  asked.blocks = blocks;
  const auto transfer = simulate_kv(*strategy, asked, machine_);
  if (!transfer) return fail(transfer.error());
  way.known.emplace(blocks, *transfer);
  return way;
}

std::vector<Outcome<void>> FetchTimes::add(const std::vector<std::string>& names, std::uint64_t blocks,
                                           std::uint32_t threads) {
  std::vector<std::optional<Outcome<Way>>> found(names.size());
  for_each_in_parallel(
      names.size(), threads, [&](std::size_t i) { found[i] = way_of(names[i], blocks); },
      [](std::size_t) { return true; });
  std::vector<Outcome<void>> added;
  for (std::optional<Outcome<Way>>& way : found) {
    if (!*way) {
      added.emplace_back(fail((*way).error()));
      continue;
    }
    ways_.push_back(**std::move(way));
    added.emplace_back();
  }
  return added;
}

Outcome<KvTransfer> FetchTimes::at(std::size_t way, std::uint64_t blocks) {
  Way& of = ways_[way];
  if (blocks >= of.line.from_blocks) return of.line.at(blocks);
  if (const auto known = of.known.find(blocks); known != of.known.end()) return known->second;
  plan::KvRequest asked = request_;
  asked.blocks = blocks;
  auto transfer = simulate_kv(of.strategy, asked, machine_);
  if (transfer) of.known.emplace(blocks, *transfer);
  return transfer;
}

double FetchTimes::at_least(std::size_t way, std::uint64_t blocks) const {
  const Way& of = ways_[way];
  if (blocks >= of.line.from_blocks) return of.line.at(blocks).alone_seconds();
  const auto above = of.known.upper_bound(blocks);
  if (above == of.known.begin()) return 0;
  const auto& [fewer, transfer] = *std::prev(above);
  return fewer == blocks || !kv_lists(of.strategy) ? transfer.alone_seconds() : 0;
}

double FetchTimes::at_least(std::uint64_t blocks) const {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t way = 0; way < ways_.size(); ++way) least = std::min(least, at_least(way, blocks));
  return least;
}

Outcome<FetchTimes::Fastest> FetchTimes::fastest(std::uint64_t blocks) {
  // Those that may be fastest first: most others then need no simulation.
  std::vector<std::size_t> order(ways_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t way) { return at_least(way, blocks); });
  std::optional<Fastest> best;
  for (const std::size_t way : order) {
    if (best && at_least(way, blocks) > best->transfer.alone_seconds()) continue;
    const auto transfer = at(way, blocks);
    if (!transfer) return fail(transfer.error());
    const double seconds = transfer->alone_seconds();
    const bool better = !best || seconds < best->transfer.alone_seconds() ||
                        (seconds == best->transfer.alone_seconds() && way < best->way);
    if (better) best = {way, *transfer};
  }
  return *best;
}

}  // namespace cortado::pipeline
