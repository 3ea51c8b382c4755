// Memory of the node: allocated by the driver, mapped to the host and to all GPUs at the same address.
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
#include "device/kfd/system.hpp"

namespace cortado::device {

/// Files of the driver, open as long as the node is.
struct KfdFiles {
  int kfd = -1;
  std::vector<int> render;  ///< of each GPU
};

/// Thread safe. Its arguments must outlive it.
class KfdMemory {
 public:
  KfdMemory(KfdSystem& system, const KfdFiles& files, const Discovery& discovery)
      : system_(system), files_(files), discovery_(discovery) {}
  KfdMemory(const KfdMemory&) = delete;
  KfdMemory& operator=(const KfdMemory&) = delete;

  Result<Memory> allocate(const MemoryRequest& request);

  /// Host memory in a separate mapping of exactly `bytes` (whole pages), as the kernel requires for rings and their
  /// pointers. Other ioctls refer to it by the handle.
  struct Exact {
    Memory memory;
    std::uint64_t handle = 0;
  };
  Result<Exact> allocate_exactly(std::uint64_t bytes);

  void release(const Memory& memory);

  /// Releases everything still allocated; to be called before the files are closed.
  void release_all();

 private:
  /// Addresses reserved in this process; the driver's memory is mapped into them, starting at `address`.
  struct Block {
    void* reserved = nullptr;
    std::uint64_t reserved_bytes = 0;
    std::byte* address = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t handle = 0;
  };

  Result<Block> allocate_block(std::optional<RankId> home, std::uint64_t bytes, std::uint64_t alignment);
  Status fill_block(Block& block, std::optional<RankId> home);
  Status map_to_all_gpus(const Block& block);
  void free_block(const Block& block);
  Memory remember(const Block& block, std::uint64_t bytes);

  KfdSystem& system_;
  const KfdFiles& files_;
  const Discovery& discovery_;
  std::mutex mutex_;
  std::map<std::byte*, Block> blocks_;  // by Memory::data
};

}  // namespace cortado::device
