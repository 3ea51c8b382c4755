#include <cstdlib>

#include "pipeline/choose.hpp"
#include "pipeline/choose/simulated_cost.hpp"
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
    : machine_(machine),
      options_(std::move(options)),
      cost_(std::make_unique<SimulatedCost>(machine, options_.cache_folder)) {}

Chooser::~Chooser() = default;

std::vector<Result<Nanoseconds>> Chooser::times(const std::vector<CollectiveRequest>& requests,
                                                const Progress& progress) {
  std::vector<Result<Nanoseconds>> times(requests.size());
  const auto simulate = [&](std::size_t i) { times[i] = cost_->collective(requests[i]); };
  const auto done = [&](std::size_t finished) {
    if (progress) progress(finished, requests.size());
    return true;
  };
  for_each_in_parallel(requests.size(), options_.threads, simulate, done);
  return times;
}

Result<ScheduleChoice> Chooser::schedule(const DependentRequest& request) {
  const std::string key = request_key(request, machine_.gpus);
  {
    const std::scoped_lock guard(lock_);
    if (const auto known = schedules_.find(key); known != schedules_.end()) return known->second;
  }
  CORTADO_ASSIGN_OR_RETURN(ScheduleChoice made, auto_schedule(request, machine_, *cost_));
  const std::scoped_lock guard(lock_);
  if (schedules_.size() >= options_.most_schedules) schedules_.clear();
  schedules_.emplace(key, made);
  return made;
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
  return cost_->save();
}

}  // namespace cortado::pipeline
