// A list that stores up to N items inline and allocates only for more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

namespace cortado {

template <class T, std::size_t N>
class SmallVector {
 public:
  using value_type = T;

  SmallVector() noexcept {}  // NOLINT(modernize-use-equals-default): leaves the room for items as it is
  SmallVector(std::initializer_list<T> items) { append(items.begin(), items.size()); }
  SmallVector(const SmallVector& other) { append(other.items_, other.size_); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this == &other) return *this;
    clear();
    append(other.items_, other.size_);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    items_ = room();
    capacity_ = N;
    take(other);
    return *this;
  }
  ~SmallVector() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }
  T& front() { return *items_; }
  const T& front() const { return *items_; }
  T& back() { return items_[size_ - 1]; }
  const T& back() const { return items_[size_ - 1]; }

  void push_back(T item) {
    if (size_ == capacity_) reserve(2 * std::size_t{capacity_} + 2);
    std::construct_at(items_ + size_, std::move(item));
    ++size_;
  }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    T* const more = std::allocator<T>().allocate(capacity);
    const std::uint32_t size = size_;
    std::uninitialized_move_n(items_, size, more);
    release();
    items_ = more;
    size_ = size;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }
  void clear() { truncate(0); }
  /// Keeps the first `size` items.
  void truncate(std::size_t size) {
    std::destroy(items_ + size, items_ + size_);
    size_ = static_cast<std::uint32_t>(size);
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) { return std::ranges::equal(a, b); }

 private:
  T* room() { return reinterpret_cast<T*>(room_); }

  void append(const T* items, std::size_t count) {
    reserve(count);
    for (std::size_t i = 0; i < count; ++i) std::construct_at(items_ + i, items[i]);
    size_ = static_cast<std::uint32_t>(count);
  }
  /// The list is empty and has its own room.
  void take(SmallVector& other) {
    if (other.items_ != other.room()) {
      items_ = std::exchange(other.items_, other.room());
      capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(N));
      size_ = std::exchange(other.size_, 0);
      return;
    }
    for (std::uint32_t i = 0; i < other.size_; ++i) std::construct_at(items_ + i, std::move(other.items_[i]));
    size_ = other.size_;
    other.clear();
  }
  void release() {
    clear();
    if (items_ != room()) std::allocator<T>().deallocate(items_, capacity_);
  }

  T* items_ = room();
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  alignas(T) std::byte room_[N * sizeof(T)];
};

template <class T, std::size_t N, class Predicate>
void erase_if(SmallVector<T, N>& items, Predicate&& is_unwanted) {
  const T* kept = std::remove_if(items.begin(), items.end(), std::forward<Predicate>(is_unwanted));
  items.truncate(static_cast<std::size_t>(kept - items.begin()));
}

}  // namespace cortado
