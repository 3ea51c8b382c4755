// One compute queue: runs its operations in order on the CPU, each finished before the next begins.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/driver/compute.hpp"
#include "device/driver/driver.hpp"
#include "device/soft/mapped_gemm.hpp"
#include "device/soft/memory_map.hpp"
#include "device/soft/packet_fault.hpp"
#include "device/soft/runnable.hpp"
#include "device/soft/tracker_unit.hpp"

namespace cortado::device::soft {

class ComputeRunner;

/// What the owner of a queue sees, plus the way back to its runner.
struct ComputeQueueHandle : ComputeQueue {
  ComputeRunner* runner = nullptr;
  std::uint32_t slot = 0;  ///< set by whoever attaches the queue to a dispatcher
};

class ComputeRunner final : public Runnable {
 public:
  /// `features`: whether the memory of the node can add, for output blocks with op add, and whether its kernels can
  /// ring doorbells.
  ComputeRunner(const MemoryMap& memory, TrackerUnit& trackers, const Features& features, FaultLog& faults, RankId gpu,
                std::uint32_t id);

  ComputeQueueHandle& handle() { return handle_; }

  void submit(std::span<const ComputeOp> operations);

  StepResult step() override;
  StepResult random_step(Random& random) override;

  /// "idle" or what it is doing. Must not be called during a step.
  std::string state() const;

 private:
  enum class Outcome { done, more, hold, fault };
  /// How much of an operation one piece may do.
  struct Quota {
    std::uint64_t bytes = 0;
    std::uint64_t flops = 0;
    Random* random = nullptr;  ///< of the adversarial mode: decides the order of stores
  };

  bool next_operation();
  Outcome advance(Quota quota);
  Outcome run(const WaitOp& op, Quota quota);
  Outcome run(const SignalWriteOp& op, Quota quota);
  Outcome run(const CopyKernelOp& op, Quota quota);
  Outcome run(const KernelLaunchOp& op, Quota quota);
  Outcome run(const GemmLaunchOp& op, Quota quota);
  Outcome run(const CallLaunchOp& op, Quota quota);
  Outcome run(const TimestampOp& op, Quota quota);
  Outcome run(const SubmitOp& op, Quota quota);
  Outcome run_mapped(const GemmLaunchOp& op, Quota quota);
  void raise_tiles(const GemmLaunchOp& op, std::uint64_t tiles);
  Outcome move_rows(const KernelLaunchOp& op, Quota quota);
  Outcome sum(DType dtype, const Span2D& dst, std::span<const Span2D> sources, Quota quota);

  std::optional<PacketFault> check_span(const Span2D& span, const char* what);
  /// For a write that is not an update of a tracker.
  std::optional<PacketFault> check_destination(const Span2D& span, const char* what);
  std::optional<PacketFault> check_word(const std::uint64_t* word);
  std::optional<PacketFault> check_sum(DType dtype, const Span2D& dst, std::span<const Span2D> sources);
  std::optional<PacketFault> check_gemm(const GemmLaunchOp& op);
  std::optional<PacketFault> check_call(const CallLaunchOp& op);
  std::optional<PacketFault> check_outputs(const GemmLaunchOp& op);
  Outcome stop(PacketFault fault);

  ComputeQueueHandle handle_;
  const MemoryMap& memory_;
  TrackerUnit& trackers_;
  const bool adds_;
  const bool rings_;
  FaultLog& faults_;
  RangeCache ranges_;

  mutable std::mutex incoming_mutex_;
  std::vector<ComputeOp> incoming_;

  std::deque<ComputeOp> operations_;
  std::uint64_t progress_ = 0;        // of the first operation: bytes, rows, tiles or stores of tiles done
  std::size_t raised_ = 0;            // of a Gemm: raises done
  std::optional<MappedGemm> mapped_;  // the first operation, if it is a Gemm with an output map that has begun
  std::uint64_t finished_ = 0;        // number of operations before the first
  bool stopped_ = false;
  std::string fault_message_;
};

}  // namespace cortado::device::soft
