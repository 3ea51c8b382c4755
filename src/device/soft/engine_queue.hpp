// One SDMA queue of an engine: fetches packets from its ring and executes them on memory.
//
// Order, as on real engines: packets start in order. Transfers (COPY, WRITE, CONST_FILL) may still be moving bytes
// while later packets run. FENCE, ATOMIC, TIMESTAMP, TRAP and NOP start when every earlier transfer of the queue has
// finished. POLL_REGMEM, COND_EXE and INDIRECT hold back what follows them but wait for no earlier transfer. A fused
// packet is its poll, its copy and its atomic, one after another.
//
// step() finishes each transfer before it fetches the next packet, which is one of the allowed orders and the fastest
// on a CPU. random_step() reaches all of them. The read pointer passes a packet when it and all before it have
// finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/driver/driver.hpp"
#include "device/soft/engine_host.hpp"
#include "device/soft/fault_injector.hpp"
#include "device/soft/memory_map.hpp"
#include "device/soft/node_clock.hpp"
#include "device/soft/packet_stream.hpp"
#include "device/soft/pages.hpp"
#include "device/soft/runnable.hpp"
#include "device/soft/tracker_unit.hpp"
#include "device/soft/transfer.hpp"

namespace cortado::device::soft {

/// What queues with the same view of memory share.
struct EngineContext {
  const AddressSpace& memory;
  const EngineRules& rules;
  EngineHost& host;
  const DelayClock& delays;
  TrackerUnit& trackers;
  QueueObserver* observer = nullptr;
};

class EngineQueue;

/// What the owner of a queue sees, plus the way back to the queue.
struct EngineQueueHandle : SdmaQueue {
  EngineQueue* queue = nullptr;
  std::uint32_t slot = 0;  ///< set by whoever attaches the queue to a dispatcher
};

class EngineQueue final : public Runnable {
 public:
  /// Takes ownership of the ring's pages; a ring without a mapping stays the caller's. `injection` may be null. The
  /// read pointer is kept in `read_pointer`, if given.
  EngineQueue(const EngineContext& context, const SdmaQueueRequest& request, std::uint32_t id, const Pages& ring,
              EngineInjection* injection, std::uint64_t* read_pointer = nullptr);
  ~EngineQueue() override;

  EngineQueueHandle& handle() { return handle_; }

  /// Writes pointer and doorbell. False if the doorbell was lost on purpose. Any thread, one at a time.
  bool write_doorbell(std::uint64_t write_offset);

  StepResult step() override;
  StepResult random_step(Random& random) override;

  /// Must not be called during a step.
  QueueState state() const;

 private:
  static constexpr std::uint64_t kNoDoorbell = ~std::uint64_t{0};  // no doorbell could wake the queue

  struct Transfer {
    sdma::Packet packet;
    TransferShape shape;
    std::uint64_t first = 0;  ///< units first .. last - 1 are still to move
    std::uint64_t last = 0;
    std::uint64_t offset = 0;  ///< of the packet in the ring
    std::uint64_t index = 0;   ///< packets fetched before
    HostPlaces places;
    bool finished() const { return first == last; }
  };
  enum class Outcome { done, hold, fault };
  enum class Fetched { control, transfer, nothing };

  Fetched fetch();
  bool check(const sdma::Packet& packet, HostPlaces& places, std::uint64_t offset, std::uint64_t index);
  /// Moves units of a transfer that has been checked; false if a tracker stopped the queue.
  bool move(const sdma::Packet& packet, const HostPlaces& places, std::uint64_t first, std::uint64_t count,
            std::uint64_t offset, std::uint64_t index);
  void notice_finished(const sdma::Packet& packet, std::uint64_t offset, std::uint64_t index) {
    if (context_.observer != nullptr) [[unlikely]]
      context_.observer->finished(handle_, packet, {offset, index});
  }
  void notice_rest() {
    if (context_.observer != nullptr) [[unlikely]]
      context_.observer->rests(handle_, stopped_ || stalled_ ? kNoDoorbell : stream_.announced());
  }
  void start_transfer();
  bool notice_doorbell();
  bool doorbell_rang() const;

  Outcome execute_control();
  Outcome run(const sdma::Nop&) { return Outcome::done; }
  Outcome run(const sdma::HdpFlush&) { return Outcome::done; }
  Outcome run(const sdma::Fence& packet);
  Outcome run(const sdma::Trap& packet);
  Outcome run(const sdma::PollRegmem& packet);
  Outcome run(const sdma::Atomic& packet);
  Outcome run(const sdma::Timestamp& packet);
  Outcome run(const sdma::CondExe& packet);
  Outcome run(const sdma::Indirect& packet);
  Outcome run(const sdma::CopyFused& packet);
  template <class Transferred>
  Outcome run(const Transferred&) {
    return Outcome::done;
  }

  enum class SignalFate { write, lose, hold };
  SignalFate signal_fate();

  /// Host address of the bytes; none if they are not mapped.
  std::optional<std::uint64_t> host_address(std::uint64_t address, std::uint64_t bytes) {
    const Mapping* const mapping = ranges_.find(context_.memory, address, bytes);
    if (mapping == nullptr) return std::nullopt;
    return address + mapping->to_host;
  }
  Outcome outside_memory(std::uint64_t address, const char* what);
  Outcome stop(PacketFault fault) { return stop(std::move(fault), stream_.packet_offset(), fetched_ - 1); }
  Outcome stop(PacketFault fault, std::uint64_t offset, std::uint64_t index);

  void move_random_piece(Transfer& transfer, Random& random);

  std::uint64_t read_offset() const;
  void publish_read_offset();
  std::string doing() const;

  struct alignas(64) HostWords {
    std::uint64_t write_pointer = 0;
    std::uint64_t doorbell = 0;
    std::uint64_t doorbells = 0;  ///< how many were rung
  };
  struct alignas(64) EngineWords {
    std::uint64_t read_pointer = 0;
  };

  EngineQueueHandle handle_;
  EngineInjection* const injection_;
  const EngineContext& context_;
  const Pages ring_;
  HostWords host_;
  EngineWords engine_;
  PacketStream stream_;
  RangeCache ranges_;
  HostPlaces places_;                // of stream_.packet(), if it is a transfer
  TransferShape shape_;              // of stream_.packet(), if it is a transfer
  std::vector<Transfer> transfers_;  // in order; a finished one stays until those before it have finished
  bool held_ = false;                // stream_.packet() is fetched and waits to be executed
  bool stalled_ = false;
  bool stopped_ = false;
  std::string fault_message_;
  std::uint64_t fetched_ = 0;
  std::uint64_t signals_ = 0;  // ATOMIC and FENCE packets encountered
  bool signal_met_ = false;    // the held one has been counted
  bool signal_lost_ = false;
  std::uint64_t signal_due_ = 0;  // on context_.delays
  std::uint64_t traps_ = 0;       // TRAP packets encountered; counted only if faults are injected
  std::uint64_t slow_until_ = 0;  // of a slow engine: nanoseconds
};

}  // namespace cortado::device::soft
