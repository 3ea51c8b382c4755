// A list that stores up to N items inline and allocates only for more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

namespace cortado {

template <class T, std::size_t N>
class SmallVector {
 public:
  using value_type = T;

  SmallVector() noexcept {
    if constexpr (kMovesRoom) std::memset(room_, 0, sizeof(room_));
  }
  SmallVector(std::initializer_list<T> items) : SmallVector() { append(items.begin(), items.size()); }
  SmallVector(const SmallVector& other) : SmallVector() { copy(other); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this == &other) return *this;
    clear();
    copy(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  ~SmallVector() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return more_ != nullptr ? more_ : reinterpret_cast<T*>(room_); }
  T* end() { return begin() + size_; }
  const T* begin() const { return more_ != nullptr ? more_ : reinterpret_cast<const T*>(room_); }
  const T* end() const { return begin() + size_; }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return begin()[size_ - 1]; }
  const T& back() const { return begin()[size_ - 1]; }

  void push_back(T&& item) {
    if (size_ == capacity_) {
      T kept = std::move(item);  // it may be one of the list
      reserve(2 * std::size_t{capacity_} + 2);
      std::construct_at(begin() + size_, std::move(kept));
    } else {
      std::construct_at(begin() + size_, std::move(item));
    }
    ++size_;
  }
  void push_back(const T& item) { push_back(T(item)); }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    T* const more = std::allocator<T>().allocate(capacity);
    std::uninitialized_move_n(begin(), size_, more);
    std::destroy_n(begin(), size_);
    if (more_ != nullptr) std::allocator<T>().deallocate(more_, capacity_);
    more_ = more;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }
  void clear() { truncate(0); }
  /// Keeps the first `size` items.
  void truncate(std::size_t size) {
    std::destroy(begin() + size, end());
    size_ = static_cast<std::uint32_t>(size);
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) { return std::ranges::equal(a, b); }

 private:
  /// The room is so small that it is best copied as a whole.
  static constexpr bool kMovesRoom = std::is_trivially_copyable_v<T> && N * sizeof(T) <= 64;

  void append(const T* items, std::size_t count) {
    reserve(count);
    std::uninitialized_copy_n(items, count, begin());
    size_ = static_cast<std::uint32_t>(count);
  }
  void copy(const SmallVector& other) {
    if constexpr (kMovesRoom) {
      if (more_ == nullptr && other.more_ == nullptr) {
        std::memcpy(room_, other.room_, sizeof(room_));
        size_ = other.size_;
        return;
      }
    }
    append(other.begin(), other.size());
  }
  /// The list holds nothing.
  void take(SmallVector& other) {
    if constexpr (kMovesRoom) {
      std::memcpy(room_, other.room_, sizeof(room_));
    } else if (other.more_ == nullptr) {
      std::uninitialized_move_n(other.begin(), other.size_, reinterpret_cast<T*>(room_));
      std::destroy_n(other.begin(), other.size_);
    }
    more_ = std::exchange(other.more_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(N));
  }
  void release() {
    clear();
    if (more_ != nullptr) std::allocator<T>().deallocate(more_, capacity_);
  }

  T* more_ = nullptr;  // all items, once there are more than N
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
