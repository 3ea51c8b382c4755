// A list that stores up to N items inline and allocates only for more.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

namespace cortado {

template <class T, std::size_t N>
class SmallVector {
 public:
  using value_type = T;

  SmallVector() = default;
  SmallVector(std::initializer_list<T> items) {
    for (const T& item : items) push_back(item);
  }
  SmallVector(const SmallVector&) = default;
  SmallVector& operator=(const SmallVector&) = default;
  SmallVector(SmallVector&& other) noexcept
      : few_(std::move(other.few_)), many_(std::move(other.many_)), size_(std::exchange(other.size_, 0)) {}
  SmallVector& operator=(SmallVector&& other) noexcept {
    few_ = std::move(other.few_);
    many_ = std::move(other.many_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~SmallVector() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return many_.empty() ? few_.data() : many_.data(); }
  T* end() { return begin() + size_; }
  const T* begin() const { return many_.empty() ? few_.data() : many_.data(); }
  const T* end() const { return begin() + size_; }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }

  void push_back(T item) {
    if (size_ < N && many_.empty()) {
      few_[size_] = std::move(item);
    } else {
      if (many_.empty()) {
        many_.reserve(2 * N + 2);
        many_.assign(std::make_move_iterator(few_.begin()), std::make_move_iterator(few_.end()));
      }
      many_.push_back(std::move(item));
    }
    ++size_;
  }
  void clear() { truncate(0); }
  /// Keeps the first `size` items.
  void truncate(std::size_t size) {
    if (!many_.empty()) many_.erase(many_.begin() + static_cast<std::ptrdiff_t>(size), many_.end());
    size_ = size;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) { return std::ranges::equal(a, b); }

 private:
  std::array<T, N> few_;
  std::vector<T> many_;  // all items, once there are more than N
  std::size_t size_ = 0;
};

template <class T, std::size_t N, class Predicate>
void erase_if(SmallVector<T, N>& items, Predicate&& is_unwanted) {
  const T* kept = std::remove_if(items.begin(), items.end(), std::forward<Predicate>(is_unwanted));
  items.truncate(static_cast<std::size_t>(kept - items.begin()));
}

}  // namespace cortado
