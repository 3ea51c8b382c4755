// The trackers of a program (cortado/program.hpp, rule 7) and the entries that the unit of each GPU has for them.
//
// A tracker takes ceil(bytes / granularity) entries of its GPU when its first update begins, and frees them when all
// updates have arrived. A writer that would open a tracker for which there are no entries waits.
//
// As many entries as the largest tracker of the GPU takes are reserved for the first tracker (in program order) that is
// not complete in this iteration, which may always open; all others share the rest. So writers that proceed in the
// order of trackers never block one another on one GPU. Several GPUs can still deadlock: a ring gets stuck in which
// every GPU, before it computes what frees its own entries, has to store more on its neighbour than the neighbour's
// entries can watch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

namespace cortado::sim {

/// Bytes of a tracker that are written once.
struct TrackerUpdate {
  std::uint32_t tracker;
  std::uint64_t bytes;
};

/// Number of bytes that two regions of one buffer have in common.
std::uint64_t common_bytes(const Region& one, const Region& other);

class Trackers {
 public:
  Trackers(const Program& program, const Machine& machine);

  bool none() const { return states_.empty(); }
  /// Memory that trackers watch is not cached.
  bool watches(BufferId buffer) const { return !by_buffer_[buffer.value].empty(); }
  RankId gpu_of(std::uint32_t tracker) const { return {states_[tracker].gpu}; }

  /// Calls visit(tracker, bytes) for the trackers that watch bytes of the region, in ascending order of their regions.
  template <class Visit>
  void for_each_within(const Region& region, Visit&& visit) const {
    const std::span<const Watched> watched = by_buffer_[region.buffer.value];
    const std::uint64_t end = region.offset.value + region.extent().value;
    for (std::size_t i = first_behind(watched, region.offset.value); i < watched.size() && watched[i].begin < end;
         ++i) {
      const std::uint64_t bytes = common_bytes(program_.trackers[watched[i].tracker].region, region);
      if (bytes > 0) visit(watched[i].tracker, bytes);
    }
  }

  /// The tracker that watches all bytes of the region, if any.
  std::optional<std::uint32_t> around(const Region& region) const;

  /// An update begins. False if there are no entries for it.
  bool open(std::uint32_t tracker);

  /// Bytes of an update have arrived. True if they were the last: the tracker resets, and its entries are free.
  bool update(const TrackerUpdate& update);

  std::uint32_t entries_peak() const { return peak_; }       ///< maximum over GPUs of entries in use at the same time
  std::uint64_t missing_bytes(std::uint32_t tracker) const;  ///< of the updates of this iteration

 private:
  struct State {
    std::uint32_t gpu = 0;
    std::uint32_t entries = 0;
    std::uint32_t fired = 0;  // iterations
    bool is_open = false;
    std::uint64_t missing = 0;
    std::uint64_t in_all = 0;
  };
  struct Gpu {
    std::vector<std::uint32_t> trackers;  // ascending
    std::size_t first = 0;                // index of the first one that is not complete in iteration `round`
    std::uint32_t round = 0;
    std::uint32_t reserve = 0;  // entries of the largest
    std::uint32_t held = 0;     // entries of all that are open
  };
  struct Watched {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint32_t tracker;
  };

  /// Extents of trackers may overlap where their rows interleave; the longest extent says how far to look back.
  std::size_t first_behind(std::span<const Watched> watched, std::uint64_t offset) const;

  const Program& program_;
  std::uint32_t entries_ = 0;  // per GPU
  std::vector<State> states_;
  std::vector<Gpu> gpus_;
  std::vector<std::vector<Watched>> by_buffer_;  // by begin
  std::uint64_t longest_ = 0;                    // the longest extent of any tracker
  std::uint32_t peak_ = 0;
};

}  // namespace cortado::sim
