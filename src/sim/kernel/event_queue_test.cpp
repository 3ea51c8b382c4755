#include "sim/kernel/event_queue.hpp"

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cortado::sim {
namespace event_queue_test {

using ::testing::ElementsAre;

template <class Payload>
std::vector<Payload> drain(EventQueue<Payload>& queue) {
  std::vector<Payload> order;
  queue.run([&](Payload payload) { order.push_back(std::move(payload)); });
  return order;
}

TEST(EventQueue, OrdersByTimeThenClassThenSequence) {
  EventQueue<std::string> queue;
  queue.schedule({20}, EventClass::end, "late");
  queue.schedule({10}, EventClass::observe, "sample");
  queue.schedule({10}, EventClass::begin, "first begin");
  queue.schedule({10}, EventClass::settle, "settle");
  queue.schedule({10}, EventClass::begin, "second begin");
  queue.schedule({10}, EventClass::end, "end");
  EXPECT_THAT(drain(queue), ElementsAre("end", "first begin", "second begin", "settle", "sample", "late"));
  EXPECT_EQ(queue.now(), SimTime{20});
  EXPECT_EQ(queue.processed(), 6u);
}

TEST(EventQueue, ClockIsThatOfTheEventBeingHandled) {
  EventQueue<int> queue;
  queue.schedule({30}, EventClass::begin, 1);
  std::vector<std::int64_t> seen;
  queue.run([&](int hops) {
    seen.push_back(queue.now().picoseconds);
    if (hops < 4) queue.schedule(queue.now() + SimTime{7}, EventClass::begin, hops + 1);
  });
  EXPECT_THAT(seen, ElementsAre(30, 37, 44, 51));
}

// At 10 the settle event finds that something else must end now: that runs before the sample of the same instant.
TEST(EventQueue, EarlierClassScheduledForNowIsNext) {
  EventQueue<std::string> queue;
  queue.schedule({10}, EventClass::observe, "sample");
  queue.schedule({10}, EventClass::settle, "settle");
  std::vector<std::string> order;
  queue.run([&](const std::string& name) {
    order.push_back(name);
    if (name == "settle") queue.schedule(queue.now(), EventClass::end, "end");
  });
  EXPECT_THAT(order, ElementsAre("settle", "end", "sample"));
}

TEST(EventQueue, RescheduledEventGoesBehindItsEquals) {
  EventQueue<char> queue;
  const EventHandle a = queue.schedule({10}, EventClass::begin, 'a');
  queue.schedule({10}, EventClass::begin, 'b');
  queue.schedule({40}, EventClass::end, 'd');
  const EventHandle c = queue.schedule({50}, EventClass::begin, 'c');
  EXPECT_TRUE(queue.reschedule(a, {10}));
  EXPECT_TRUE(queue.reschedule(c, {5}));
  EXPECT_EQ(queue.time_of(c), SimTime{5});
  EXPECT_THAT(drain(queue), ElementsAre('c', 'b', 'a', 'd'));
}

// Events that are put off stay in front of the heap for a while: nobody may notice.
TEST(EventQueue, EventsAtTheFrontThatWerePutOffAreNotNext) {
  EventQueue<char> queue;
  const EventHandle a = queue.schedule({1}, EventClass::end, 'a');
  const EventHandle b = queue.schedule({2}, EventClass::end, 'b');
  queue.schedule({10}, EventClass::begin, 'c');
  queue.reschedule(a, {30});
  queue.reschedule(b, {30});
  queue.reschedule(a, {20});
  EXPECT_EQ(queue.time_of(a), SimTime{20});
  EXPECT_EQ(queue.next_time(), SimTime{10});
  EXPECT_EQ(queue.pop(), 'c');
  EXPECT_EQ(queue.next_time(), SimTime{20});
  queue.reschedule(a, {30});  // behind its equal
  EXPECT_THAT(drain(queue), ElementsAre('b', 'a'));
  EXPECT_EQ(queue.processed(), 3U);
}

/// Times of events by their payload.
class Times : public Timetable<char> {
 public:
  SimTime time_of(const char& event) override { return times.at(event); }

  std::map<char, SimTime> times;
};

// a is put off twice and asked for once, at the front; b is expected at 3 and ends at 15.
TEST(EventQueue, AsksForTheTimesOfEventsThatWerePutOff) {
  EventQueue<char> queue;
  Times times;
  queue.set_timetable(times);
  const EventHandle a = queue.schedule({1}, EventClass::end, 'a');
  const EventHandle b = queue.schedule({40}, EventClass::end, 'b');
  queue.schedule({15}, EventClass::end, 'c');
  queue.put_off(a);
  queue.expect(b, {3});
  queue.put_off(a);
  times.times = {{'a', {20}}, {'b', {15}}};
  EXPECT_EQ(queue.time_of(a), SimTime{20});
  EXPECT_EQ(queue.next_time(), SimTime{15});
  EXPECT_THAT(drain(queue), ElementsAre('c', 'b', 'a'));
}

TEST(EventQueue, PostedEventsHaveTheSameOrder) {
  EventQueue<char> queue;
  queue.post({10}, EventClass::settle, 'd');
  queue.schedule({10}, EventClass::settle, 'e');
  queue.post({10}, EventClass::begin, 'b');
  queue.post({20}, EventClass::begin, 'g');
  queue.post({10}, EventClass::begin, 'c');
  queue.post({15}, EventClass::begin, 'f');
  queue.schedule({10}, EventClass::end, 'a');
  EXPECT_EQ(queue.size(), 7U);
  EXPECT_EQ(queue.next_time(), SimTime{10});
  EXPECT_THAT(drain(queue), ElementsAre('a', 'b', 'c', 'd', 'e', 'f', 'g'));
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, HandleOfAnEventThatHasLeftIsHarmless) {
  EventQueue<char> queue;
  EXPECT_FALSE(queue.pending(EventHandle{}));
  const EventHandle a = queue.schedule({10}, EventClass::begin, 'a');
  const EventHandle b = queue.schedule({11}, EventClass::begin, 'b');
  EXPECT_TRUE(queue.cancel(b));
  EXPECT_FALSE(queue.cancel(b));
  EXPECT_EQ(queue.pop(), 'a');
  const EventHandle c = queue.schedule({12}, EventClass::begin, 'c');  // in the place of one of the two
  EXPECT_FALSE(queue.pending(a));
  EXPECT_FALSE(queue.cancel(a));
  EXPECT_FALSE(queue.reschedule(b, {20}));
  EXPECT_TRUE(queue.pending(c));
  EXPECT_THAT(drain(queue), ElementsAre('c'));
}

TEST(EventQueue, RunUntilStopsAfterTheLastEventOfItsTime) {
  EventQueue<int> queue;
  for (const int time : {10, 20, 20, 30}) queue.schedule({time}, EventClass::begin, time);
  std::vector<int> seen;
  queue.run_until({20}, [&](int time) { seen.push_back(time); });
  EXPECT_THAT(seen, ElementsAre(10, 20, 20));
  EXPECT_EQ(queue.next_time(), SimTime{30});
  queue.run([](int) {});
  EXPECT_EQ(queue.next_time(), SimTime::never());
}

TEST(EventQueue, PayloadMayBeMoveOnly) {
  EventQueue<std::unique_ptr<int>> queue;
  queue.schedule({1}, EventClass::begin, std::make_unique<int>(42));
  EXPECT_EQ(*queue.pop(), 42);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueueDeathTest, ThePastIsClosed) {
  EventQueue<int> queue;
  queue.schedule({10}, EventClass::begin, 0);
  queue.pop();
  EXPECT_DEATH(queue.schedule({9}, EventClass::begin, 0), "in the past");
  EXPECT_DEATH(queue.pop(), "empty event queue");
}

using Key = std::tuple<std::int64_t, int, std::uint64_t>;

struct Scheduled {
  EventHandle handle;
  Key key;
  std::int64_t given = 0;  // the time that the queue was told last
};

/// Of all events by number.
class Scheduler : public Timetable<int> {
 public:
  SimTime time_of(const int& event) override {
    Scheduled& of = events[static_cast<std::size_t>(event)];
    of.given = std::get<0>(of.key);
    return {of.given};
  }

  std::vector<Scheduled> events;
};

/// Random calls on the queue and on a sorted map of the same keys; returns the order in which the events left.
std::vector<int> fuzz(std::uint64_t seed, int steps) {
  Random random(seed);
  EventQueue<int> queue;
  Scheduler scheduler;
  queue.set_timetable(scheduler);
  std::vector<Scheduled>& events = scheduler.events;
  std::map<Key, int> model;
  std::vector<int> order;
  std::uint64_t sequence = 0;
  for (int step = 0; step < steps; ++step) {
    const auto time = queue.now().picoseconds + static_cast<std::int64_t>(random.below(20));
    const std::uint64_t choice = random.below(10);
    if (choice < 4) {
      const auto event_class = static_cast<EventClass>(random.below(4));
      const int id = static_cast<int>(events.size());
      const Key key{time, static_cast<int>(event_class), ++sequence};
      events.push_back({{}, key, time});
      if (random.below(2) == 0) {
        events.back().handle = queue.schedule({time}, event_class, id);
      } else {
        queue.post({time}, event_class, id);
      }
      model.emplace(key, id);
    } else if (choice < 7 && !events.empty()) {
      Scheduled& event = events[random.below(events.size())];
      const auto found = model.find(event.key);
      const bool posted = event.handle.slot == EventHandle{}.slot;
      const bool pending = found != model.end() && !posted;
      EXPECT_EQ(queue.pending(event.handle), pending);
      if (choice == 4) {
        EXPECT_EQ(queue.cancel(event.handle), pending);
        if (pending) model.erase(found);
      } else {
        if (pending && choice == 5) {  // the queue asks for the time when it needs it
          if (time >= event.given) {
            queue.put_off(event.handle);
          } else {
            const std::int64_t now = queue.now().picoseconds;
            event.given = now + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(time - now) + 1));
            queue.expect(event.handle, {event.given});
          }
        } else {
          EXPECT_EQ(queue.reschedule(event.handle, {time}), pending);
          if (!pending) continue;
          event.given = time;
        }
        auto node = model.extract(found);
        event.key = {time, std::get<1>(event.key), ++sequence};
        node.key() = event.key;
        model.insert(std::move(node));
      }
    } else if (!model.empty()) {
      EXPECT_EQ(queue.next_time(), SimTime{std::get<0>(model.begin()->first)});
      order.push_back(queue.pop());
      EXPECT_EQ(order.back(), model.begin()->second);
      model.erase(model.begin());
    }
    EXPECT_EQ(queue.size(), model.size());
  }
  return order;
}

TEST(EventQueue, AgreesWithASortedMapOnRandomCalls) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_FALSE(fuzz(seed, 2000).empty()) << seed;
}

TEST(EventQueue, QueuesOfManyThreadsShareNothing) {
  const std::vector<int> alone = fuzz(7, 5000);
  std::vector<std::vector<int>> orders(4);
  std::vector<std::thread> threads;
  for (auto& order : orders) threads.emplace_back([&order] { order = fuzz(7, 5000); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& order : orders) EXPECT_EQ(order, alone);
}

}  // namespace event_queue_test
}  // namespace cortado::sim
