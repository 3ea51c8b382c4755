// A driver for software GPUs: ioctl in, result out, as amdkfd would answer. The DMA engines behind it are those of the
// embedded node; they run in threads of this process, on rings and doorbells that belong to the program.
//
// What programs map are plain files in memory: one for /dev/kfd with the doorbells, and one per render node with the
// memory of its GPU. Offsets that ioctls return are offsets in these files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"

#include "device/abi/kfd_abi.hpp"
#include "device/soft/engine_queue.hpp"
#include "device/soft/soft.hpp"
#include "device/vkfd/aql_queue.hpp"
#include "device/vkfd/device_file.hpp"
#include "device/vkfd/events.hpp"
#include "device/vkfd/model_clock.hpp"
#include "device/vkfd/node_observer.hpp"
#include "device/vkfd/packet_log.hpp"
#include "device/vkfd/page_table.hpp"
#include "device/vkfd/queue_slots.hpp"
#include "device/vkfd/runner.hpp"
#include "device/vkfd/topology_tree.hpp"

namespace cortado::device::vkfd {

inline constexpr std::uint64_t kPage = 4096;

/// Where programs map the doorbells of a GPU. Libraries mask the low half of an offset before they use it.
constexpr std::uint64_t doorbell_offset(std::uint32_t gpu) {
  return (std::uint64_t{gpu} + 1) << 32;
}

struct VirtualKfdOptions {
  RunnerOptions runner;
  FaultInjection faults;
  /// Time stamps are those of the modelled machine (model_clock.hpp), which must have timing; otherwise those of this
  /// computer.
  bool model_time = false;
  std::unique_ptr<PacketLog> packet_log{};  ///< may be null
  /// One line for people: what was rejected, what went wrong. Any thread.
  std::function<void(const std::string&)> log = [](const std::string&) {};
  /// The program wants something impossible, such as a kernel, and must not continue. One line for people. Any thread.
  std::function<void(const std::string&)> refuse = [](const std::string&) {};
  std::unique_ptr<NodeObserver> observer{};  ///< may be null
};

class VirtualKfd final : private soft::EngineHost, private AqlHost {
 public:
  static Result<std::unique_ptr<VirtualKfd>> create(const Machine& machine, VirtualKfdOptions options);
  ~VirtualKfd() override;

  const Machine& machine() const { return machine_; }
  const Part& part() const { return part_; }

  /// What open() of /dev/kfd and of the render node of a GPU returns; to be duplicated.
  const DeviceFile& kfd_file() const { return kfd_file_; }
  const DeviceFile& render_file(std::uint32_t gpu) const { return gpus_[gpu]->file; }

  /// An ioctl of /dev/kfd: 0 or an errno. Any thread.
  int ioctl(unsigned long request, void* argument);
  /// An ioctl of a render node.
  int render_ioctl(std::uint32_t gpu, unsigned long request, void* argument);

  /// Engines stop where they are. To be called before memory of the program is unmapped.
  void stop_engines();
  /// In the child of a fork: it has neither the threads nor a right to the rings, and opens the devices again.
  void close_files();

 private:
  struct Gpu {
    explicit Gpu(DeviceFile its_file, const QueueSlots& its_slots) : file(std::move(its_file)), slots(its_slots) {}
    DeviceFile file;
    QueueSlots slots;
    PageTable pages;
    std::byte* doorbells = nullptr;  ///< our mapping of its doorbell page
    std::uint64_t allocated = 0;
    std::unique_ptr<soft::EngineContext> context;
  };
  struct Allocation {
    std::uint32_t gpu = 0;
    soft::Mapping mapping;
    std::uint32_t flags = 0;
    std::uint64_t file_offset = 0;
    std::byte* alias = nullptr;  ///< our mapping; null for memory of the program
    std::vector<bool> mapped;    ///< to which GPUs it is mapped
    std::uint32_t home() const { return (flags & kfd::kMemVram) != 0 ? gpu : kHostMemory; }
  };
  struct Queue {
    std::uint32_t gpu = 0;
    QueueSlots::Slot slot;
    std::unique_ptr<ProgramQueue> ring;
  };

  VirtualKfd(const Machine& machine, const Part& part, VirtualKfdOptions options, DeviceFile kfd_file);
  std::unique_ptr<NodeObserver> all_observers();
  Status add_gpu(std::uint32_t gpu);

  int answer(kfd::GetVersion& request);
  int answer(kfd::GetApertures& request);
  int answer(kfd::AcquireVm& request);
  int answer(kfd::AllocMemory& request);
  int answer(kfd::FreeMemory& request);
  int change_mapping(kfd::MapMemory& request, bool mapped);
  int answer(kfd::CreateQueue& request);
  int answer(kfd::DestroyQueue& request);
  int answer(kfd::UpdateQueue& request);
  int answer(kfd::ClockCounters& request);
  int answer(kfd::AvailableMemory& request);
  int answer(kfd::TileConfig& request);
  int answer(kfd::XnackMode& request);

  /// Converts the argument, whatever its size, to T and back.
  template <class T, class Function>
  int with(unsigned long request, void* argument, Function&& function);

  Gpu* gpu_of_id(std::uint32_t id, std::uint32_t* index = nullptr);
  int check_queue(const kfd::CreateQueue& request, const Gpu& gpu, RingPlace& place);
  int check_compute_queue(const kfd::CreateQueue& request, const Gpu& gpu, RingPlace& place);
  std::unique_ptr<ProgramQueue> make_queue(std::uint32_t gpu, const QueueSlots::Slot& slot, const RingPlace& place);
  std::uint64_t capacity_left(const Gpu& gpu) const;
  soft::EngineInjection* injection(std::uint32_t gpu, std::uint32_t engine);
  void remove_everywhere(Allocation& allocation);

  void trap(const SdmaQueue& queue, std::uint32_t context) override;
  void fault(EngineFault fault) override;
  std::uint64_t timestamp(const SdmaQueue& queue) override;
  void interrupt(std::uint32_t event) override { events_.trap(event); }
  std::uint64_t gpu_clock() override;
  void refused(std::uint32_t gpu, std::uint32_t queue, std::uint64_t packet, const std::string& why) override;
  void bad_address(std::uint32_t gpu, std::uint32_t queue, std::uint64_t packet, std::uint64_t address) override;
  void passed(std::uint32_t queue, const std::vector<std::uint64_t>& seen, std::uint64_t written) override;
  void raise_exception(std::uint32_t gpu, std::uint64_t address);

  const Machine machine_;
  const Part part_;
  VirtualKfdOptions options_;
  ModelClock* model_ = nullptr;  // one of the observers; null: this computer's time is used
  const std::unique_ptr<NodeObserver> observer_;
  const soft::EngineRules rules_;
  const soft::DelayClock delays_;
  soft::MemoryMap no_memory_{Bytes{0}};
  soft::TrackerUnit no_trackers_;
  DeviceFile kfd_file_;
  Events events_;
  std::mutex mutex_;  // guards everything below
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::map<std::uint64_t, Allocation> allocations_;  // by handle
  std::uint64_t next_handle_ = 1;
  std::uint64_t allocated_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unique_ptr<soft::EngineInjection>> injections_;
  std::map<std::uint32_t, Queue> queues_;
  std::uint32_t next_queue_ = 0;
  Runner runner_;
};

}  // namespace cortado::device::vkfd
