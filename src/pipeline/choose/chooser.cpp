#include <cstdlib>

#include "cortado/pipeline/choose.hpp"

#include "pipeline/choose/cost_cache.hpp"
#include "pipeline/parallel.hpp"

namespace cortado::pipeline {

std::optional<std::string> default_cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  // The XDG specification has relative paths ignored.
  if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with('/')) return cache + "/cortado";
  if (const std::string home = variable("HOME"); home.starts_with('/')) return home + "/.cache/cortado";
  return {};
}

Chooser::Chooser(const Machine& machine, ChooserOptions options)
    : Chooser(machine, std::move(options), simulated_cost(machine)) {}

Chooser::Chooser(const Machine& machine, ChooserOptions options, std::unique_ptr<CostModel> cost)
    : machine_(machine), options_(std::move(options)), cost_(std::move(cost)) {}

Chooser::~Chooser() = default;

CostCache& Chooser::cache(Collective collective) {
  std::unique_ptr<CostCache>& cache = caches_[collective];
  if (!cache) cache = std::make_unique<CostCache>(machine_, collective, options_.cache_folder);
  return *cache;
}

std::vector<Result<Nanoseconds>> Chooser::times(const std::vector<CollectiveRequest>& requests,
                                                const Progress& progress) {
  std::vector<Result<Nanoseconds>> times(requests.size());
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (const auto kept = cache(requests[i].collective).find(requests[i])) {
      times[i] = *kept;
    } else {
      unknown.push_back(i);
    }
  }
  const auto simulate = [&](std::size_t i) { times[unknown[i]] = cost_->time(requests[unknown[i]]); };
  const auto done = [&](std::size_t finished) {
    if (progress) progress(finished, unknown.size());
    return true;
  };
  for_each_in_parallel(unknown.size(), options_.threads, simulate, done);
  for (const std::size_t i : unknown) {
    if (times[i]) cache(requests[i].collective).add(requests[i], *times[i]);
  }
  return times;
}

Result<ChoiceRow> Chooser::row(const ChoiceRequest& request) {
  CORTADO_ASSIGN_OR_RETURN(const auto candidates, list_candidates(request));
  return rank_candidates(candidates, times(candidates, {}));
}

Result<ChoiceTable> Chooser::table(const ChoiceRequest& request, const std::vector<Bytes>& sizes,
                                   const Progress& progress) {
  CORTADO_ASSIGN_OR_RETURN(const auto candidates, list_candidates(request));
  std::vector<CollectiveRequest> all;
  for (const Bytes size : sizes) {
    for (CollectiveRequest candidate : candidates) {
      candidate.bytes = size;
      all.push_back(std::move(candidate));
    }
  }
  const std::vector<Result<Nanoseconds>> all_times = times(all, progress);

  ChoiceTable table;
  for (std::size_t first = 0; first < all.size(); first += candidates.size()) {
    const auto from = static_cast<std::ptrdiff_t>(first);
    const auto to = from + static_cast<std::ptrdiff_t>(candidates.size());
    auto row =
        rank_candidates({all.begin() + from, all.begin() + to}, {all_times.begin() + from, all_times.begin() + to});
    if (row) table.push_back(*std::move(row));
  }
  return table;
}

Status Chooser::save() {
  for (const auto& [collective, cache] : caches_) CORTADO_RETURN_IF_ERROR(cache->save());
  return {};
}

}  // namespace cortado::pipeline
