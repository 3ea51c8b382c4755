// The KV cache in a GPU's memory: pages of some tokens each, and the prefix cache that fills unused pages.
#pragma once

#include <cstdint>

#include "serve/block_cache.hpp"

namespace cortado::serve {

class PagePool {
 public:
  /// A block of the prefix cache is a page.
  explicit PagePool(std::uint64_t pages) : pages_(pages), free_(pages) {}

  std::uint64_t pages() const { return pages_; }
  std::uint64_t available() const { return free_ + cache_.idle(); }
  std::uint64_t used() const { return pages_ - available(); }  ///< by sequences
  const BlockCache& cache() const { return cache_; }

  /// Takes pages, evicting idle blocks if there are no others; false, and nothing taken, if there are too few.
  bool take(std::uint64_t pages) {
    if (pages > available()) return false;
    while (free_ < pages) {
      cache_.evict();
      ++free_;
    }
    free_ -= pages;
    return true;
  }
  void give_back(std::uint64_t pages) { free_ += pages; }

  void use(std::uint64_t block) { cache_.use(block); }
  void release(std::uint64_t block) { cache_.release(block); }
  /// The taker's page becomes a block of the cache, which it uses. If there already is such a block, it uses that one
  /// and returns its page.
  void keep(std::uint64_t block) {
    if (cache_.contains(block)) {
      cache_.use(block);
      ++free_;
    } else {
      cache_.insert(block, true);
    }
  }

 private:
  std::uint64_t pages_;
  std::uint64_t free_;
  BlockCache cache_;
};

/// Blocks in host memory.
class HostTier {
 public:
  explicit HostTier(std::uint64_t blocks) : capacity_(blocks) {}

  bool contains(std::uint64_t block) const { return cache_.contains(block); }
  void touch(std::uint64_t block) { cache_.touch(block); }
  void insert(std::uint64_t block) {
    if (capacity_ == 0) return;
    if (cache_.contains(block)) {
      cache_.touch(block);
      return;
    }
    if (cache_.size() == capacity_) {
      cache_.evict();
      ++evicted_;
    }
    cache_.insert(block, false);
  }
  std::uint64_t size() const { return cache_.size(); }
  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t evicted() const { return evicted_; }

 private:
  std::uint64_t capacity_;
  std::uint64_t evicted_ = 0;
  BlockCache cache_;
};

}  // namespace cortado::serve
