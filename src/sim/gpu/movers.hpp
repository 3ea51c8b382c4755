// Flows and what they belong to: commands that move bytes, and workgroups and stores of GEMMs. Counts their use of the
// memories, and gives them weights according to the machine's arbitration (arbitration.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/timeline.hpp"

#include "sim/gpu/arbitration.hpp"
#include "sim/gpu/core.hpp"
#include "sim/gpu/trackers.hpp"

namespace cortado::sim {

/// What a flow belongs to.
struct Mover {
  enum class Kind : std::uint8_t { command, workgroups, stores };
  std::uint32_t queue;
  std::uint32_t span = kNoSpan;
  Kind kind = Kind::command;
  std::uint32_t lane = 0;            // of stores
  RankId to{};                       // of stores: the GPU whose memory they go to
  const Command* command = nullptr;  // that moves bytes
};

class Movers {
 public:
  Movers(Core& core, const Trackers& trackers);

  FlowId begin(double amount, const UseList& uses, Transfers::Speed speed, const Mover& mover);
  /// Removes a flow that has ended and returns what it belonged to.
  Mover end(FlowId flow);
  /// What has not moved yet continues as in Transfers::replace. `more`: additional memory bytes that the remainder
  /// takes compared with before.
  FlowId replace(FlowId flow, double scale, const UseList& uses, Transfers::Speed speed, double more_reads,
                 double more_writes);
  void set_weight(FlowId flow, double weight);  ///< before arbitration

  const Arbitration& arbitration() const { return arbitration_; }
  void begin_product(std::uint32_t queue, RankId gpu, double memory_intensity);
  void end_product(std::uint32_t queue, RankId gpu);

  /// Bytes of the commands in progress that stream through the last-level cache of a GPU; only where GEMMs run.
  double streaming(RankId gpu) const { return streaming_[gpu.value]; }
  const DramTraffic& traffic() const { return traffic_; }

 private:
  struct Entry {
    Mover mover;
    bool alive = false;
    double weight = 1;  // before arbitration
    FlowId flow{};
  };

  bool is_communication(const Mover& mover) const;
  double share_of(const Mover& mover) const;
  void reweigh();  ///< shares of GPUs have changed
  void count_streaming(const Command& command, double sign);

  Core& core_;
  const Trackers& trackers_;
  Arbitration arbitration_;
  std::vector<Entry> entries_;  // by owner number of the transfer
  std::vector<std::uint32_t> free_;
  std::vector<double> streaming_;  // by rank; empty without GEMMs
  DramTraffic traffic_;
};

}  // namespace cortado::sim
