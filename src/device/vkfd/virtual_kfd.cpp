#include "device/vkfd/virtual_kfd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/cores.hpp"
#include "base/text.hpp"
#include "device/vkfd/limit_reporter.hpp"
#include "device/vkfd/program_memory.hpp"
#include "device/vkfd/topology_tree.hpp"

namespace cortado::device::vkfd {
namespace {

constexpr std::uint64_t kGpuTick = 10;  // nanoseconds: a clock of 100 MHz

std::uint32_t count_engines(const Machine& machine, EngineClass kind) {
  return static_cast<std::uint32_t>(std::ranges::count(machine.engines, kind, &Engine::kind));
}

RunnerOptions watched(RunnerOptions options, NodeObserver* observer) {
  options.observer = observer;
  return options;
}

std::uint32_t most_queues(const Machine& machine) {
  return machine.gpus * (static_cast<std::uint32_t>(machine.engines.size()) * machine.dma.queues_per_engine +
                         QueueSlots::kMostComputeQueues);
}

}  // namespace

// --- Making and ending -----------------------------------------------------------------------------------------------

Result<std::unique_ptr<VirtualKfd>> VirtualKfd::create(const Machine& machine, VirtualKfdOptions options) {
  CORTADO_ASSIGN_OR_RETURN(const Part part, part_of(machine));
  CORTADO_ASSIGN_OR_RETURN(DeviceFile file, DeviceFile::create("kfd"));
  std::unique_ptr<VirtualKfd> driver(new VirtualKfd(machine, part, std::move(options), std::move(file)));
  for (std::uint32_t gpu = 0; gpu < machine.gpus; ++gpu) CORTADO_RETURN_IF_ERROR(driver->add_gpu(gpu));
  return driver;
}

VirtualKfd::VirtualKfd(const Machine& machine, const Part& part, VirtualKfdOptions options, DeviceFile kfd_file)
    : machine_(machine),
      part_(part),
      options_(std::move(options)),
      observer_(all_observers()),
      rules_{machine.dma, machine.features},
      delays_(false),
      no_trackers_(std::nullopt, machine.gpus, no_memory_),
      kfd_file_(std::move(kfd_file)),
      runner_(most_queues(machine), watched(options_.runner, observer_.get())) {}

std::unique_ptr<NodeObserver> VirtualKfd::all_observers() {
  const Home home = [this](std::uint32_t gpu, std::uint64_t address) { return gpus_[gpu]->pages.home(address); };
  std::vector<std::unique_ptr<NodeObserver>> all;
  all.push_back(std::make_unique<LimitReporter>(machine_, home, options_.log));
  if (options_.observer) all.push_back(std::move(options_.observer));
  if (options_.model_time) {
    auto clock = std::make_unique<ModelClock>(machine_, home, options_.faults, std::move(options_.packet_log));
    model_ = clock.get();
    all.push_back(std::move(clock));
  } else if (options_.packet_log) {
    all.push_back(std::move(options_.packet_log));
  }
  return std::make_unique<Observers>(std::move(all));
}

Status VirtualKfd::add_gpu(std::uint32_t gpu) {
  CORTADO_ASSIGN_OR_RETURN(DeviceFile file, DeviceFile::create("renderD"));
  const QueueSlots slots(count_engines(machine_, EngineClass::host), count_engines(machine_, EngineClass::peer),
                         machine_.dma.queues_per_engine);
  auto added = std::make_unique<Gpu>(std::move(file), slots);
  added->doorbells = kfd_file_.map(doorbell_offset(gpu), kfd::kDoorbellPage);
  if (added->doorbells == nullptr) {
    return fail(Diagnostic{"vkfd.memory", std::strerror(errno), {}, {}, About::environment});
  }
  added->context = std::make_unique<soft::EngineContext>(
      soft::EngineContext{added->pages, rules_, *this, delays_, no_trackers_, observer_.get()});
  gpus_.push_back(std::move(added));
  return {};
}

void VirtualKfd::stop_engines() {
  runner_.stop();
  if (model_ != nullptr) model_->settle_all();
}

void VirtualKfd::close_files() {
  kfd_file_.close();
  for (const auto& gpu : gpus_) gpu->file.close();
}

VirtualKfd::~VirtualKfd() {
  stop_engines();
  for (auto& [id, queue] : queues_) runner_.detach(*queue.ring);
  queues_.clear();
  for (auto& [handle, allocation] : allocations_) {
    if (allocation.alias != nullptr)
      ::munmap(allocation.alias, allocation.mapping.range.end - allocation.mapping.range.begin);
  }
  for (const auto& gpu : gpus_) ::munmap(gpu->doorbells, kfd::kDoorbellPage);
}

// --- The table of calls ----------------------------------------------------------------------------------------------

template <class T, class Function>
int VirtualKfd::with(unsigned long request, void* argument, Function&& function) {
  T whole{};
  const std::size_t bytes = std::min<std::size_t>(_IOC_SIZE(request), sizeof(T));
  if (!copy_in(&whole, argument, bytes)) return EFAULT;
  const T before = whole;
  const int result = function(whole);
  const bool changed = std::memcmp(&before, &whole, bytes) != 0;
  return changed && !copy_out(argument, &whole, bytes) ? EFAULT : result;
}

int VirtualKfd::ioctl(unsigned long request, void* argument) {
  const auto plain = [&]<class T>(T*) { return with<T>(request, argument, [&](T& whole) { return answer(whole); }); };
  const auto nothing = [&](auto) { return 0; };
  using kfd::Call;
  switch (static_cast<Call>(_IOC_NR(request))) {
    case Call::get_version:
      return plain(static_cast<kfd::GetVersion*>(nullptr));
    case Call::get_apertures:
      return plain(static_cast<kfd::GetApertures*>(nullptr));
    case Call::acquire_vm:
      return plain(static_cast<kfd::AcquireVm*>(nullptr));
    case Call::alloc_memory:
      return plain(static_cast<kfd::AllocMemory*>(nullptr));
    case Call::free_memory:
      return plain(static_cast<kfd::FreeMemory*>(nullptr));
    case Call::map_memory:
      return with<kfd::MapMemory>(request, argument, [&](auto& whole) { return change_mapping(whole, true); });
    case Call::unmap_memory:
      return with<kfd::MapMemory>(request, argument, [&](auto& whole) { return change_mapping(whole, false); });
    case Call::create_queue:
      return plain(static_cast<kfd::CreateQueue*>(nullptr));
    case Call::destroy_queue:
      return plain(static_cast<kfd::DestroyQueue*>(nullptr));
    case Call::update_queue:
      return plain(static_cast<kfd::UpdateQueue*>(nullptr));
    case Call::get_clock_counters:
      return plain(static_cast<kfd::ClockCounters*>(nullptr));
    case Call::available_memory:
      return plain(static_cast<kfd::AvailableMemory*>(nullptr));
    case Call::get_tile_config:
      return plain(static_cast<kfd::TileConfig*>(nullptr));
    case Call::set_xnack_mode:
      return plain(static_cast<kfd::XnackMode*>(nullptr));
    case Call::create_event:
      return with<kfd::CreateEvent>(request, argument, [&](auto& whole) { return events_.create(whole); });
    case Call::destroy_event:
      return with<kfd::EventId>(request, argument, [&](auto& whole) { return events_.destroy(whole.event_id); });
    case Call::set_event:
      return with<kfd::EventId>(request, argument, [&](auto& whole) { return events_.set(whole.event_id); });
    case Call::reset_event:
      return with<kfd::EventId>(request, argument, [&](auto& whole) { return events_.reset(whole.event_id); });
    case Call::wait_events:
      runner_.wake();  // a program that waits has rung before
      return with<kfd::WaitEvents>(request, argument, [&](auto& whole) { return events_.wait(whole); });
    // Settings of caches and kernels, neither of which exist here.
    case Call::set_memory_policy:
      return with<kfd::SetMemoryPolicy>(request, argument, nothing);
    case Call::set_scratch_backing:
      return with<kfd::SetScratchBacking>(request, argument, nothing);
    case Call::set_trap_handler:
      return with<kfd::SetTrapHandler>(request, argument, nothing);
    case Call::runtime_enable:
      return EINVAL;  // what kernels without a debugger answer
  }
  options_.log(fmt::format("ioctl {:#04x} of {} is not supported here: ENOTTY", _IOC_NR(request), kfd::kDevice));
  return ENOTTY;
}

VirtualKfd::Gpu* VirtualKfd::gpu_of_id(std::uint32_t id, std::uint32_t* index) {
  for (std::uint32_t i = 0; i < gpus_.size(); ++i) {
    if (gpu_id(i) != id) continue;
    if (index != nullptr) *index = i;
    return gpus_[i].get();
  }
  return nullptr;
}

int VirtualKfd::answer(kfd::GetVersion& request) {
  request = {kfd::kMajorVersion, kfd::kVersionWithEngineQueues};
  return 0;
}

int VirtualKfd::answer(kfd::GetApertures& request) {
  const auto count = static_cast<std::uint32_t>(gpus_.size());
  if (request.nodes != 0) {
    std::vector<kfd::Apertures> out(std::min(count, request.nodes));
    for (std::uint32_t gpu = 0; gpu < out.size(); ++gpu) {
      // A limit of 2^47 - 1 or above lets programs use their own addresses on the GPUs.
      out[gpu] = {0x1000000000000, 0x10000ffffffff, 0x2000000000000, 0x20000ffffffff,
                  0x4000,          0x7fffffffffff,  gpu_id(gpu),     0};
    }
    if (!copy_out(reinterpret_cast<void*>(request.apertures), out.data(), out.size() * sizeof(kfd::Apertures))) {
      return EFAULT;
    }
  }
  request.nodes = count;
  return 0;
}

int VirtualKfd::answer(kfd::AcquireVm& request) {
  return gpu_of_id(request.gpu_id) != nullptr ? 0 : EINVAL;
}

int VirtualKfd::answer(kfd::ClockCounters& request) {
  const std::uint64_t now = soft::steady_nanoseconds();
  // The host has a clock, too; libraries query it as that of node 0.
  request.gpu = gpu_of_id(request.gpu_id) == nullptr ? 0 : now / kGpuTick;
  request.cpu = now;
  request.system = now;
  request.system_frequency = 1'000'000'000;
  return 0;
}

int VirtualKfd::answer(kfd::TileConfig& request) {
  request.tile_count = 0;
  request.macro_tile_count = 0;
  request.gb_addr_config = 0x22010042;  // of gfx9; for images, which do not exist here
  request.banks = 0;
  request.ranks = 0;
  return 0;
}

int VirtualKfd::answer(kfd::XnackMode& request) {
  if (request.enabled > 0) return EPERM;
  request.enabled = 0;
  return 0;
}

// --- What engines ask for --------------------------------------------------------------------------------------------

void VirtualKfd::trap(const SdmaQueue&, std::uint32_t context) {
  events_.trap(context);
}

std::uint64_t VirtualKfd::timestamp(const SdmaQueue& queue) {
  return (model_ != nullptr ? model_->stamp(queue) : soft::steady_nanoseconds()) / kGpuTick;
}

std::uint64_t VirtualKfd::gpu_clock() {
  return soft::steady_nanoseconds() / kGpuTick;
}

void VirtualKfd::fault(EngineFault what) {
  options_.log(fmt::format("GPU {} engine {} queue {}: packet {} at ring offset {:#x}: {}", what.gpu.value,
                           what.engine.value, what.queue, what.packet_index, what.ring_offset, what.message));
  if (what.kind == FaultKind::bad_address) raise_exception(what.gpu.value, what.address);
}

void VirtualKfd::raise_exception(std::uint32_t gpu, std::uint64_t address) {
  kfd::MemoryException exception;
  exception.not_present = 1;
  exception.va = address;
  exception.gpu_id = gpu_id(gpu);
  events_.raise(exception);
}

}  // namespace cortado::device::vkfd
