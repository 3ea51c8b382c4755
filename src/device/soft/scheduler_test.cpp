#include "device/soft/scheduler.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace cortado::device::soft {
namespace scheduler_test {

TEST(SlotSet, FindsMembersInOrderAndAround) {
  SlotSet set(300);
  EXPECT_TRUE(set.empty(300));
  for (const std::uint32_t slot : {3u, 64u, 200u, 299u}) set.add(slot);
  EXPECT_EQ(set.next(0, 300), 3u);
  EXPECT_EQ(set.next(4, 300), 64u);
  EXPECT_EQ(set.next(65, 300), 200u);
  EXPECT_EQ(set.next(201, 299), SlotSet::kNone);
  EXPECT_EQ(set.next_around(300, 300), 3u);
  EXPECT_EQ(set.next_around(201, 250), 3u);
  EXPECT_TRUE(set.remove(64));
  EXPECT_FALSE(set.remove(64));
  EXPECT_EQ(set.next(4, 300), 200u);
}

/// Consumes what was put in, a few at a time; counts steps that overlap.
class Consumer final : public Runnable {
 public:
  StepResult step() override {
    if (inside_.exchange(true)) overlaps_.fetch_add(1);
    bool progressed = false;
    for (int i = 0; i < 3 && offered_.load(std::memory_order_acquire) > consumed_.load(); ++i) {
      consumed_.fetch_add(1);
      progressed = true;
    }
    const bool more = offered_.load(std::memory_order_acquire) > consumed_.load();
    inside_.store(false);
    if (more) return {Next::again, progressed};
    return {watch.load() ? Next::look_again : Next::idle, progressed};
  }
  StepResult random_step(Random&) override { return {}; }

  void offer() { offered_.fetch_add(1, std::memory_order_release); }
  std::uint64_t consumed() const { return consumed_.load(); }
  std::uint64_t overlaps() const { return overlaps_.load(); }
  std::atomic<bool> watch{false};

 private:
  std::atomic<std::uint64_t> offered_{0};
  std::atomic<std::uint64_t> consumed_{0};
  std::atomic<std::uint64_t> overlaps_{0};
  std::atomic<bool> inside_{false};
};

TEST(Scheduler, RunsWhatIsNotifiedAndNothingElse) {
  Scheduler scheduler(100);
  Scheduler::Cursor cursor;
  Consumer a, b;
  const std::uint32_t slot_a = *scheduler.attach(a);
  const std::uint32_t slot_b = *scheduler.attach(b);
  a.offer();
  b.offer();
  scheduler.notify(slot_b);
  EXPECT_EQ(scheduler.run_one(cursor), Scheduler::Ran::finished);
  EXPECT_EQ(scheduler.run_one(cursor), Scheduler::Ran::nothing);
  EXPECT_EQ(a.consumed(), 0u);
  EXPECT_EQ(b.consumed(), 1u);
  scheduler.detach(slot_a);
  scheduler.notify(slot_a);
  EXPECT_EQ(scheduler.run_one(cursor), Scheduler::Ran::nothing) << "a notification of a detached slot is nothing";
  scheduler.detach(slot_b);
}

TEST(Scheduler, RefusesMoreThanItHasSlotsForAndUsesThemAgain) {
  Scheduler scheduler(2);
  Consumer a, b, c;
  const std::uint32_t slot = *scheduler.attach(a);
  ASSERT_TRUE(scheduler.attach(b).has_value());
  EXPECT_FALSE(scheduler.attach(c).has_value());
  scheduler.detach(slot);
  EXPECT_EQ(scheduler.attach(c), slot);
}

TEST(Scheduler, WatchedRunnablesAreLookedAtUntilTheyAreReleased) {
  Scheduler scheduler(100);
  Scheduler::Cursor cursor;
  Consumer consumer;
  consumer.watch = true;
  const std::uint32_t slot = *scheduler.attach(consumer);
  scheduler.notify(slot);
  EXPECT_EQ(scheduler.run_one(cursor), Scheduler::Ran::nothing);
  EXPECT_TRUE(scheduler.any_watched());
  EXPECT_FALSE(scheduler.any_ready());
  consumer.offer();  // nobody notifies
  EXPECT_EQ(scheduler.run_one(cursor), Scheduler::Ran::watched);
  EXPECT_EQ(consumer.consumed(), 1u);
  consumer.watch = false;
  consumer.offer();
  EXPECT_EQ(scheduler.run_one(cursor), Scheduler::Ran::finished);
  EXPECT_FALSE(scheduler.any_watched());
}

TEST(Scheduler, WatchedOnesAreServedWhileOthersAreAlwaysReady) {
  class Busy final : public Runnable {
   public:
    StepResult step() override { return {Next::again, true}; }
    StepResult random_step(Random&) override { return {}; }
  };
  Scheduler scheduler(100);
  Scheduler::Cursor cursor;
  Busy busy;
  Consumer waiting;
  waiting.watch = true;
  scheduler.notify(*scheduler.attach(waiting));
  scheduler.run_one(cursor);
  scheduler.notify(*scheduler.attach(busy));
  waiting.offer();
  for (int i = 0; i < 20 && waiting.consumed() == 0; ++i) scheduler.run_one(cursor);
  EXPECT_EQ(waiting.consumed(), 1u);
}

TEST(Scheduler, NoNotificationIsLostAndNoTwoStepsOverlap) {
  constexpr std::uint32_t kQueues = 70;
  constexpr std::uint32_t kOffers = 300;
  Scheduler scheduler(kQueues);
  std::vector<std::unique_ptr<Consumer>> consumers;
  for (std::uint32_t i = 0; i < kQueues; ++i) {
    consumers.push_back(std::make_unique<Consumer>());
    ASSERT_EQ(scheduler.attach(*consumers.back()), i);
  }
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      Scheduler::Cursor cursor;
      while (!done) {
        if (scheduler.run_one(cursor) == Scheduler::Ran::nothing) std::this_thread::yield();
      }
    });
  }
  for (std::uint32_t offer = 0; offer < kOffers; ++offer) {
    for (std::uint32_t i = 0; i < kQueues; ++i) {
      consumers[i]->offer();
      scheduler.notify(i);
    }
    if (offer % 50 == 0) scheduler.wait_for_running_steps();
    if (offer % 7 == 0) scheduler.exclusively(offer % kQueues, [] {});
  }
  for (const auto& consumer : consumers) {
    while (consumer->consumed() < kOffers) std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  for (const auto& consumer : consumers) {
    EXPECT_EQ(consumer->consumed(), kOffers);
    EXPECT_EQ(consumer->overlaps(), 0u);
  }
}

}  // namespace scheduler_test
}  // namespace cortado::device::soft
