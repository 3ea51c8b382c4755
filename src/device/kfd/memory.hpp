// Memory of the node: allocated by the thunk, mapped to the host and to all GPUs at the same address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "cortado/result.hpp"

#include "device/driver/driver.hpp"
#include "device/kfd/discover.hpp"
#include "device/kfd/thunk.hpp"

namespace cortado::device {

/// Thread safe. `thunk` and `discovery` outlive it.
class KfdMemory {
 public:
  KfdMemory(const ThunkFunctions& thunk, const Discovery& discovery) : thunk_(thunk), discovery_(discovery) {}
  KfdMemory(const KfdMemory&) = delete;
  KfdMemory& operator=(const KfdMemory&) = delete;

  Result<Memory> allocate(const MemoryRequest& request);

  /// A ring: host memory of exactly `bytes` (a power of two of at least a page), which engines may fetch packets from.
  Result<Memory> allocate_ring(std::uint64_t bytes);

  void release(const Memory& memory);

  /// What is still allocated; to be called before KFD is closed.
  void release_all();

 private:
  /// What the thunk gave: it starts before `Memory::data` if a larger alignment than a page was asked for.
  struct Block {
    void* base = nullptr;
    std::uint64_t bytes = 0;
  };

  Result<Block> allocate_block(std::optional<RankId> home, std::uint64_t bytes, bool executable);
  Status map_to_all_gpus(const Block& block);
  void free_block(const Block& block);
  Memory remember(const Block& block, std::byte* data, std::uint64_t bytes);

  const ThunkFunctions& thunk_;
  const Discovery& discovery_;
  std::mutex mutex_;
  std::map<std::byte*, Block> blocks_;  // by Memory::data
};

}  // namespace cortado::device
