#include "sweep/run.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace cortado::sweep {
namespace {

using Clock = std::chrono::steady_clock;

/// Two wake-ups for each, 0.1 ms of a core together on a virtual machine.
constexpr double kHandfulSeconds = 0.1;
constexpr std::size_t kMostInHand = 4096;
/// One is done while the next one waits, so that nobody waits for the writer.
constexpr std::size_t kHandfulsAhead = 2;
constexpr std::chrono::milliseconds kBetweenCommits{200};
constexpr std::chrono::milliseconds kPatience{100};
/// Of a new time in the mean of times.
constexpr double kWeight = 0.2;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Boss {
 public:
  Boss(Store& store, Crew& crew, const RunOptions& options)
      : store_(store), crew_(crew), options_(options), before_(store.counts()) {}

  Result<bool> run() {
    const auto done = hand_out();
    if (done) return *done;
    crew_.stop();
    return fail(done.error());
  }

 private:
  Result<bool> hand_out() {
    for (std::size_t round = 0; round < kHandfulsAhead; ++round) {
      for (std::size_t worker = 0; worker < crew_.workers(); ++worker) CORTADO_RETURN_IF_ERROR(give(worker));
    }
    while (given_ > 0) {
      const auto next = crew_.next(kPatience);
      if (!next) {
        CORTADO_RETURN_IF_ERROR(store_.commit());  // what the crew did before it broke down
        return fail(next.error());
      }
      if (const std::optional<Crew::Returned>& returned = *next) {
        --given_;
        learn(returned->batch);
        CORTADO_RETURN_IF_ERROR(store_.add(returned->batch));
        CORTADO_RETURN_IF_ERROR(give(returned->worker));
      }
      if (Clock::now() - committed_ < kBetweenCommits) continue;
      CORTADO_RETURN_IF_ERROR(store_.commit());
      committed_ = Clock::now();
      if (!stopped_ && options_.progress && !options_.progress(progress())) {
        stopped_ = true;
        crew_.stop();
      }
    }
    CORTADO_RETURN_IF_ERROR(store_.finish());
    if (options_.progress) options_.progress(progress());
    return store_.counts().waiting == 0;
  }

  Status give(std::size_t worker) {
    if (stopped_) return {};
    const std::size_t most = handful(kHandfulSeconds, seconds_of_point_, store_.counts().waiting, crew_.workers());
    CORTADO_ASSIGN_OR_RETURN(std::vector<Task> tasks, store_.take(most));
    if (tasks.empty()) return {};
    ++given_;
    return crew_.give(worker, std::move(tasks));
  }

  void learn(const Batch& batch) {
    if (batch.points.empty()) return;
    const double seconds = batch.seconds / static_cast<double>(batch.points.size());
    seconds_of_point_ = seconds_of_point_ == 0 ? seconds : seconds_of_point_ + kWeight * (seconds - seconds_of_point_);
  }

  Progress progress() const {
    Progress progress{.counts = store_.counts()};
    const double seconds = seconds_since(begin_);
    const auto done = static_cast<double>(before_.waiting - progress.counts.waiting);
    if (seconds > 0) progress.points_per_second = done / seconds;
    if (done > 0) progress.seconds_left = static_cast<double>(progress.counts.waiting) / progress.points_per_second;
    return progress;
  }

  Store& store_;
  Crew& crew_;
  const RunOptions& options_;
  PointCounts before_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point committed_ = begin_;
  std::size_t given_ = 0;
  double seconds_of_point_ = 0;  // 0: not known yet
  bool stopped_ = false;
};

}  // namespace

std::size_t handful(double seconds, double seconds_of_point, std::int64_t left, std::size_t workers) {
  if (seconds_of_point <= 0) return 1;
  const double by_time = std::clamp(seconds / seconds_of_point, 1.0, static_cast<double>(kMostInHand));
  const double fair = static_cast<double>(left) / static_cast<double>(2 * kHandfulsAhead * workers);
  return static_cast<std::size_t>(std::max(1.0, std::min(by_time, fair)));
}

Result<bool> run_sweep(Store& store, Crew& crew, const RunOptions& options) {
  return Boss(store, crew, options).run();
}

}  // namespace cortado::sweep
