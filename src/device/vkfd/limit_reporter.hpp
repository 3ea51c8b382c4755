// Reports uses of engines that they are not made for, one line per queue: peer memory accessed by an engine for the
// host, and doorbells of engines that are not in silicon. (What engines reject stops the queue and is a fault.)
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "cortado/machine.hpp"

#include "device/vkfd/node_observer.hpp"
#include "device/vkfd/page_table.hpp"

namespace cortado::device::vkfd {

class LimitReporter final : public NodeObserver {
 public:
  LimitReporter(const Machine& machine, Home home, std::function<void(const std::string&)> log)
      : machine_(machine), home_(std::move(home)), log_(std::move(log)) {}

  void fetched(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override;
  void unheard(const SdmaQueue& queue, std::uint64_t offset) override;
  void queue_gone(const SdmaQueue& queue) override;

 private:
  bool first_of(const SdmaQueue& queue);

  const Machine& machine_;
  const Home home_;
  const std::function<void(const std::string&)> log_;
  std::mutex mutex_;
  std::set<std::uint32_t> told_;  // queues already reported
};

}  // namespace cortado::device::vkfd
