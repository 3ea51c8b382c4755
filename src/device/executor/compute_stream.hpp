// The operations of a compute queue with resolved addresses, submitted to the driver once per iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/result.hpp"

#include "device/driver/driver.hpp"
#include "device/executor/address_map.hpp"

namespace cortado::device {

class ComputeStream {
 public:
  /// With tracing, a TimestampOp precedes every command and follows the last (as in lower.hpp).
  ComputeStream(const Program& program, QueueId id, const AddressMap& addresses,
                const std::vector<std::uint64_t>& advances, bool trace);

  void bind(Driver& driver, ComputeQueue& queue) {
    driver_ = &driver;
    queue_ = &queue;
  }

  /// The writers of the packets that kernels of the stream submit, by QueueId.
  void connect(const std::vector<PacketWriter*>& writers);

  /// Uses other addresses from now on; only without tracing.
  void resolve_again(const Program& program, const AddressMap& addresses);

  void submit(std::uint64_t iteration, std::uint64_t slot_offset);
  /// Adds one to the word after everything submitted so far.
  void submit_drain(std::uint64_t* word);

  QueueId id() const { return id_; }
  const ComputeQueue& queue() const { return *queue_; }
  const std::vector<ComputeOp>& operations() const { return operations_; }

 private:
  struct ValuePlace {
    std::size_t operation = 0;
    std::uint64_t value = 0;
    std::uint64_t advance = 0;
    std::size_t hold = 0;  ///< of a GEMM
  };
  struct SlotPlace {
    std::size_t operation = 0;
    std::uint64_t address = 0;
  };

  void stamp(std::uint64_t address);

  QueueId id_;
  Driver* driver_ = nullptr;
  ComputeQueue* queue_ = nullptr;
  std::vector<ComputeOp> operations_;
  std::vector<ValuePlace> values_;
  std::vector<SlotPlace> slots_;
  std::vector<std::size_t> submits_;  // indices of operations
};

}  // namespace cortado::device
