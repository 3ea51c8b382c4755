// What one byte of a transfer, or one unit of other work, takes and touches.
#pragma once

#include <span>
#include <vector>

#include "cortado/result.hpp"

#include "sim/fluid/fluid.hpp"
#include "sim/power/listener.hpp"

namespace cortado::sim {

class UseList {
 public:
  void clear() {
    uses_.clear();
    places_.clear();
    memory_reads_ = 0;
    memory_writes_ = 0;
  }
  /// Each resource is in the list once. A factor of 0 adds nothing: operands that the last-level cache holds take
  /// nothing from the memory.
  void add(ResourceId resource, double factor) {
    if (factor == 0) return;
    for (ResourceUse& use : uses_) {
      if (use.resource != resource) continue;
      use.factor += factor;
      return;
    }
    uses_.push_back({resource, factor});
  }
  std::span<const ResourceUse> view() const { return uses_; }

  void touch(RankId gpu, Place place, double amount) {
    if (amount != 0) places_.push_back({gpu.value, place, amount});
  }
  void touch_nowhere(RankId gpu) { places_.push_back({gpu.value, Place::nowhere, 0}); }
  std::span<const PlaceUse> places() const { return places_; }

  /// Bytes that memories read and write, whether or not these can limit anybody.
  double memory() const { return memory_reads_ + memory_writes_; }
  double memory_reads() const { return memory_reads_; }
  double memory_writes() const { return memory_writes_; }
  void count_memory(double reads, double writes) {
    memory_reads_ += reads;
    memory_writes_ += writes;
  }

 private:
  std::vector<ResourceUse> uses_;
  std::vector<PlaceUse> places_;
  double memory_reads_ = 0;
  double memory_writes_ = 0;
};

}  // namespace cortado::sim
