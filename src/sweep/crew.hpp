// Those who do the points of a sweep: threads of this process, or other processes.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cortado/result.hpp"

#include "sweep/answer.hpp"
#include "sweep/question.hpp"

namespace cortado::sweep {

class Crew {
 public:
  struct Returned {
    std::size_t worker = 0;
    Batch batch;  ///< after stop() perhaps with fewer points than were given
  };

  Crew() = default;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  virtual ~Crew() = default;

  virtual std::size_t workers() const = 0;
  /// How many workers have died. The others take over their tasks.
  virtual std::size_t lost() const { return 0; }
  /// One batch comes back for each one given, possibly from another worker.
  virtual Status give(std::size_t worker, std::vector<Task> tasks) = 0;
  /// Waits at most so long; none: nothing came.
  virtual Result<std::optional<Returned>> next(std::chrono::milliseconds most) = 0;
  /// Points that were not begun come back undone.
  virtual void stop() = 0;
};

class ThreadCrew : public Crew {
 public:
  /// The question outlives it.
  ThreadCrew(const Question& question, const std::vector<std::string>& tables, const std::vector<std::string>& columns,
             std::size_t threads);
  ~ThreadCrew() override;

  std::size_t workers() const override { return threads_.size(); }
  Status give(std::size_t worker, std::vector<Task> tasks) override;
  Result<std::optional<Returned>> next(std::chrono::milliseconds most) override;
  void stop() override;

 private:
  void work(std::size_t at, const Question& question, const std::vector<std::string>& tables,
            const std::vector<std::string>& columns);

  std::mutex lock_;
  std::condition_variable for_workers_;
  std::condition_variable for_boss_;
  std::deque<std::vector<Task>> waiting_;  // for any thread; this and what follows: guarded by lock_
  std::deque<Returned> returned_;
  std::exception_ptr thrown_;
  bool ended_ = false;
  std::atomic<bool> stopped_{false};   // looked at before every point, without the lock
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace cortado::sweep
