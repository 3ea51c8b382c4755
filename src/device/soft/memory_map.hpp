// Memory of the embedded node: what is allocated, and whether an address range lies inside it.
//
// Releasing memory while engines run takes three steps: retire() hides the range from every later lookup, the caller
// waits until no step that may have looked it up before is running, then unmap() releases the pages. Lookups that an
// engine remembers (RangeCache) are valid for one generation: retire() starts a new one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "cortado/result.hpp"

#include "device/driver/driver.hpp"

namespace cortado::device::soft {

/// Addresses begin .. end-1.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool holds(std::uint64_t address, std::uint64_t bytes) const {
    return address >= begin && bytes <= end - begin && address - begin <= end - begin - bytes;
  }
};

/// A range of addresses, and where its bytes are in this process.
struct Mapping {
  Range range;
  std::uint64_t to_host = 0;  ///< host pointer minus address, modulo 2^64
};

/// What engines can reach. Mappings that they remember are valid for one generation.
class AddressSpace {
 public:
  AddressSpace() = default;
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;
  virtual ~AddressSpace() = default;

  /// The mapping that contains the whole range.
  virtual std::optional<Mapping> mapping(std::uint64_t address, std::uint64_t bytes) const = 0;
  std::uint64_t generation() const { return generation_.load(std::memory_order_seq_cst); }

 protected:
  /// To be called after mappings were removed.
  void start_generation() { generation_.fetch_add(1, std::memory_order_seq_cst); }

 private:
  std::atomic<std::uint64_t> generation_{1};
};

class MemoryMap final : public AddressSpace {
 public:
  /// `gpu_bytes`: memory of one GPU, 0 = unlimited. All allocations together never exceed the host's memory.
  explicit MemoryMap(Bytes gpu_bytes);
  ~MemoryMap() override;

  /// Zeroed pages that the kernel commits on first touch.
  Result<Memory> allocate(const MemoryRequest& request);

  /// False if `data` is not the start of an allocation.
  bool retire(const std::byte* data);
  /// For a retired allocation.
  void unmap(const std::byte* data);

  /// Memory of the caller, which may overlap other such memory; it stays known until unmapped as often as it was
  /// mapped.
  Status map_host(const Memory& memory);
  void unmap_host(const Memory& memory);

  /// The allocation, or memory of the caller, that contains the whole range.
  std::optional<Range> find(std::uint64_t address, std::uint64_t bytes) const;
  std::optional<Mapping> mapping(std::uint64_t address, std::uint64_t bytes) const override;

 private:
  struct Allocation {
    Range range;
    void* mapping = nullptr;
    std::size_t mapped_bytes = 0;
    std::optional<RankId> home;
  };

  Status check_capacity(const MemoryRequest& request) const;

  const std::uint64_t gpu_bytes_;
  const std::uint64_t host_bytes_;
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, Allocation> live_;                                  // by range.begin
  std::map<std::uint64_t, Allocation> retired_;                               // by range.begin
  std::map<std::optional<RankId>, std::uint64_t> live_bytes_;                 // by home
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> callers_;  // begin and end -> number of times mapped
};

/// The ranges that one queue used most recently.
class RangeCache {
 public:
  /// Null if no mapping contains the whole range. Valid until the next call.
  const Mapping* find(const AddressSpace& space, std::uint64_t address, std::uint64_t bytes) {
    if (generation_ == space.generation()) [[likely]] {
      for (const Mapping& mapping : mappings_) {
        if (mapping.range.holds(address, bytes)) return &mapping;
      }
    }
    return look_up(space, address, bytes);
  }
  bool covers(const AddressSpace& space, std::uint64_t address, std::uint64_t bytes) {
    return find(space, address, bytes) != nullptr;
  }

 private:
  const Mapping* look_up(const AddressSpace& space, std::uint64_t address, std::uint64_t bytes);

  std::array<Mapping, 8> mappings_{};
  std::uint64_t generation_ = 0;
  std::uint32_t next_ = 0;
};

}  // namespace cortado::device::soft
