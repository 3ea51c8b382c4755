// The embedded node: software GPUs whose DMA engines read real rings and execute real packets on real memory.
//
// What it does where real engines leave room: a POLL with a finite retry count polls for ever; TIMESTAMP "set" is
// ignored, "get" records the host's steady clock in nanoseconds; rings are not memory that packets may name; indirect
// buffers do not nest; the priority of a compute queue has no effect. An engine accepts the packets that its machine's
// limits and features allow, others are engine faults.
//
// Trackers (driver.hpp) count updates byte by byte; their entries have no limit here, the most that were in use can be
// asked for. Faults of the queue that writes: more updates of a byte than programmed, a product that adds to bytes
// without a tracker, a write of tracked bytes that is no update.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/device/driver.hpp"
#include "cortado/machine/machine.hpp"

namespace cortado::device {

/// Things that go wrong on purpose. Counts are per queue; the first thing is number 0. Every entry strikes once, in the
/// first queue of its engine that reaches the count, so that a node can be used again after the run it spoiled.
struct FaultInjection {
  /// After so many packets of a queue its engine stops fetching, for all its queues, until that queue is destroyed.
  struct StalledEngine {
    RankId gpu;
    EngineId engine;
    std::uint64_t after_packets = 0;
  };
  struct DroppedDoorbell {
    RankId gpu;
    EngineId engine;
    std::uint64_t nth = 0;
  };
  struct LostSignal {  ///< the nth ATOMIC or FENCE packet of a queue writes nothing
    RankId gpu;
    EngineId engine;
    std::uint64_t nth = 0;
  };
  /// The nth ATOMIC or FENCE packet of a queue takes that much longer. In adversarial mode a step is a microsecond.
  struct DelayedSignal {
    RankId gpu;
    EngineId engine;
    std::uint64_t nth = 0;
    std::uint64_t nanoseconds = 0;
  };
  std::vector<StalledEngine> stalled_engines;
  std::vector<DroppedDoorbell> dropped_doorbells;
  std::vector<LostSignal> lost_signals;
  std::vector<DelayedSignal> delayed_signals;

  bool empty() const {
    return stalled_engines.empty() && dropped_doorbells.empty() && lost_signals.empty() && delayed_signals.empty();
  }
};

struct SoftOptions {
  /// Worker threads beside the callers' own; none = one less than the cores. 0 works: waiting callers run the engines.
  std::optional<std::uint32_t> workers;
  /// With a seed, everything the semantics leaves open is decided by a random generator: which queue moves next, how
  /// copies of a queue interleave (piece by piece, in any order), how long anything takes. One thread, so a seed
  /// repeats.
  std::optional<std::uint64_t> adversarial_seed;
  FaultInjection faults;
};

/// A node of `gpus` GPUs with the engines, limits and features of the machine.
Result<std::unique_ptr<Driver>> open_soft_node(const Machine& machine, std::uint32_t gpus,
                                               const SoftOptions& options = {});

/// Floating-point operations a second of products on such a node: one thread measured for 20 ms, times the threads that
/// have a core of their own.
double soft_gemm_rate(DType dtype, const SoftOptions& options = {});

}  // namespace cortado::device
