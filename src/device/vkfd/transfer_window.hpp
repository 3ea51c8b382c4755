// Transfers of all queues on the modelled machine, and when they end. Concurrent transfers are simulated together
// (copy_times.hpp), so that engines, links and memories are shared as in any simulated program.
//
// A transfer does not affect anything that ended before it began. So an end is certain when no transfer that begins
// before it can be added any more; until then, a later addition may move it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cortado/machine.hpp"

#include "device/vkfd/copy_times.hpp"
#include "device/vkfd/packet_log.hpp"

namespace cortado::device::vkfd {

class TransferWindow {
 public:
  /// The machine must have timing. `log` gets every transfer once its times are certain; may be null.
  TransferWindow(const Machine& machine, const PacketLog* log) : times_(machine), log_(log) {}

  struct Packet {
    sdma::Packet packet;
    soft::PacketPlace place;
  };
  struct List {
    SdmaQueue queue;
    MoveList moves;
    std::uint64_t factor = 1;       ///< how many times slower than the model
    std::vector<Packet> packets{};  ///< of the moves; empty without a log
    std::vector<MoveSpan> spans{};  ///< of the moves, as of the last query
    std::uint64_t end = 0;
  };
  /// `horizon`: no list that begins earlier will be added.
  void add(List list, std::uint64_t horizon);

  /// Nanoseconds: the last byte of the queue's transfers; 0 if there are none here.
  std::uint64_t end_of(std::uint32_t queue);
  /// Logs everything and forgets it.
  void flush();

 private:
  void solve();
  void forget(std::uint64_t horizon);

  CopyTimes times_;
  const PacketLog* log_;
  std::vector<std::unique_ptr<List>> lists_;
  bool solved_ = true;
};

}  // namespace cortado::device::vkfd
