// The trackers of a program (cortado/program.hpp, rule 7) and the entries of the unit that each GPU has for them.
//
// A tracker takes ceil(bytes / granularity) entries of its GPU when its first update begins, and frees them when all
// updates are in. Who would open a tracker for which there are no entries waits.
//
// As many entries as the largest tracker of the GPU takes are kept for the first one (in the order of the program) that
// is not complete in this iteration, which may always open; all others together share the rest. So writers that come in
// the order of trackers never block one another on one GPU. Several GPUs still can: a ring in which every GPU has to
// store on its neighbour more than the neighbour's entries watch, before it makes what frees its own, cannot go on.
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

/// Bytes that both regions have, which lie in one buffer.
std::uint64_t common_bytes(const Region& one, const Region& other);

class Trackers {
 public:
  Trackers(const Program& program, const Machine& machine);

  bool none() const { return states_.empty(); }
  /// Memory that trackers watch is not cached.
  bool watches(BufferId buffer) const { return !by_buffer_[buffer.value].empty(); }
  RankId gpu_of(std::uint32_t tracker) const { return {states_[tracker].gpu}; }

  /// Calls visit(tracker, bytes) for the trackers that have bytes of the region, in ascending order of their regions.
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

  /// The tracker that has all bytes of the region; none if there is no such.
  std::optional<std::uint32_t> around(const Region& region) const;

  /// An update begins. False if there are no entries for it.
  bool open(std::uint32_t tracker);

  /// Bytes of an update are in. True if they were the last: the tracker starts over, and its entries are free.
  bool update(const TrackerUpdate& update);

  std::uint32_t entries_peak() const { return peak_; }       ///< of any GPU, at the same time
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
    std::size_t first = 0;                // of these, that is not complete in iteration `round`
    std::uint32_t round = 0;
    std::uint32_t reserve = 0;  // entries of the largest
    std::uint32_t held = 0;     // entries of all that are open
  };
  struct Watched {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint32_t tracker;
  };

  /// Extents of trackers may overlap where their rows interleave; the longest of all says how far to look back.
  std::size_t first_behind(std::span<const Watched> watched, std::uint64_t offset) const;

  const Program& program_;
  std::uint32_t entries_ = 0;  // of a GPU
  std::vector<State> states_;
  std::vector<Gpu> gpus_;
  std::vector<std::vector<Watched>> by_buffer_;  // by begin
  std::uint64_t longest_ = 0;                    // extent of any tracker
  std::uint32_t peak_ = 0;
};

}  // namespace cortado::sim
