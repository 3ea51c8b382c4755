// One tracker of the embedded node: counts updates of the bytes of a region, makes the first of an iteration store and
// later ones add, and raises a word when all have arrived.
//
// Updates come from any number of threads, in any order and in pieces of any size. Each piece is moved and counted
// under the tracker's lock: adds to the same bytes are never lost, and the word is raised only when every byte is in
// memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "device/driver/driver.hpp"
#include "device/soft/packet_fault.hpp"

namespace cortado::device::soft {

/// How many updates each byte of a tracked region has received, kept as runs of bytes with equal counts: a tile that is
/// stored row by row makes one run per row, and these merge again as its neighbours arrive.
class UpdateCounts {
 public:
  explicit UpdateCounts(std::uint64_t bytes) : bytes_(bytes) { clear(); }

  std::uint64_t bytes() const { return bytes_; }
  /// Updates of all bytes together.
  std::uint64_t total() const { return total_; }

  /// Calls visit(first, bytes, count) for the runs that make up these bytes, in order.
  template <class Visitor>
  void for_each_run(std::uint64_t first, std::uint64_t bytes, Visitor&& visit) const {
    const std::uint64_t end = first + bytes;
    for (auto run = std::prev(counts_.upper_bound(first)); first < end; ++run) {
      const auto next = std::next(run);
      const std::uint64_t run_end = std::min(end, next == counts_.end() ? bytes_ : next->first);
      visit(first, run_end - first, run->second);
      first = run_end;
    }
  }

  /// One more update of each of these bytes; there must be at least one byte.
  void add(std::uint64_t first, std::uint64_t bytes);
  void clear();

 private:
  using Runs = std::map<std::uint64_t, std::uint64_t>;

  Runs::iterator split_at(std::uint64_t place);
  void join_at(std::uint64_t place);

  std::uint64_t bytes_;
  std::uint64_t total_ = 0;
  Runs counts_;  // first byte of a run, and the count of all its bytes
};

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
