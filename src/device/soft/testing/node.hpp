// A small machine, test memory, and a writer of rings for the tests of the embedded node.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/packets.hpp"

#include "device/soft/soft.hpp"

namespace cortado::device::soft {

/// Four GPUs with engines 0 (host), 1 .. 7 (peer); engine 7 is not in silicon.
inline Machine test_machine() {
  Machine machine;
  machine.name = "test-machine";
  machine.gpus = 4;
  for (std::uint32_t id = 0; id < 8; ++id) {
    machine.engines.push_back({EngineId{id}, id == 0 ? EngineClass::host : EngineClass::peer, id != 7});
  }
  machine.dma.max_copy_bytes = {1ULL << 30};
  machine.dma.max_swap_bytes = {0x3fffffc0};
  machine.dma.broadcast_alignment = {32};
  machine.dma.swap_alignment = {64};
  machine.dma.window_alignment = {4};
  machine.dma.queues_per_engine = 2;
  machine.features = {true, true, true};
  return machine;
}

inline std::unique_ptr<Driver> open_test_node(const SoftOptions& options = {}, const Machine& machine = test_machine(),
                                              std::uint32_t gpus = 4) {
  auto node = open_soft_node(machine, gpus, options);
  EXPECT_TRUE(node.has_value());
  return std::move(*node);
}

/// Calls assist() until the condition holds. The limit is far beyond what any test needs; it only ends a hung test.
template <class Condition>
[[nodiscard]] bool assist_until(Driver& driver, Condition&& condition,
                                std::chrono::seconds limit = std::chrono::seconds(30)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    driver.assist();
  }
  return true;
}

inline std::uint64_t read_word(const std::uint64_t* word) {
  return std::atomic_ref(const_cast<std::uint64_t&>(*word)).load(std::memory_order_acquire);
}

inline void add_to(std::uint64_t* word, std::uint64_t value) {
  std::atomic_ref(*word).fetch_add(value, std::memory_order_acq_rel);
}

/// Memory of GPU 0 that lives as long as this object.
class TestBuffer {
 public:
  TestBuffer(Driver& driver, std::uint64_t bytes, RankId home = {}) : driver_(&driver) {
    memory_ = *driver.allocate({home, {bytes}, {4096}});
  }
  ~TestBuffer() { driver_->release(memory_); }
  TestBuffer(const TestBuffer&) = delete;
  TestBuffer& operator=(const TestBuffer&) = delete;

  std::uint64_t at(std::uint64_t offset = 0) const { return memory_.address() + offset; }
  std::byte* data() const { return memory_.data; }
  std::uint64_t size() const { return memory_.bytes.value; }
  std::uint64_t* word(std::uint64_t index) const { return reinterpret_cast<std::uint64_t*>(memory_.data) + index; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(memory_.data);
  }
  /// Bytes 0, 1, 2, ... plus `start`, modulo 251 (a prime, so that shifts by powers of two show).
  void fill_pattern(std::uint64_t start = 0) const {
    for (std::uint64_t i = 0; i < size(); ++i) memory_.data[i] = pattern(start + i);
  }
  static std::byte pattern(std::uint64_t i) { return static_cast<std::byte>(i % 251); }

 private:
  Driver* driver_;
  Memory memory_;
};

/// Writes packets into the ring of a queue, wrapping around its end, and rings the doorbell.
class TestQueue {
 public:
  TestQueue(Driver& driver, RankId gpu, EngineId engine, std::uint64_t ring_bytes = 4096) : driver_(&driver) {
    auto queue = driver.create_sdma_queue({gpu, engine, {ring_bytes}});
    EXPECT_TRUE(queue.has_value()) << (queue ? "" : queue.error().message);
    queue_ = *queue;
  }
  ~TestQueue() { destroy(); }
  TestQueue(const TestQueue&) = delete;
  TestQueue& operator=(const TestQueue&) = delete;

  void destroy() {
    if (queue_ != nullptr) driver_->destroy(queue_);
    queue_ = nullptr;
  }

  TestQueue& push(const sdma::Packet& packet) {
    std::vector<std::uint32_t> dwords(sdma::dwords(packet));
    sdma::encode(packet, dwords.data());
    return push_raw(dwords);
  }
  TestQueue& push_raw(const std::vector<std::uint32_t>& dwords) {
    for (const std::uint32_t dword : dwords) {
      std::memcpy(queue_->ring + written_ % queue_->ring_bytes, &dword, sizeof(dword));
      written_ += sizeof(dword);
    }
    return *this;
  }
  void ring() { driver_->ring_doorbell(*queue_, written_); }

  SdmaQueue& handle() { return *queue_; }
  std::uint64_t written() const { return written_; }
  std::uint64_t read_offset() const { return read_word(queue_->read_pointer); }
  bool finished() const { return read_offset() == written_; }
  QueueState state() const { return driver_->state(*queue_); }

 private:
  Driver* driver_;
  SdmaQueue* queue_ = nullptr;
  std::uint64_t written_ = 0;
};

inline sdma::Atomic add64(std::uint64_t address, std::uint64_t value = 1) {
  return {sdma::kAtomicAdd64, false, address, value, 0, 0};
}

inline sdma::PollRegmem poll_ge(std::uint64_t address, std::uint32_t value) {
  return {true, false, sdma::PollFunction::ge, address, value, 0xffffffff, 4, 0xfff};
}

}  // namespace cortado::device::soft
