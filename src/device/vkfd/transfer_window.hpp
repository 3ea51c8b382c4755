// Transfers of all queues on the modelled machine, and when they end. What is there at the same time is simulated
// together (copy_times.hpp), so that engines, links and memories are shared as in any simulated program.
//
// A transfer changes nothing that ended before it began. So an end is certain when nobody can add a transfer that
// begins before it; until then a later addition may move it.
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
  /// The machine has timing. `log` gets every transfer once its times are certain; may be null.
  TransferWindow(const Machine& machine, const PacketLog* log) : times_(machine), log_(log) {}

  struct Packet {
    sdma::Packet packet;
    soft::PacketPlace place;
  };
  struct List {
    SdmaQueue queue;
    MoveList moves;
    std::uint64_t factor = 1;       ///< so many times as slow as the model says
    std::vector<Packet> packets{};  ///< of the moves; empty without a log
    std::vector<MoveSpan> spans{};  ///< of the moves, as of the last question
    std::uint64_t end = 0;
  };
  /// `horizon`: nobody will add a list that begins earlier.
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
