// Which engine the kernel assigns to a queue: two bit maps per GPU, one for the ordinary and one for the xGMI engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cortado/result.hpp"

#include "device/abi/kfd_abi.hpp"

namespace cortado::device::vkfd {

/// The slots of one GPU. Slot i of a class belongs to engine i modulo the number of engines of the class.
class QueueSlots {
 public:
  static constexpr std::uint32_t kMostComputeQueues = 128;  ///< per GPU; an assumption

  QueueSlots(std::uint32_t ordinary, std::uint32_t xgmi, std::uint32_t queues_per_engine)
      : ordinary_(std::size_t{ordinary} * queues_per_engine),
        xgmi_(std::size_t{xgmi} * queues_per_engine),
        ordinary_engines_(ordinary),
        xgmi_engines_(xgmi),
        doorbells_(kfd::kDoorbellPage / sizeof(std::uint64_t)) {}

  struct Slot {
    bool compute = false;  ///< not on an engine
    bool xgmi = false;
    std::uint32_t place = 0;     ///< in the map of its class
    std::uint32_t engine = 0;    ///< as the driver counts: ordinary ones first
    std::uint32_t doorbell = 0;  ///< word of the doorbell page
  };
  /// The slot, or an errno.
  Expected<Slot, int> take(kfd::QueueType type, std::uint32_t engine);
  void give_back(const Slot& slot);

 private:
  std::vector<bool> ordinary_;
  std::vector<bool> xgmi_;
  std::uint32_t ordinary_engines_;
  std::uint32_t xgmi_engines_;
  std::uint32_t compute_queues_ = 0;
  std::vector<bool> doorbells_;
};

}  // namespace cortado::device::vkfd
