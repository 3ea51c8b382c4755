#include "sweep/crew.hpp"

#include <utility>

#include "sweep/worker.hpp"

namespace cortado::sweep {

ThreadCrew::ThreadCrew(const Question& question, const std::vector<std::string>& tables,
                       const std::vector<std::string>& columns, std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this, i, &question, tables, columns] { work(i, question, tables, columns); });
  }
}

ThreadCrew::~ThreadCrew() {
  const std::scoped_lock guard(lock_);
  stopped_ = true;
  ended_ = true;
  for_workers_.notify_all();
}

void ThreadCrew::work(std::size_t at, const Question& question, const std::vector<std::string>& tables,
                      const std::vector<std::string>& columns) {
  Worker worker(question, tables, columns);
  const auto stopped = [this] { return stopped_.load(std::memory_order_relaxed); };
  for (;;) {
    std::vector<Task> tasks;
    {
      std::unique_lock guard(lock_);
      for_workers_.wait(guard, [&] { return ended_ || !waiting_.empty(); });
      if (ended_) return;
      tasks = std::move(waiting_.front());
      waiting_.pop_front();
    }
    Batch batch;
    std::exception_ptr thrown;
    try {
      batch = worker.work(tasks, stopped);
    } catch (...) {  // out of memory: the thread of the sweep tells
      thrown = std::current_exception();
    }
    const std::scoped_lock guard(lock_);
    if (thrown) thrown_ = thrown;
    returned_.push_back({at, std::move(batch)});
    for_boss_.notify_one();
  }
}

/// Whoever is free takes them: at the end of a sweep nobody waits while tasks wait for somebody else.
Status ThreadCrew::give(std::size_t, std::vector<Task> tasks) {
  const std::scoped_lock guard(lock_);
  waiting_.push_back(std::move(tasks));
  for_workers_.notify_one();
  return {};
}

Result<std::optional<Crew::Returned>> ThreadCrew::next(std::chrono::milliseconds most) {
  std::unique_lock guard(lock_);
  for_boss_.wait_for(guard, most, [&] { return !returned_.empty(); });
  if (thrown_) std::rethrow_exception(thrown_);
  if (returned_.empty()) return std::optional<Returned>{};
  Returned first = std::move(returned_.front());
  returned_.pop_front();
  return std::optional<Returned>{std::move(first)};
}

void ThreadCrew::stop() {
  stopped_ = true;
}

}  // namespace cortado::sweep
