// Blocks by name, evicted in least-recently-used order: the prefix cache of a GPU's pool, and the tier in host memory.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

namespace cortado::serve {

class BlockCache {
 public:
  std::uint64_t size() const { return index_.size(); }
  /// Number of blocks that nobody uses.
  std::uint64_t idle() const { return idle_; }
  bool contains(std::uint64_t name) const { return index_.contains(name); }

  /// Adds one use of a block that is present.
  void use(std::uint64_t name);
  void release(std::uint64_t name);
  /// Adds a block that is not present; in use once, or idle and the last to be evicted.
  void insert(std::uint64_t name, bool in_use);
  /// Makes an idle block that is present the last to be evicted.
  void touch(std::uint64_t name);
  /// Evicts and returns the least recently used idle block; there must be one.
  std::uint64_t evict();

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Entry {
    std::uint64_t name = 0;
    std::uint32_t users = 0;
    std::uint32_t before = kNone;  ///< among idle ones, the next older
    std::uint32_t after = kNone;
  };

  void unlink(std::uint32_t entry);
  void append(std::uint32_t entry);

  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> unused_;
  std::uint32_t oldest_ = kNone;
  std::uint32_t newest_ = kNone;
  std::uint64_t idle_ = 0;
};

}  // namespace cortado::serve
