#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/choose_schedule.hpp"

namespace cortado {
namespace {

struct Candidate {
  std::size_t place;  // in the list
  FiccoSchedule schedule;
  Nanoseconds least{};
  Nanoseconds likely{};
  Nanoseconds time{};
  bool is_hopeless = false;   // its least time may be longer than `least`, which is enough to leave it out
  bool is_estimated = false;  // its likely time is known
};

double real(Nanoseconds time) {
  return static_cast<double>(time.value);
}

class Search {
 public:
  Search(const DependentRequest& request, const Machine& machine, const CostModel& cost, ScheduleFamily family)
      : request_(request),
        cost_(cost),
        ranks_(request.ranks == 0 ? machine.gpus : request.ranks),
        even_(request.tokens.empty()),
        margin_(even_ ? kSearchMargin : kUnevenMargin) {
    for (const FiccoSchedule& schedule : schedule_candidates(request, machine, family)) {
      left_.push_back({left_.size(), schedule});
    }
    choice_.work.candidates = left_.size();
  }

  Result<ScheduleChoice> run() {
    bound();
    std::vector<Candidate> all = left_;
    for (std::size_t refused = 0;; refused = choice_.refused.size()) {
      left_ = all;
      set_aside_.clear();
      choice_.work = {.candidates = choice_.work.candidates};
      estimate();
      refused = choice_.refused.size();
      simulate();
      // What seemed the best may turn out to be impossible, and what it pruned not.
      if (choice_.refused.size() == refused) break;
      left_ = std::move(all);
      std::erase_if(left_, [this](const Candidate& candidate) { return is_refused(candidate.schedule); });
      bound_all();
      all = left_;
    }
    if (left_.empty()) return fail(reason_of_serial());
    reconsider();
    try_exchanges();
    choice_.schedule = left_.front().schedule;
    choice_.time = left_.front().time;
    if (left_.size() > 1) choice_.runner_up = {left_[1].schedule, left_[1].time};
    return std::move(choice_);
  }

 private:
  /// Those that look best so far are estimated at once: it will not matter how much longer than that and the margin
  /// others take, because what the best prunes comes behind it.
  void bound() {
    Nanoseconds best = kEndless;
    Nanoseconds enough = kEndless;
    keep(&Candidate::least, [&](Candidate& candidate) {
      const auto bounds = cost_.bounds(request_, candidate.schedule, enough, best);
      if (!bounds) return refuse(candidate, bounds.error());
      candidate.least = bounds->least;
      candidate.is_hopeless = candidate.least > enough;
      if (!bounds->likely) return true;
      candidate.likely = *bounds->likely;
      candidate.is_estimated = true;
      best = std::min(best, std::max(candidate.least, candidate.likely));
      enough = {static_cast<std::int64_t>(std::ceil((1 + margin_) * real(best)))};
      return true;
    });
  }

  /// Where what seemed the best turned out to be impossible.
  void bound_all() {
    keep(&Candidate::least, [this](Candidate& candidate) { return knows_least(candidate); });
  }

  /// All of its least time, not only that it is longer than something.
  bool knows_least(Candidate& candidate) {
    if (!std::exchange(candidate.is_hopeless, false)) return true;
    return noted(candidate, cost_.least(request_, candidate.schedule, kEndless), &Candidate::least);
  }

  bool knows_likely(Candidate& candidate) {
    return candidate.is_estimated || noted(candidate, cost_.likely(request_, candidate.schedule), &Candidate::likely);
  }

  void estimate() {
    std::optional<Nanoseconds> best;
    keep(&Candidate::likely, [&](Candidate& candidate) {
      if (best && real(candidate.least) > (1 + margin_) * real(*best)) {
        set_aside_.push_back(candidate);
        return pruned();
      }
      if (!knows_likely(candidate)) return false;
      ++choice_.work.estimated;
      best = best ? std::min(*best, candidate.likely) : candidate.likely;
      return true;
    });
  }

  void simulate() {
    std::optional<Nanoseconds> best;
    std::uint32_t steps = 0;
    keep(&Candidate::time, [&](Candidate& candidate) {
      if (best && least_time(candidate) > real(*best)) return pruned();
      if (best && hoped_time(candidate) > real(*best)) return false;
      if (best && steps + steps_of(candidate.schedule) > (even_ ? kSearchSteps : kUnevenSteps)) return false;
      if (!noted(candidate, cost_.exact(request_, candidate.schedule), &Candidate::time)) return false;
      ++choice_.work.simulated;
      steps += steps_of(candidate.schedule);
      best = best ? std::min(*best, candidate.time) : candidate.time;
      return true;
    });
  }

  /// Those that were left out because of a likely time that turned out to be too short.
  void reconsider() {
    for (Candidate& candidate : set_aside_) {
      const Nanoseconds best = left_.front().time;
      if (least_time(candidate) > real(best)) continue;  // and it may be longer still
      if (!knows_least(candidate) || least_time(candidate) > real(best)) continue;
      if (!knows_likely(candidate)) continue;
      --choice_.work.pruned;
      ++choice_.work.estimated;
      if (hoped_time(candidate) > real(best)) continue;
      if (!noted(candidate, cost_.exact(request_, candidate.schedule), &Candidate::time)) continue;
      ++choice_.work.simulated;
      left_.push_back(candidate);
      keep(&Candidate::time, [](const Candidate&) { return true; });
    }
  }

  /// Candidates are compared with plain copies. The fastest of them may gain from another exchange.
  void try_exchanges() {
    if (request_.dependence != Dependence::collective_first) return;
    const double near = (1 + kSearchMargin) * real(left_.front().time);
    keep(&Candidate::time, [&](Candidate& candidate) {
      FiccoSchedule schedule = candidate.schedule;
      if (schedule.grain != Grain::chunks || real(candidate.time) > near) return true;
      schedule.exchange = ExchangeVariant::automatic;
      const auto time = cost_.exact(request_, schedule);
      if (!time || *time >= candidate.time) return true;
      candidate.schedule = schedule;
      candidate.time = *time;
      return true;
    });
  }

  /// Of uneven rows least times err as likely ones do: others send less, or are done earlier.
  double least_time(const Candidate& candidate) const {
    return even_ ? real(candidate.least) : (1 - margin_) * real(candidate.least);
  }

  /// The candidate can be below this only if its likely time errs by more than it is trusted to.
  double hoped_time(const Candidate& candidate) const {
    const double likely = real(candidate.likely);
    const double contention = likely - real(candidate.least);
    if (!even_) return (1 - margin_) * likely;
    return likely - std::min(margin_ * likely, kLeastMargin * likely + kContentionMargin * contention);
  }

  /// Asks one candidate after the other. Those that stay are ordered by what was asked, of equal ones the first in the
  /// list.
  template <class Ask>
  void keep(Nanoseconds Candidate::*asked, Ask ask) {
    std::vector<Candidate> kept;
    for (Candidate& candidate : left_) {
      if (ask(candidate)) kept.push_back(candidate);
    }
    std::sort(kept.begin(), kept.end(), [asked](const Candidate& a, const Candidate& b) {
      return std::pair(a.*asked, a.place) < std::pair(b.*asked, b.place);
    });
    left_ = std::move(kept);
  }

  /// Whether there is an answer.
  bool noted(Candidate& candidate, const Result<Nanoseconds>& answer, Nanoseconds Candidate::*time) {
    if (!answer) return refuse(candidate, answer.error());
    candidate.*time = *answer;
    return true;
  }

  /// It is no candidate any more.
  bool refuse(const Candidate& candidate, const Diagnostic& reason) {
    choice_.refused.push_back({candidate.schedule, reason});
    return false;
  }

  bool is_refused(const FiccoSchedule& schedule) const {
    return std::ranges::find(choice_.refused, schedule, &RefusedSchedule::schedule) != choice_.refused.end();
  }

  bool pruned() {
    ++choice_.work.pruned;
    return false;
  }

  std::uint32_t steps_of(const FiccoSchedule& schedule) const {
    if (schedule.grain == Grain::chunks) return schedule.fused ? schedule.chunks : 2 * schedule.chunks;
    if (has_tiles(schedule.grain)) return std::max(1U, schedule.chunks);
    return schedule.grain == Grain::shards ? ranks_ - 1 : 1;
  }

  Diagnostic reason_of_serial() const {
    const auto serial = [](const RefusedSchedule& refused) {
      return refused.schedule.grain == Grain::whole && refused.schedule.means == CollectiveMeans::dma;
    };
    const auto found = std::find_if(choice_.refused.begin(), choice_.refused.end(), serial);
    return (found == choice_.refused.end() ? choice_.refused.front() : *found).reason;
  }

  const DependentRequest& request_;
  const CostModel& cost_;
  const std::uint32_t ranks_;
  const bool even_;                   // rows
  const double margin_;               // of likely times
  std::vector<Candidate> left_;       // that may still win
  std::vector<Candidate> set_aside_;  // of the others, those whose least time is well above the best likely one
  ScheduleChoice choice_;
};

}  // namespace

std::vector<std::uint32_t> tile_chunks(Grain grain, const DependentRequest& request, const Machine& machine) {
  if (grain == Grain::tiles) return {1, 2, 4};
  if (request.dependence == Dependence::collective_first) return {};
  const std::uint32_t usual = default_chunks(request.ranks == 0 ? machine.gpus : request.ranks);
  return {usual / 2, usual, 2 * usual};
}

namespace {

std::vector<CollectiveMeans> tile_means(const DependentRequest& request) {
  std::vector<CollectiveMeans> means{CollectiveMeans::dma, CollectiveMeans::cores};
  if (request.dependence == Dependence::product_first) means.push_back(CollectiveMeans::stores);
  return means;
}

}  // namespace

std::vector<FiccoSchedule> schedule_candidates(const DependentRequest& request, const Machine& machine,
                                               ScheduleFamily family) {
  const std::uint32_t usual = default_chunks(request.ranks == 0 ? machine.gpus : request.ranks);
  std::vector<std::uint32_t> counts;
  for (const std::uint32_t chunks : {usual / 4, usual / 2, usual, 2 * usual, 4 * usual}) {
    const bool more = counts.empty() || chunks > counts.back();
    if (chunks >= 2 && more) counts.push_back(chunks);
  }
  std::vector<FiccoSchedule> candidates;
  for (const FiccoScheduleInfo& info : list_schedules()) {
    if (family == ScheduleFamily::tiles) break;
    if (info.schedule.grain != Grain::chunks) {
      candidates.push_back(info.schedule);
      continue;
    }
    for (const std::uint32_t chunks : counts) {
      candidates.push_back(info.schedule);
      candidates.back().chunks = chunks;
    }
  }
  if (family == ScheduleFamily::ficco) return candidates;
  for (const FiccoScheduleInfo& info : list_tile_schedules()) {
    for (const CollectiveMeans means : tile_means(request)) {
      for (const std::uint32_t chunks : tile_chunks(info.schedule.grain, request, machine)) {
        candidates.push_back(info.schedule);
        candidates.back().chunks = chunks;
        candidates.back().means = means;
      }
    }
  }
  candidates.push_back({.grain = Grain::whole, .means = CollectiveMeans::cores, .exchange = ExchangeVariant::pcpy});
  return candidates;
}

std::optional<double> ScheduleChoice::margin() const {
  if (!runner_up) return {};
  return real(runner_up->time) / real(time) - 1;
}

Result<ScheduleChoice> search_schedules(const DependentRequest& request, const Machine& machine, const CostModel& cost,
                                        ScheduleFamily family) {
  return Search(request, machine, cost, family).run();
}

}  // namespace cortado
