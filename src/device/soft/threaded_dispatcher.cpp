#include <thread>

#include "device/soft/dispatcher.hpp"
#include "device/soft/scheduler.hpp"
#include "device/soft/spin_wait.hpp"
#include "device/soft/worker_pool.hpp"

namespace cortado::device::soft {
namespace {

constexpr std::uint32_t kFruitlessCallsPerYield = 64;

class ThreadedDispatcher final : public Dispatcher {
 public:
  ThreadedDispatcher(std::uint32_t max_runnables, std::uint32_t workers)
      : scheduler_(max_runnables), pool_(scheduler_, callers_, workers) {}

  std::optional<std::uint32_t> attach(Runnable& runnable) override { return scheduler_.attach(runnable); }
  void detach(std::uint32_t slot) override { scheduler_.detach(slot); }

  void notify(std::uint32_t slot) override {
    scheduler_.notify(slot);
    pool_.work_arrived();
  }

  bool assist() override {
    switch (scheduler_.run_one(callers_)) {
      case Scheduler::Ran::nothing:
        spin_pause();
        // The thread that everybody waits for may need this core.
        if (fruitless_.fetch_add(1, std::memory_order_relaxed) % kFruitlessCallsPerYield == 0) {
          std::this_thread::yield();
        }
        return false;
      case Scheduler::Ran::finished:
        break;
      case Scheduler::Ran::watched:
        pool_.watching_began();
        break;
      case Scheduler::Ran::again:  // the caller may not come back
        pool_.work_arrived();
        break;
    }
    return true;
  }

  void exclusively(std::uint32_t slot, const std::function<void()>& function) override {
    scheduler_.exclusively(slot, function);
  }
  void wait_for_running_steps() override { scheduler_.wait_for_running_steps(); }

 private:
  Scheduler scheduler_;
  Scheduler::Cursor callers_;
  std::atomic<std::uint32_t> fruitless_{0};
  WorkerPool pool_;
};

}  // namespace

std::unique_ptr<Dispatcher> make_threaded_dispatcher(std::uint32_t max_runnables, std::uint32_t workers) {
  return std::make_unique<ThreadedDispatcher>(max_runnables, workers);
}

}  // namespace cortado::device::soft
