// All trackers of the embedded node, found by address.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "cortado/result.hpp"

#include "device/driver/driver.hpp"
#include "device/soft/memory_map.hpp"
#include "device/soft/tracker.hpp"

namespace cortado::device::soft {

class TrackerUnit {
 public:
  TrackerUnit(std::optional<TrackerLimits> limits, std::uint32_t gpus, const MemoryMap& memory);

  Result<TrackerHandle> create(const TrackerRequest& request);
  /// Waits for updates in progress.
  void destroy(TrackerHandle tracker);

  TrackerState state(TrackerHandle tracker) const;
  TrackerUse use(RankId gpu) const;

  /// No tracker is programmed: every write is a plain one.
  bool idle() const { return programmed_.load(std::memory_order_relaxed) == 0; }

  enum class Untracked { allowed, fault };
  /// Writes bytes that are contiguous in memory; tracked ones are counted.
  std::optional<PacketFault> update(const Update& update, Untracked untracked);

  /// The fault of a write that is not an update: some byte is tracked.
  std::optional<PacketFault> check_plain_write(const Span2D& span) const;

 private:
  /// A row of a tracked region, or all of it if its rows are adjacent.
  struct Row {
    std::uint64_t end = 0;
    Tracker* tracker = nullptr;
    std::uint64_t offset = 0;  ///< of its first byte in the region
  };
  using Rows = std::map<std::uint64_t, Row>;  // by address

  Status check(const TrackerRequest& request, std::uint64_t entries) const;
  /// The first row that ends after the address.
  Rows::const_iterator row_at(std::uint64_t address) const;
  bool watches(std::uint64_t address, std::uint64_t bytes) const;

  const std::optional<TrackerLimits> limits_;
  const MemoryMap& memory_;
  std::vector<TrackerEntries> entries_;  // by GPU
  std::atomic<std::uint32_t> programmed_{0};
  mutable std::shared_mutex mutex_;
  Rows rows_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Tracker>> trackers_;  // by id
  std::uint32_t next_id_ = 0;
};

}  // namespace cortado::device::soft
