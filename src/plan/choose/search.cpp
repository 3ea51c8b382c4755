#include <algorithm>
#include <utility>

#include "cortado/plan/choose_schedule.hpp"

namespace cortado {
namespace {

struct Simulated {
  std::size_t place;  // among the candidates
  ScheduleTime what;
};

/// A candidate that may win.
struct Contender {
  std::size_t place;  // among the candidates
  FiccoSchedule schedule;
  RoughTime rough;
};

class Search {
 public:
  Search(const DependentRequest& request, const Machine& machine, const ScheduleCost& cost)
      : request_(request), cost_(cost), candidates_(schedule_candidates(request, machine)) {
    choice_.work.candidates = candidates_.size();
  }

  Result<ScheduleChoice> run() {
    look_at_all();
    for (const Contender& contender : contenders_) consider(contender);
    if (simulated_.empty()) return fail(reason_of_first());
    choose();
    return std::move(choice_);
  }

 private:
  void look_at_all() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (const auto rough = cost_.rough(request_, candidates_[i])) {
        contenders_.push_back({i, candidates_[i], *rough});
      } else {
        choice_.refused.push_back({candidates_[i], rough.error()});
      }
    }
    const auto sooner = [](const Contender& a, const Contender& b) { return a.rough.likely < b.rough.likely; };
    std::stable_sort(contenders_.begin(), contenders_.end(), sooner);
  }

  void consider(const Contender& contender) {
    if (best_ && contender.rough.least > *best_) {
      ++choice_.work.pruned;
      return;
    }
    if (likely_best_ && ratio(contender.rough.likely, *likely_best_) > 1 + kSearchMargin) {
      ++choice_.work.unlikely;
      return;
    }
    const auto time = cost_.time(request_, contender.schedule);
    if (!time) {
      choice_.refused.push_back({contender.schedule, time.error()});
      return;
    }
    simulated_.push_back({contender.place, {contender.schedule, *time}});
    best_ = best_ ? std::min(*best_, *time) : *time;
    if (!likely_best_) likely_best_ = contender.rough.likely;
  }

  static double ratio(Nanoseconds a, Nanoseconds b) {
    return static_cast<double>(a.value) / static_cast<double>(std::max<std::int64_t>(b.value, 1));
  }

  /// Of equally fast ones the first of the candidates.
  void choose() {
    choice_.work.simulated = simulated_.size();
    const auto faster = [](const Simulated& a, const Simulated& b) {
      return std::pair(a.what.time, a.place) < std::pair(b.what.time, b.place);
    };
    std::sort(simulated_.begin(), simulated_.end(), faster);
    choice_.schedule = simulated_.front().what.schedule;
    choice_.time = simulated_.front().what.time;
    if (simulated_.size() > 1) choice_.runner_up = simulated_[1].what;
  }

  Diagnostic reason_of_first() const {
    const auto of_first = [&](const RefusedSchedule& refused) { return refused.schedule == candidates_.front(); };
    return std::find_if(choice_.refused.begin(), choice_.refused.end(), of_first)->reason;
  }

  const DependentRequest& request_;
  const ScheduleCost& cost_;
  const std::vector<FiccoSchedule> candidates_;
  std::vector<Contender> contenders_;
  std::vector<Simulated> simulated_;
  std::optional<Nanoseconds> best_;         // simulated
  std::optional<Nanoseconds> likely_best_;  // of the first that could be simulated
  ScheduleChoice choice_;
};

}  // namespace

std::vector<FiccoSchedule> schedule_candidates(const DependentRequest& request, const Machine& machine) {
  const std::uint32_t ranks = request.ranks == 0 ? machine.gpus : request.ranks;
  std::vector<std::uint32_t> counts;
  for (const std::uint32_t chunks : {ranks / 4, ranks / 2, ranks, 2 * ranks, 4 * ranks}) {
    const bool more = counts.empty() || chunks > counts.back();
    if (chunks >= 2 && more) counts.push_back(chunks);
  }
  std::vector<FiccoSchedule> candidates;
  for (const FiccoScheduleInfo& info : list_schedules()) {
    if (info.schedule.grain != Grain::chunks) {
      candidates.push_back(info.schedule);
      continue;
    }
    for (const std::uint32_t chunks : counts) {
      candidates.push_back(info.schedule);
      candidates.back().chunks = chunks;
    }
  }
  return candidates;
}

std::optional<double> ScheduleChoice::margin() const {
  if (!time || !runner_up) return {};
  return static_cast<double>(runner_up->time.value) / static_cast<double>(std::max<std::int64_t>(time->value, 1)) - 1;
}

Result<ScheduleChoice> search_schedules(const DependentRequest& request, const Machine& machine,
                                        const ScheduleCost& cost) {
  return Search(request, machine, cost).run();
}

Result<ScheduleChoice> auto_schedule(const DependentRequest& request, const Machine& machine,
                                     const ScheduleCost& cost) {
  return search_schedules(request, machine, cost);
}

}  // namespace cortado
