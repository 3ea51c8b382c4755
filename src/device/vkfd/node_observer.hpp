// Observers of programs that use the virtual driver.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/soft/engine_host.hpp"
#include "device/soft/memory_map.hpp"

namespace cortado::device::vkfd {

class NodeObserver : public soft::QueueObserver {
 public:
  void fetched(const SdmaQueue&, const sdma::Packet&, const soft::PacketPlace&) override {}
  void finished(const SdmaQueue&, const sdma::Packet&, const soft::PacketPlace&) override {}
  /// The program has rung the doorbell; the engine has not noticed yet.
  virtual void rang(const SdmaQueue&) {}
  /// The engine is about to learn of packets up to that ring offset; the doorbell was rung at `time` (nanoseconds).
  virtual void announced(const SdmaQueue&, std::uint64_t, std::uint64_t /*time*/) {}
  /// That announcement did not reach the engine.
  virtual void lost(const SdmaQueue&, std::uint64_t) {}
  /// The program has rung for packets up to that ring offset, but there is no such engine.
  virtual void unheard(const SdmaQueue&, std::uint64_t) {}
  /// A barrier of a compute queue has seen these words, and is about to write the last one; 0: none.
  virtual void barrier(std::uint32_t /*queue*/, const std::vector<std::uint64_t>& /*seen*/, std::uint64_t /*written*/) {
  }
  /// The program has destroyed it; none of its packets are moving any more.
  virtual void queue_gone(const SdmaQueue&) {}
  /// No engine can reach these addresses any more.
  virtual void memory_gone(const soft::Range&) {}
};

/// Several observers, called in order.
class Observers final : public NodeObserver {
 public:
  explicit Observers(std::vector<std::unique_ptr<NodeObserver>> all) : all_(std::move(all)) {}

  void fetched(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override {
    for (const auto& each : all_) each->fetched(queue, packet, place);
  }
  void finished(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override {
    for (const auto& each : all_) each->finished(queue, packet, place);
  }
  bool due(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) override {
    bool all = true;
    for (const auto& each : all_) all = each->due(queue, packet, place) && all;
    return all;
  }
  void rests(const SdmaQueue& queue, std::uint64_t announced) override {
    for (const auto& each : all_) each->rests(queue, announced);
  }
  void rang(const SdmaQueue& queue) override {
    for (const auto& each : all_) each->rang(queue);
  }
  void announced(const SdmaQueue& queue, std::uint64_t offset, std::uint64_t time) override {
    for (const auto& each : all_) each->announced(queue, offset, time);
  }
  void lost(const SdmaQueue& queue, std::uint64_t offset) override {
    for (const auto& each : all_) each->lost(queue, offset);
  }
  void unheard(const SdmaQueue& queue, std::uint64_t offset) override {
    for (const auto& each : all_) each->unheard(queue, offset);
  }
  void barrier(std::uint32_t queue, const std::vector<std::uint64_t>& seen, std::uint64_t written) override {
    for (const auto& each : all_) each->barrier(queue, seen, written);
  }
  void queue_gone(const SdmaQueue& queue) override {
    for (const auto& each : all_) each->queue_gone(queue);
  }
  void memory_gone(const soft::Range& range) override {
    for (const auto& each : all_) each->memory_gone(range);
  }

 private:
  const std::vector<std::unique_ptr<NodeObserver>> all_;
};

}  // namespace cortado::device::vkfd
