// Memory for the nodes of many maps of one type, which come and go together: a node that is given back is the next one
// that is taken, and all memory is freed with the pool.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "base/check.hpp"

namespace cortado::verifier {

class NodePool {
 public:
  NodePool() = default;
  NodePool(const NodePool&) = delete;
  NodePool& operator=(const NodePool&) = delete;

  /// Always as many bytes.
  void* take(std::size_t bytes) {
    if (free_ == nullptr) add_block(bytes);
    Free* const node = free_;
    free_ = node->next;
    return node;
  }

  void give_back(void* node) { free_ = new (node) Free{free_}; }

 private:
  struct Free {
    Free* next;
  };

  void add_block(std::size_t bytes) {
    constexpr std::size_t kFewest = 16;
    constexpr std::size_t kMost = 1024;
    CORTADO_CHECK(bytes >= sizeof(Free) && (bytes_ == 0 || bytes == bytes_), "nodes of a pool have one size");
    bytes_ = bytes;
    const std::size_t nodes = std::min(kMost, kFewest << std::min<std::size_t>(blocks_.size(), 6));
    std::byte* const block = blocks_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(nodes * bytes)).get();
    for (std::size_t i = nodes; i-- > 0;) give_back(block + i * bytes);
  }

  Free* free_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

/// Takes single nodes from a pool, which must outlive the container; without one, from the heap.
template <class T>
class PoolAllocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  static_assert(alignof(T) <= alignof(std::max_align_t));

  PoolAllocator(NodePool* pool = nullptr) : pool_(pool) {}  // NOLINT(google-explicit-constructor)
  template <class Other>
  PoolAllocator(const PoolAllocator<Other>& other) : pool_(other.pool()) {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t count) {
    if (pool_ == nullptr || count != 1) return std::allocator<T>().allocate(count);
    return static_cast<T*>(pool_->take(sizeof(T)));
  }
  void deallocate(T* node, std::size_t count) {
    if (pool_ == nullptr || count != 1) return std::allocator<T>().deallocate(node, count);
    pool_->give_back(node);
  }

  NodePool* pool() const { return pool_; }
  friend bool operator==(const PoolAllocator& a, const PoolAllocator& b) { return a.pool_ == b.pool_; }

 private:
  NodePool* pool_;
};

}  // namespace cortado::verifier
