// What one GPU can reach: address ranges and where their bytes are in this process. Any other access is a fault.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <shared_mutex>

#include "device/soft/memory_map.hpp"

namespace cortado::device::vkfd {

inline constexpr std::uint32_t kHostMemory = ~std::uint32_t{0};
/// Whose memory an address of a GPU belongs to: home(gpu, address) is a GPU or kHostMemory.
using Home = std::function<std::uint32_t(std::uint32_t gpu, std::uint64_t address)>;

class PageTable final : public soft::AddressSpace {
 public:
  std::optional<soft::Mapping> mapping(std::uint64_t address, std::uint64_t bytes) const override;
  /// The mapping that begins there.
  std::optional<soft::Mapping> mapping_at(std::uint64_t address) const;

  /// Whose memory contains the address; kHostMemory also for addresses that are not mapped.
  std::uint32_t home(std::uint64_t address) const;

  /// False if some of the addresses are already mapped. `home`: the GPU whose memory it is, or kHostMemory.
  bool add(const soft::Mapping& mapping, std::uint32_t home = kHostMemory);
  /// Engines may keep using the mapping until the steps that are running now have ended.
  bool remove(std::uint64_t begin);

 private:
  struct Entry {
    soft::Mapping mapping;
    std::uint32_t home = kHostMemory;
  };
  /// The lock must be held; null if there is none.
  const Entry* holding(std::uint64_t address, std::uint64_t bytes) const;

  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, Entry> mappings_;  // by first address
};

}  // namespace cortado::device::vkfd
