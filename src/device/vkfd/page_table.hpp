// What one GPU can reach: address ranges and where their bytes are in this process. Everything else is a fault.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

#include "device/soft/memory_map.hpp"

namespace cortado::device::vkfd {

class PageTable final : public soft::AddressSpace {
 public:
  std::optional<soft::Mapping> mapping(std::uint64_t address, std::uint64_t bytes) const override;
  /// The mapping that begins there.
  std::optional<soft::Mapping> mapping_at(std::uint64_t address) const;

  /// False if some of the addresses are mapped already.
  bool add(const soft::Mapping& mapping);
  /// Engines may go on until the steps that run now have ended.
  bool remove(std::uint64_t begin);

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, soft::Mapping> mappings_;  // by first address
};

}  // namespace cortado::device::vkfd
