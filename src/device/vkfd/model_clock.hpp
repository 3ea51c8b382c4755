// Time stamps of the modelled machine: what TIMESTAMP packets record under `--clock model`.
//
// Every queue has its own time, in nanoseconds of the GPU's clock, which is the clock of this computer:
//   doorbell         packets begin `fetch` after it was rung, or when those before them have finished
//   transfers        take the simulated time (transfer_window.hpp), one list from one wait or signal to the next; those
//                    in progress at the same time share engines, links and memories
//   FENCE, ATOMIC    after the last byte, visible `sync` later
//   POLL, COND_EXE   pass at once, or `wake` after the signal of another engine; for a word that the program wrote,
//                    when they see it
// So durations are those of the model whether this computer is faster or slower; where it is faster, signals and time
// stamps wait until their time has come.
//
// Queues run here in a different order from the modelled machine. A packet that waits for earlier transfers is held
// back until no queue can begin a transfer before the packet takes effect: only then is its time certain. A queue that
// could do so is one that moves bytes or has packets to read, and whose time is earlier; one that sleeps at a POLL or
// has nothing to do continues later.
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
#include "device/vkfd/transfer_window.hpp"

namespace cortado::device::vkfd {

class ModelClock final : public NodeObserver {
 public:
  /// The machine must have timing and outlive this. `log` gets every packet with its modelled times; may be null.
  ModelClock(const Machine& machine, Home home, const FaultInjection& faults, std::unique_ptr<PacketLog> log);

  void fetched(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override;
  bool due(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override;
  void finished(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override;
  void announced(const SdmaQueue& queue, std::uint64_t offset, std::uint64_t time) override;
  void lost(const SdmaQueue& queue, std::uint64_t offset) override;
  void rests(const SdmaQueue& queue, std::uint64_t announced) override;
  void queue_gone(const SdmaQueue& queue) override;
  void memory_gone(const soft::Range& range) override;

  /// Nanoseconds: the time of the packet that the queue is executing.
  std::uint64_t stamp(const SdmaQueue& queue);
  /// Logs transfers that nothing waits for as well.
  void settle_all();

 private:
  struct Doorbell {
    std::uint64_t offset = 0;  ///< of the ring, up to which packets are announced
    std::uint64_t time = 0;
  };
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  enum class State {
    rests,  ///< nothing to do
    works,  ///< reads packets or moves bytes
    tries,  ///< at a packet that moves no bytes
    holds,  ///< such a packet was tried and waits for memory to change
  };
  struct QueueTime {
    SdmaQueue queue;
    State state = State::rests;
    std::uint64_t now = 0;  ///< when the next packet is read
    std::deque<Doorbell> doorbells{};
    std::vector<Move> moves{};                      ///< since the last packet that drained or waited
    std::vector<TransferWindow::Packet> packets{};  ///< of these, for the log

    // The current packet that moves no bytes:
    std::uint64_t met = 0;  ///< number of packets up to it
    bool drains = false;    ///< it waits for all earlier transfers
    bool certain = false;   ///< its time is certain
    std::uint64_t begun = 0;
    std::uint64_t first_try = 0;  ///< on the clock of this computer
    std::uint64_t tries = 0;
    std::uint64_t word = kNever;      ///< the word that it waits for: address / 8
    std::uint64_t released = kNever;  ///< when it may continue: another queue writes the word
    std::uint32_t looks = 0;          ///< checks left until it is clear that it does not continue
  };
  struct Word {
    std::uint64_t time = 0;     ///< when the last signal of an engine was visible
    std::uint64_t written = 0;  ///< on the clock of this computer
  };

  QueueTime& time_of(const SdmaQueue& queue);
  void end_list(QueueTime& time);
  void meet(QueueTime& time, const sdma::Packet& packet);
  bool decide(QueueTime& time, const sdma::Packet& packet, std::uint64_t wall);
  void expect(std::uint64_t word, std::uint64_t time, std::uint32_t looks);
  std::uint64_t effect(const QueueTime& time);
  std::uint64_t earliest_list(const QueueTime& time);
  std::uint64_t earliest_list_of_others(const QueueTime& time);
  std::uint64_t slowness(const SdmaQueue& queue) const;

  const EngineTiming& timing_;
  const Home home_;
  const std::vector<FaultInjection::SlowEngine> slow_;
  const std::unique_ptr<PacketLog> log_;
  std::mutex mutex_;
  TransferWindow window_;
  std::map<std::uint32_t, QueueTime> queues_;  // by id
  std::map<std::uint64_t, Word> words_;        // by address / 8
};

}  // namespace cortado::device::vkfd
