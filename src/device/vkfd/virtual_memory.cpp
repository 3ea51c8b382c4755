// Memory of the virtual driver: pages of its files and of the program, and which GPUs can reach them.
#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "device/vkfd/program_memory.hpp"
#include "device/vkfd/virtual_kfd.hpp"

namespace cortado::device::vkfd {
namespace {

constexpr std::uint64_t kMmioOffset = std::uint64_t{1} << 44;
constexpr double kUsableMemory = 0.75;  // of this computer

std::uint64_t usable_memory() {
  return static_cast<std::uint64_t>(kUsableMemory * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                                    static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace

std::uint64_t VirtualKfd::capacity_left(const Gpu& gpu) const {
  const std::uint64_t host = usable_memory();
  const std::uint64_t here = host > allocated_ ? host - allocated_ : 0;
  return std::min(machine_.memory_bytes.value - std::min(machine_.memory_bytes.value, gpu.allocated), here);
}

int VirtualKfd::answer(kfd::AvailableMemory& request) {
  const std::lock_guard lock(mutex_);
  const Gpu* const gpu = gpu_of_id(request.gpu_id);
  if (gpu == nullptr) return EINVAL;
  request.available = capacity_left(*gpu);
  return 0;
}

int VirtualKfd::answer(kfd::AllocMemory& request) {
  const std::lock_guard lock(mutex_);
  std::uint32_t index = 0;
  Gpu* const gpu = gpu_of_id(request.gpu_id, &index);
  if (gpu == nullptr || request.size == 0 || request.va % kPage != 0) return EINVAL;
  const std::uint64_t size = (request.size + kPage - 1) / kPage * kPage;
  Allocation allocation{index,   {{request.va, request.va + size}, 0}, request.flags, 0,
                        nullptr, std::vector<bool>(gpus_.size())};
  if ((request.flags & kfd::kMemUserptr) != 0) {
    // The program's own memory; the GPU may see it at another address.
    if (request.mmap_offset % kPage != 0) return EINVAL;
    allocation.mapping.to_host = request.mmap_offset - request.va;
  } else if ((request.flags & kfd::kMemDoorbell) != 0) {
    if (size != kfd::kDoorbellPage) return EINVAL;
    allocation.mapping.to_host = reinterpret_cast<std::uintptr_t>(gpu->doorbells) - request.va;
    request.mmap_offset = doorbell_offset(index);
  } else if ((request.flags & (kfd::kMemVram | kfd::kMemGtt | kfd::kMemMmioRemap)) != 0) {
    if (size > capacity_left(*gpu)) {
      options_.log(fmt::format("GPU {}: {} on top of the {} allocated is too much for the machine or this computer",
                               index, format_bytes({size}), format_bytes({allocated_})));
      return ENOMEM;
    }
    const bool registers = (request.flags & kfd::kMemMmioRemap) != 0;
    const DeviceFile& file = registers ? kfd_file_ : gpu->file;
    allocation.file_offset = registers ? kMmioOffset + index * kPage : gpu->file.reserve(size);
    allocation.alias = file.map(allocation.file_offset, size);
    if (allocation.alias == nullptr) return ENOMEM;
    allocation.mapping.to_host = reinterpret_cast<std::uintptr_t>(allocation.alias) - request.va;
    request.mmap_offset = allocation.file_offset;
    allocated_ += size;
    if ((request.flags & kfd::kMemVram) != 0) gpu->allocated += size;
  } else {
    return EINVAL;
  }
  request.handle = std::uint64_t{request.gpu_id} << 32 | next_handle_++;
  allocations_.emplace(request.handle, std::move(allocation));
  return 0;
}

int VirtualKfd::change_mapping(kfd::MapMemory& request, bool mapped) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(request.handle);
  if (found == allocations_.end() || request.done > request.gpus) return EINVAL;
  Allocation& allocation = found->second;
  // Copied at once; a program that names a GPU more than this often is not expected.
  constexpr std::uint32_t kMostNames = 1 << 16;
  if (request.gpus > kMostNames) return ENOMEM;
  std::vector<std::uint32_t> ids(request.gpus);
  if (!copy_in(ids.data(), reinterpret_cast<const void*>(request.gpu_ids), ids.size() * sizeof(ids[0]))) return EFAULT;
  for (std::uint32_t i = request.done; i < request.gpus; ++i) {
    std::uint32_t index = 0;
    Gpu* const gpu = gpu_of_id(ids[i], &index);
    if (gpu == nullptr) return EINVAL;
    if (mapped && !allocation.mapped[index] && !gpu->pages.add(allocation.mapping, allocation.home())) return EINVAL;
    if (!mapped && allocation.mapped[index]) gpu->pages.remove(allocation.mapping.range.begin);
    allocation.mapped[index] = mapped;
    request.done = i + 1;
  }
  if (!mapped) runner_.wait_for_running_steps();
  return 0;
}

void VirtualKfd::remove_everywhere(Allocation& allocation) {
  for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    if (allocation.mapped[gpu]) gpus_[gpu]->pages.remove(allocation.mapping.range.begin);
  }
  runner_.wait_for_running_steps();
}

int VirtualKfd::answer(kfd::FreeMemory& request) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(request.handle);
  if (found == allocations_.end()) return EINVAL;
  Allocation& allocation = found->second;
  remove_everywhere(allocation);
  observer_->memory_gone(allocation.mapping.range);
  if (allocation.alias != nullptr) {
    const std::uint64_t size = allocation.mapping.range.end - allocation.mapping.range.begin;
    ::munmap(allocation.alias, size);
    if ((allocation.flags & kfd::kMemMmioRemap) == 0) gpus_[allocation.gpu]->file.punch(allocation.file_offset, size);
    allocated_ -= size;
    if ((allocation.flags & kfd::kMemVram) != 0) gpus_[allocation.gpu]->allocated -= size;
  }
  allocations_.erase(found);
  return 0;
}

}  // namespace cortado::device::vkfd
