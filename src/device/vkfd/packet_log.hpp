// Logs every packet that the engines of a process execute, one line each, in a file of the node's folder, and derives
// listings and traces from it. Each line is written at once, because programs end in all kinds of ways.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cortado/result.hpp"

#include "device/vkfd/node_observer.hpp"

namespace cortado::device::vkfd {

class PacketLog final : public NodeObserver {
 public:
  explicit PacketLog(const std::string& folder);
  ~PacketLog() override;

  void fetched(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override;
  void finished(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override;
  /// A packet whose times (nanoseconds) are known from elsewhere.
  void add(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place, std::uint64_t begin,
           std::uint64_t end) const;

 private:
  int file_ = -1;
  std::mutex mutex_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> begun_;  // queue and index -> nanoseconds
};

struct LoggedPacket {
  std::uint32_t process = 0;
  std::uint32_t gpu = 0;
  std::uint32_t engine = 0;
  std::uint32_t queue = 0;
  std::uint64_t index = 0;
  std::uint64_t offset = 0;
  std::uint64_t begin = 0;  ///< nanoseconds since the very first packet
  std::uint64_t end = 0;
  std::string text;
};

/// The packets of all processes of the node, sorted by process, GPU, engine, queue and place.
Result<std::vector<LoggedPacket>> read_packet_logs(const std::string& folder);

/// A listing, one packet per line below its queue.
std::string packet_listing(const std::vector<LoggedPacket>& packets);
/// A Perfetto trace: one process per GPU, one track per engine. `modelled`: notes that the times are modelled.
std::string packet_trace(const std::vector<LoggedPacket>& packets, bool modelled);

}  // namespace cortado::device::vkfd
