// One tracker of the embedded node: counts updates of the bytes of a region, makes the first of an iteration store and
// later ones add, and raises a word when all have arrived.
//
// Updates come from any number of threads, in any order and in pieces of any size. Each piece is moved and counted
// under the tracker's lock: adds to the same bytes are never lost, and the word is raised only when every byte is in
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "device/driver/driver.hpp"
#include "device/soft/packet_fault.hpp"
#include "device/soft/update_counts.hpp"

namespace cortado::device::soft {

/// Entries of one GPU that its trackers hold. There is no limit here: an update that had to wait for an entry might
/// wait for one that only later updates release, so the node counts what it needs and leaves the verdict to its
/// caller.
class TrackerEntries {
 public:
  void take(std::uint64_t entries);
  void give_back(std::uint64_t entries);
  void forget_peak();
  TrackerUse use() const;

 private:
  mutable std::mutex mutex_;
  TrackerUse use_;
};

/// Bytes to be written: `dst` op= `src`.
struct Update {
  std::byte* dst = nullptr;
  const std::byte* src = nullptr;
  std::uint64_t bytes = 0;
  CopyOp op = CopyOp::store;
  DType dtype = DType::u8;  ///< of an add; `bytes` is a multiple of its size
};

class Tracker {
 public:
  /// `entries`: held from the first update until the word is raised.
  Tracker(const TrackerRequest& request, std::uint64_t entries, TrackerEntries& gpu);
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  const TrackerRequest& request() const { return request_; }

  /// Moves and counts the bytes of the region from `offset` on, which are contiguous in memory. The fault is one update
  /// too many of a byte, or half an element.
  std::optional<PacketFault> update(std::uint64_t offset, const Update& update);

  TrackerState state() const;

 private:
  std::optional<PacketFault> check(std::uint64_t offset, const Update& piece) const;
  void move(std::uint64_t offset, const Update& piece);
  void raise_if_complete();

  const TrackerRequest request_;
  const std::uint64_t entries_;
  TrackerEntries& gpu_;
  mutable std::mutex mutex_;
  UpdateCounts counts_;
  std::uint64_t raises_ = 0;
};

}  // namespace cortado::device::soft
