// Keys with values that are mostly added in order, or in a few orders at a time, as are events that follow others after
// one of a few delays. Each lane is in ascending order. A key goes behind the greatest last key that is less, or is
// refused if there is none; so the last keys are in ascending order, too. The first key is the least of the lanes'
// first ones. A lane that has become empty keeps its last key: what is added then is mostly greater.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace cortado::sim {

/// Key::before_all() and Key::behind_all() are less and greater than every key that is added.
template <class Key, class Value>
class SortedLanes {
 public:
  SortedLanes() {
    first_keys_.fill(Key::behind_all());
    last_keys_.fill(Key::before_all());
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// behind_all() if it is empty.
  const Key& front() const { return first_keys_[first_]; }

  /// False if no lane takes it; the value is left untouched then.
  bool push(const Key& key, Value& value) {
    std::size_t lane = kLanes - 1;
    for (; !(last_keys_[lane] < key); --lane) {
      if (lane == 0) return false;
    }
    if (lanes_[lane].empty()) {
      first_keys_[lane] = key;
      if (key < front()) first_ = lane;
    }
    last_keys_[lane] = key;
    lanes_[lane].push({key, std::move(value)});
    ++size_;
    return true;
  }

  /// There must be one.
  Value pop() {
    Lane& lane = lanes_[first_];
    Value value = lane.pop();
    --size_;
    first_keys_[first_] = lane.empty() ? Key::behind_all() : lane.front().key;
    for (std::size_t other = 0; other < kLanes; ++other) first_ = first_keys_[other] < front() ? other : first_;
    return value;
  }

 private:
  static constexpr std::size_t kLanes = 4;

  struct Item {
    Key key;
    Value value;
  };

  /// A queue in a ring whose size is a power of two.
  class Lane {
   public:
    bool empty() const { return count_ == 0; }
    const Item& front() const { return ring_[head_]; }

    void push(Item item) {
      if (count_ == ring_.size()) grow();
      ring_[at(count_++)] = std::move(item);
    }

    Value pop() {
      Value value = std::move(ring_[head_].value);
      head_ = at(1);
      --count_;
      return value;
    }

   private:
    std::size_t at(std::size_t place) const { return (head_ + place) & (ring_.size() - 1); }

    void grow() {
      std::vector<Item> larger(ring_.empty() ? 16 : 2 * ring_.size());
      for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move(ring_[at(i)]);
      ring_ = std::move(larger);
      head_ = 0;
    }

    std::vector<Item> ring_;
    std::size_t head_ = 0;
    std::size_t count_ = 0;
  };

  std::array<Lane, kLanes> lanes_;
  std::array<Key, kLanes> first_keys_;  // by lane
  std::array<Key, kLanes> last_keys_;
  std::size_t first_ = 0;  // the lane whose first key is the least
  std::size_t size_ = 0;
};

}  // namespace cortado::sim
