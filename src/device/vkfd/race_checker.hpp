// Races between engines: two packets of different queues touch the same bytes, at least one writes them, and nothing
// makes one wait for the other.
//
// Order is derived from (vector clocks, one entry per queue):
//   the queue         its packets are assumed to be ordered among themselves
//   FENCE, ATOMIC     release everything before them in the queue to whoever polls the word, and to the host
//   POLL, COND_EXE    and ATOMIC acquire what was released with the word, or by the last write of its bytes
//   barriers          of compute queues acquire through the signals they wait for, and release through the one they
//                     complete
//   doorbells         release what the host may have seen finished when it rang: the host's own waits are not visible,
//                     so everything that had finished before counts as waited for
// So every reported race is real, but races that the host's waits happen to hide are not reported. Doorbells are
// ignored for a while (RunnerOptions::doorbell_delay), so that a host that does not wait rings the next one before
// anything has moved.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/vkfd/node_observer.hpp"

namespace cortado::device::vkfd {

class RaceChecker final : public NodeObserver {
 public:
  explicit RaceChecker(std::function<void(const std::string&)> report) : report_(std::move(report)) {}

  void fetched(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override;
  void finished(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override;
  void rang(const SdmaQueue& queue) override;
  void barrier(std::uint32_t queue, const std::vector<std::uint64_t>& seen, std::uint64_t written) override;
  void queue_gone(const SdmaQueue& queue) override;
  void memory_gone(const soft::Range& range) override;

 private:
  /// How many packets of each queue came before.
  using Clock = std::map<std::uint32_t, std::uint64_t>;
  struct Access {
    std::uint32_t queue = 0;
    std::uint64_t packets = 0;  ///< of the queue, including this one
    std::string who;
  };
  struct Bytes {
    std::uint64_t end = 0;
    std::optional<Access> write{};
    std::vector<Access> reads{};  ///< since the write, one per queue
  };

  static void join(Clock& clock, const Clock& other);
  void split_at(std::uint64_t address);
  void touch(const Clock& clock, const Access& access, std::uint64_t begin, std::uint64_t end, bool writes);
  void check(const Clock& clock, const Access& earlier, const Access& access, std::uint64_t begin, std::uint64_t end);
  void take_over(Clock& clock, std::uint64_t address);

  const std::function<void(const std::string&)> report_;
  std::mutex mutex_;
  std::map<std::uint32_t, Clock> queues_;
  Clock host_;
  std::map<std::uint64_t, Clock> words_;  // by address / 8
  std::map<std::uint64_t, Bytes> bytes_;  // by first address
  std::set<std::pair<std::string, std::string>> reported_;
};

}  // namespace cortado::device::vkfd
