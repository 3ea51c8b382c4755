#include <mutex>
#include <vector>

#include "base/random.hpp"
#include "device/soft/dispatcher.hpp"

namespace cortado::device::soft {
namespace {

class RandomDispatcher final : public Dispatcher {
 public:
  RandomDispatcher(std::uint64_t seed, DelayClock& clock) : random_(seed), clock_(clock) {}

  std::optional<std::uint32_t> attach(Runnable& runnable) override {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      slots_.push_back({&runnable, false});
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = {&runnable, false};
    return slot;
  }

  void detach(std::uint32_t slot) override {
    const std::lock_guard lock(mutex_);
    std::erase(active_, slot);
    slots_[slot] = {};
    free_.push_back(slot);
  }

  void notify(std::uint32_t slot) override {
    const std::lock_guard lock(mutex_);
    if (slots_[slot].active) return;
    slots_[slot].active = true;
    active_.push_back(slot);
  }

  bool assist() override {
    const std::lock_guard lock(mutex_);
    clock_.step();
    if (active_.empty()) return true;  // the clock advanced
    const std::size_t chosen = random_.below(active_.size());
    Slot& slot = slots_[active_[chosen]];
    if (slot.runnable->random_step(random_).next != Next::idle) return true;
    slot.active = false;
    active_[chosen] = active_.back();
    active_.pop_back();
    return true;
  }

  void exclusively(std::uint32_t, const std::function<void()>& function) override {
    const std::lock_guard lock(mutex_);
    function();
  }

  void wait_for_running_steps() override { const std::lock_guard lock(mutex_); }

 private:
  struct Slot {
    Runnable* runnable = nullptr;
    bool active = false;
  };

  std::recursive_mutex mutex_;  // a kernel that rings a doorbell notifies from within its step
  Random random_;
  DelayClock& clock_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> active_;  // slots with something to do, in the order of the calls that made them active
};

}  // namespace

std::unique_ptr<Dispatcher> make_random_dispatcher(std::uint64_t seed, DelayClock& clock) {
  return std::make_unique<RandomDispatcher>(seed, clock);
}

}  // namespace cortado::device::soft
