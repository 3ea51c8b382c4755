// A test program: memory, queues and packets through ioctls of a virtual driver.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cortado/machine.hpp"
#include "cortado/packets.hpp"

#include "device/vkfd/topology_tree.hpp"
#include "device/vkfd/virtual_kfd.hpp"

namespace cortado::device::vkfd {

class TestProcess {
 public:
  explicit TestProcess(const std::string& machine, VirtualKfdOptions options = {}) {
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    };
    driver_ = VirtualKfd::create(machine_of(machine), std::move(options)).value();
  }

  VirtualKfd& driver() { return *driver_; }
  std::vector<std::string> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  template <class T>
  int call(kfd::Call number, T& argument) {
    return driver_->ioctl(kfd::request<T>(number), &argument);
  }

  struct Block {
    std::byte* host = nullptr;  ///< where the program sees it
    std::uint64_t va = 0;       ///< where GPUs see it
    std::uint64_t bytes = 0;
    std::uint64_t handle = 0;
    std::uint64_t* word(std::size_t i) const { return reinterpret_cast<std::uint64_t*>(host) + i; }
    std::uint64_t load(std::size_t i) const { return std::atomic_ref(*word(i)).load(std::memory_order_acquire); }
  };

  /// Memory of a GPU, mapped to the program at the same address.
  Block allocate(std::uint64_t bytes, std::uint32_t gpu = 0, std::uint32_t kind = kfd::kMemVram) {
    void* const place = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    kfd::AllocMemory request{
        reinterpret_cast<std::uintptr_t>(place), bytes, 0, 0, gpu_id(gpu), kind | kfd::kMemWritable};
    EXPECT_EQ(call(kfd::Call::alloc_memory, request), 0);
    ::mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, driver_->render_file(gpu).descriptor(),
           static_cast<off_t>(request.mmap_offset));
    return {static_cast<std::byte*>(place), request.va, bytes, request.handle};
  }

  int map(const Block& block, std::vector<std::uint32_t> gpus, kfd::Call number = kfd::Call::map_memory) {
    for (std::uint32_t& gpu : gpus) gpu = gpu_id(gpu);
    kfd::MapMemory request{block.handle, reinterpret_cast<std::uintptr_t>(gpus.data()),
                           static_cast<std::uint32_t>(gpus.size()), 0};
    return call(number, request);
  }

  Block allocate_mapped(std::uint64_t bytes, std::uint32_t gpu = 0) {
    const Block block = allocate(bytes, gpu);
    EXPECT_EQ(map(block, all_gpus()), 0);
    return block;
  }

  int free(const Block& block) {
    kfd::FreeMemory request{block.handle};
    const int result = call(kfd::Call::free_memory, request);
    ::munmap(block.host, block.bytes);
    return result;
  }

  std::vector<std::uint32_t> all_gpus() const {
    std::vector<std::uint32_t> gpus;
    for (std::uint32_t gpu = 0; gpu < driver_->machine().gpus; ++gpu) gpus.push_back(gpu);
    return gpus;
  }

  struct Queue {
    Block ring;
    Block pointers;
    std::uint32_t id = 0;
    std::uint32_t gpu = 0;
    std::uint64_t* doorbell = nullptr;
    std::uint64_t doorbell_offset = 0;
    std::uint64_t written = 0;
  };

  static kfd::CreateQueue queue_request(const Block& ring, const Block& pointers, std::uint32_t gpu,
                                        kfd::QueueType type, std::uint32_t engine) {
    kfd::CreateQueue request;
    request.ring_base = ring.va;
    request.ring_size = static_cast<std::uint32_t>(ring.bytes);
    request.read_pointer = pointers.va;
    request.write_pointer = pointers.va + 64;
    request.gpu_id = gpu_id(gpu);
    request.type = static_cast<std::uint32_t>(type);
    request.percentage = 100;
    request.sdma_engine_id = engine;
    return request;
  }

  Queue make_queue(std::uint32_t gpu, std::uint32_t engine) {
    Queue queue{allocate_mapped(4096), allocate_mapped(4096), 0, gpu};
    auto request = queue_request(queue.ring, queue.pointers, gpu, kfd::QueueType::sdma_by_engine, engine);
    EXPECT_EQ(call(kfd::Call::create_queue, request), 0);
    queue.id = request.queue_id;
    queue.doorbell_offset = request.doorbell_offset;
    const std::uint64_t page = request.doorbell_offset & ~(kfd::kDoorbellPage - 1);
    void* const mapped = ::mmap(nullptr, kfd::kDoorbellPage, PROT_READ | PROT_WRITE, MAP_SHARED,
                                driver_->kfd_file().descriptor(), static_cast<off_t>(page));
    queue.doorbell =
        reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(mapped) + (request.doorbell_offset - page));
    return queue;
  }

  int destroy(const Queue& queue) {
    kfd::DestroyQueue request{queue.id, 0};
    const int result = call(kfd::Call::destroy_queue, request);
    auto* const page = reinterpret_cast<std::byte*>(queue.doorbell) - queue.doorbell_offset % kfd::kDoorbellPage;
    ::munmap(page, kfd::kDoorbellPage);
    free(queue.ring);
    free(queue.pointers);
    return result;
  }

  static void submit(Queue& queue, const std::vector<sdma::Packet>& packets) {
    for (const sdma::Packet& packet : packets) {
      queue.written += sdma::encode(packet, reinterpret_cast<std::uint32_t*>(queue.ring.host + queue.written)) * 4;
    }
    std::atomic_ref(*queue.pointers.word(8)).store(queue.written, std::memory_order_release);
    std::atomic_ref(*queue.doorbell).store(queue.written, std::memory_order_release);
  }
  static bool finished(const Queue& queue) { return queue.pointers.load(0) == queue.written; }

  template <class Condition>
  [[nodiscard]] static bool wait_until(Condition&& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  static const Machine& machine_of(const std::string& name) {
    static std::map<std::string, Machine> known;
    const auto found = known.find(name);
    return found != known.end() ? found->second : known.emplace(name, load_machine(name).value()).first->second;
  }

  std::mutex mutex_;
  std::vector<std::string> log_;
  std::unique_ptr<VirtualKfd> driver_;
};

}  // namespace cortado::device::vkfd
