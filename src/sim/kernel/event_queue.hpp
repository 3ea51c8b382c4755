// The event queue of a discrete-event simulation: a clock, and the events still to come.
//
//   enum class Tick { left, right };
//   sim::EventQueue<Tick> queue;
//   queue.schedule({1000}, sim::EventClass::begin, Tick::left);
//   auto later = queue.schedule({2000}, sim::EventClass::begin, Tick::right);
//   queue.reschedule(later, {500});
//   queue.run([&](Tick tick) { /* right at 500 ps, then left at 1000 ps; may schedule more */ });
//
// Order. Events leave in the order of their key (time, class, sequence), which is total: no two keys are equal. The
// sequence counts calls of schedule and reschedule, so that of two events with the same time and class the one that was
// (re)scheduled first leaves first. The order therefore depends on nothing but the calls made.
//
// The payload is a small value type of the caller, typically a variant or a tagged index; an event costs no allocation
// once the queue has reached its greatest size. Cancelling an event or moving it forward costs only a heap step. An
// event that is put off stays where it is in the heap until it comes to the front, and finds its place then: the end of
// a transfer moves whenever its rate changes, back and forth, and the heap need not follow as long as its key is not
// too late. Even its time need not be known before that (put_off).
//
// An event that nobody cancels or moves is posted: it gets no handle, and usually joins the end of a list of those that
// are in order anyway (sorted_lanes.hpp).
//
// Cost: post and its pop O(1), usually; schedule, pop, cancel, reschedule to an earlier time O(log n); put_off and
// reschedule to a later time O(1), and at most O(log n) once when it comes to the front. Memory: 48 bytes and a payload
// per pending event, at the greatest number pending. A queue belongs to one thread; queues share nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "sim/kernel/sorted_lanes.hpp"
#include "sim/kernel/time.hpp"

namespace cortado::sim {

/// The order of events of the same instant. An event may schedule one of an earlier class for the same instant; that
/// one is simply next.
enum class EventClass : std::uint8_t {
  end = 0,      ///< something in progress ends: first, so that what it held is free for everything that begins now
  begin = 1,    ///< something begins or continues
  settle = 2,   ///< quantities that depend on all ends and begins are computed, once per instant
  observe = 3,  ///< samples are taken: last, so that they see the final state of the instant
};

/// Names a scheduled event. It stays valid to use after the event has left: the queue then reports it as not pending.
struct EventHandle {
  std::uint32_t slot = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t generation = 0;
};

/// Knows the times of events that were put off.
template <class Payload>
class Timetable {
 public:
  /// Asked when the event comes to the front; it has this time from then on, unless it is moved again.
  virtual SimTime time_of(const Payload& event) = 0;

 protected:
  ~Timetable() = default;
};

template <class Payload>
class EventQueue {
 public:
  EventQueue() {
    constexpr std::size_t kFew = 64;
    heap_.reserve(kFew);
    position_.reserve(kFew);
    keys_.reserve(kFew);
    slots_.reserve(kFew);
    free_.reserve(kFew);
  }

  /// For events that are put off. It must outlive the last of them.
  void set_timetable(Timetable<Payload>& timetable) { timetable_ = &timetable; }

  /// The time of the event that left last; zero at first.
  SimTime now() const { return now_; }
  bool empty() const { return heap_.empty() && posted_.empty(); }
  std::size_t size() const { return heap_.size() + posted_.size(); }
  /// How many events have left through pop or run.
  std::uint64_t processed() const { return processed_; }

  /// The time of the next event; never() if there is none.
  SimTime next_time() const {
    if (empty()) return SimTime::never();
    return posted_is_first() ? posted_.front().time : heap_.front().time;
  }

  /// `at` must not be before now().
  EventHandle schedule(SimTime at, EventClass event_class, Payload payload) {
    CORTADO_CHECK(at >= now_, "an event cannot be scheduled in the past");
    const std::uint32_t slot = take_slot(std::move(payload));
    keys_[slot] = {at, next_order(event_class, slot)};
    heap_.emplace_back();
    sift_up(heap_.size() - 1, keys_[slot]);
    return {slot, slots_[slot].generation};
  }

  /// As schedule, for an event that nobody cancels or moves.
  void post(SimTime at, EventClass event_class, Payload payload) {
    CORTADO_CHECK(at >= now_, "an event cannot be scheduled in the past");
    if (posted_.push({at, next_order(event_class, 0)}, payload)) return;
    schedule(at, event_class, std::move(payload));
  }

  bool pending(EventHandle event) const {
    return event.slot < position_.size() && slots_[event.slot].generation == event.generation;
  }

  /// The event must be pending.
  SimTime time_of(EventHandle event) const {
    CORTADO_CHECK(pending(event), "the event is not pending");
    learn_time(event.slot);
    return keys_[event.slot].time;
  }

  /// False if the event is no longer pending.
  bool cancel(EventHandle event) {
    if (!pending(event)) return false;
    erase(position_[event.slot]);
    release_slot(event.slot);
    return true;
  }

  /// Moves the event; its class stays, and among equals it comes after those already scheduled. False if it is no
  /// longer pending.
  bool reschedule(EventHandle event, SimTime at) {
    CORTADO_CHECK(at >= now_, "an event cannot be moved into the past");
    if (!pending(event)) return false;
    Entry& key = keys_[event.slot];
    key = {at, next_order(key.event_class(), event.slot)};
    const std::size_t place = position_[event.slot];
    if (at < heap_[place].time) sift_up(place, key);
    return true;
  }

  /// As reschedule, for an event that is pending, to a time that the timetable knows. The caller guarantees that it is
  /// not before the time that the event has been given last, by any of these functions or by the timetable.
  void put_off(EventHandle event) {
    Entry& key = keys_[event.slot];
    key = {kUnknown, next_order(key.event_class(), event.slot)};
  }

  /// As put_off, for an event whose time is not before `soonest`.
  void expect(EventHandle event, SimTime soonest) {
    CORTADO_CHECK(soonest >= now_, "an event cannot be moved into the past");
    const EventClass event_class = keys_[event.slot].event_class();
    const Entry placed{soonest, next_order(event_class, event.slot)};
    keys_[event.slot] = {kUnknown, next_order(event_class, event.slot)};
    const std::size_t place = position_[event.slot];
    if (soonest < heap_[place].time) sift_up(place, placed);
  }

  /// Removes the first event and moves the clock to it. The queue must not be empty.
  Payload pop() {
    CORTADO_CHECK(!empty(), "pop of an empty event queue");
    ++processed_;
    if (posted_is_first()) {
      now_ = posted_.front().time;
      return posted_.pop();
    }
    const Entry first = heap_.front();
    now_ = first.time;
    erase_front();
    Payload payload = std::move(slots_[first.slot()].payload);
    release_slot(first.slot());
    return payload;
  }

  /// Calls handler(payload) for one event after the other until none is pending.
  template <class Handler>
  void run(Handler&& handler) {
    while (!empty()) handler(pop());
  }

  /// Like run, but only for events not later than `last`.
  template <class Handler>
  void run_until(SimTime last, Handler&& handler) {
    while (!empty() && next_time() <= last) handler(pop());
  }

 private:
  // An entry of the heap is a key and its slot in 16 bytes, so that four siblings share a cache line: the class in the
  // top 3 bits of the second word, then 37 bits of sequence, then 24 bits of slot, which never decide an order.
  static constexpr unsigned kSlotBits = 24;
  static constexpr unsigned kSequenceBits = 37;
  static constexpr std::uint64_t kMaxSlots = std::uint64_t{1} << kSlotBits;
  static constexpr std::uint64_t kMaxSequence = std::uint64_t{1} << kSequenceBits;
  static constexpr std::size_t kArity = 4;
  static constexpr SimTime kUnknown{-1};  // the timetable knows it

  struct Entry {
    SimTime time;
    std::uint64_t order = 0;

    std::uint32_t slot() const { return static_cast<std::uint32_t>(order & (kMaxSlots - 1)); }
    EventClass event_class() const { return static_cast<EventClass>(order >> (kSlotBits + kSequenceBits)); }
    static constexpr Entry before_all() { return {SimTime{}, 0}; }
    static constexpr Entry behind_all() { return {SimTime::never(), ~std::uint64_t{0}}; }
    /// Branch-free: which child of a heap is smallest cannot be predicted.
    friend bool operator<(const Entry& a, const Entry& b) { return a.both() < b.both(); }

   private:
    __extension__ using Both = unsigned __int128;
    Both both() const { return static_cast<Both>(time.picoseconds) << 64 | order; }
  };
  struct Slot {
    Payload payload;
    std::uint32_t generation;
  };

  std::uint64_t next_order(EventClass event_class, std::uint32_t slot) {
    CORTADO_CHECK(++sequence_ < kMaxSequence, "more events than an event queue can number");
    return (static_cast<std::uint64_t>(event_class) << kSequenceBits | sequence_) << kSlotBits | slot;
  }

  std::uint32_t take_slot(Payload&& payload) {
    if (free_.empty()) {
      CORTADO_CHECK(slots_.size() < kMaxSlots, "more pending events than an event queue can hold");
      slots_.push_back({std::move(payload), 0});
      position_.push_back(0);
      keys_.emplace_back();
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot].payload = std::move(payload);
    return slot;
  }

  void release_slot(std::uint32_t slot) {
    ++slots_[slot].generation;
    free_.push_back(slot);
  }

  void put(std::size_t place, const Entry& entry) const {
    heap_[place] = entry;
    position_[entry.slot()] = static_cast<std::uint32_t>(place);
  }

  /// Otherwise the first event is at the front of the heap. There must be one.
  bool posted_is_first() const {
    if (heap_.empty()) return true;
    settle_front();
    return posted_.front() < heap_.front();
  }

  /// Events at the front that were put off go where they belong, until the one at the front is the first.
  void settle_front() const {
    for (const Entry* key = &keys_[heap_.front().slot()]; key->order != heap_.front().order;
         key = &keys_[heap_.front().slot()]) {
      learn_time(heap_.front().slot());
      sift_down(0, *key);
    }
  }

  void learn_time(std::uint32_t slot) const {
    if (keys_[slot].time != kUnknown) return;
    keys_[slot].time = timetable_->time_of(slots_[slot].payload);
    CORTADO_CHECK(keys_[slot].time >= heap_[position_[slot]].time, "an event was put off to an earlier time");
  }

  /// Puts `entry` at `hole` or above it.
  void sift_up(std::size_t hole, const Entry& entry) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kArity;
      if (!(entry < heap_[parent])) break;
      put(hole, heap_[parent]);
      hole = parent;
    }
    put(hole, entry);
  }

  std::size_t least_child(std::size_t first, std::size_t size) const {
    const Entry* e = heap_.data() + first;
    const std::size_t grand = first * kArity + 1;
    if (grand < size) {
      const Entry* g = heap_.data() + grand;
      __builtin_prefetch(g);
      __builtin_prefetch(g + 4);
      __builtin_prefetch(g + 8);
      __builtin_prefetch(g + 12);
    }
    if (first + kArity <= size) [[likely]] {
      const std::size_t low = e[1] < e[0] ? 1 : 0;
      const std::size_t high = e[3] < e[2] ? 3 : 2;
      return first + (e[high] < e[low] ? high : low);
    }
    std::size_t least = first;
    for (std::size_t child = first + 1; child < size; ++child) least = heap_[child] < heap_[least] ? child : least;
    return least;
  }

  /// Puts `entry` at `hole` or below it.
  void sift_down(std::size_t hole, const Entry& entry) const {
    const std::size_t size = heap_.size();
    for (std::size_t first = hole * kArity + 1; first < size; first = hole * kArity + 1) {
      const std::size_t child = least_child(first, size);
      if (!(heap_[child] < entry)) break;
      put(hole, heap_[child]);
      hole = child;
    }
    put(hole, entry);
  }

  void erase(std::size_t place) {
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    if (place > 0 && last < heap_[(place - 1) / kArity]) {
      sift_up(place, last);
    } else {
      sift_down(place, last);
    }
  }

  /// The last entry almost always belongs near the bottom, so the hole moves down to a leaf without comparing with it.
  void erase_front() {
    const Entry last = heap_.back();
    heap_.pop_back();
    const std::size_t size = heap_.size();
    if (size == 0) return;
    std::size_t hole = 0;
    for (std::size_t first = 1; first < size; first = hole * kArity + 1) {
      const std::size_t child = least_child(first, size);
      put(hole, heap_[child]);
      hole = child;
    }
    sift_up(hole, last);
  }

  SimTime now_{};
  std::uint64_t sequence_ = 0;
  std::uint64_t processed_ = 0;
  mutable std::vector<Entry> heap_;              // of keys that are not later than those in keys_
  mutable std::vector<std::uint32_t> position_;  // by slot: its position in the heap
  mutable std::vector<Entry> keys_;              // by slot
  SortedLanes<Entry, Payload> posted_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  Timetable<Payload>* timetable_ = nullptr;
};

}  // namespace cortado::sim
