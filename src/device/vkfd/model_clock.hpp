// Time stamps of the modelled machine: what TIMESTAMP packets record under `--clock model`.
//
// Every queue has a time of its own, in nanoseconds of the GPU's clock, which is the clock of this computer:
//   doorbell         packets begin when it was rung, `fetch` later, or when those before them are through
//   transfers        take what the simulator says (copy_times.hpp), one list from one wait or signal to the next;
//                    queues of one engine take turns
//   FENCE, ATOMIC    after the last byte, visible `sync` later
//   POLL, COND_EXE   pass at once, or `wake` after the signal of another engine; after a word that the program wrote,
//                    when they see it
// So durations are those of the model whether this computer is faster or slower; where it is faster, signals and time
// stamps wait until the time has come. Queues of different engines do not slow each other down.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/packets.hpp"
#include "cortado/target.hpp"

#include "device/vkfd/copy_times.hpp"
#include "device/vkfd/node_observer.hpp"
#include "device/vkfd/packet_log.hpp"
#include "device/vkfd/page_table.hpp"

namespace cortado::device::vkfd {

class ModelClock final : public NodeObserver {
 public:
  /// The machine has timing and outlives this. `log` gets every packet with its modelled times; may be null.
  ModelClock(const Machine& machine, Home home, const FaultInjection& faults, std::unique_ptr<PacketLog> log);

  void fetched(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override;
  bool due(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override;
  void finished(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override;
  void announced(const SdmaQueue& queue, std::uint64_t offset, std::uint64_t time) override;
  void queue_gone(const SdmaQueue& queue) override;
  void memory_gone(const soft::Range& range) override;

  /// Nanoseconds: the time of the packet that the queue executes.
  std::uint64_t stamp(const SdmaQueue& queue);
  /// Transfers that nothing waits for are logged, too.
  void settle_all();

 private:
  struct Doorbell {
    std::uint64_t offset = 0;  ///< of the ring, up to which it announces
    std::uint64_t time = 0;
  };
  struct Pending {
    sdma::Packet packet;
    soft::PacketPlace place;
  };
  struct QueueTime {
    SdmaQueue queue;
    std::uint64_t now = 0;        ///< the next packet is read
    std::uint64_t drained = 0;    ///< the last byte of the transfers before has moved
    std::uint64_t begun = 0;      ///< of the packet under way that moves no bytes
    std::uint64_t first_try = 0;  ///< of that packet, on the clock of this computer
    std::uint64_t tries = 0;
    std::uint64_t decided = 0;  ///< packets whose time is known
    std::deque<Doorbell> doorbells{};
    std::vector<Move> moves{};       ///< since the last packet that drained or waited
    std::vector<Pending> pending{};  ///< of these, for the log
  };
  struct Word {
    std::uint64_t time = 0;     ///< when the last signal of an engine was there
    std::uint64_t written = 0;  ///< on the clock of this computer
  };

  QueueTime& time_of(const SdmaQueue& queue);
  void settle(QueueTime& time);
  void decide(QueueTime& time, const sdma::Packet& packet);
  std::uint64_t slowness(const SdmaQueue& queue) const;

  const EngineTiming& timing_;
  const Home home_;
  const std::vector<FaultInjection::SlowEngine> slow_;
  const std::unique_ptr<PacketLog> log_;
  std::mutex mutex_;
  CopyTimes times_;
  std::map<std::uint32_t, QueueTime> queues_;                              // by id
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> free_;  // by GPU and engine: its last byte has moved
  std::map<std::uint64_t, Word> words_;                                    // by address / 8
};

}  // namespace cortado::device::vkfd
