#include "device/kfd/memory.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <limits>
#include <sys/mman.h>

#include <fmt/format.h>

#include "base/check.hpp"

namespace cortado::device {
namespace {

constexpr std::uint64_t kPage = 4096;

/// Uncached means: the GPUs' caches do not keep it, so that all engines and the host see each other's writes. This
/// costs nothing, since engines do not read through those caches and no kernels run here. The host caches it as usual.
/// Public: the host may map it.
constexpr std::uint32_t kAccess =
    kfd::kMemWritable | kfd::kMemExecutable | kfd::kMemCoherent | kfd::kMemUncached | kfd::kMemNoSubstitute;
constexpr std::uint32_t kGpuMemory = kfd::kMemVram | kfd::kMemPublic | kAccess;
constexpr std::uint32_t kHostMemory = kfd::kMemGtt | kAccess;

std::string place_of(std::optional<RankId> home) {
  return home ? fmt::format("GPU {}", home->value) : std::string("the host");
}

}  // namespace

Result<Memory> KfdMemory::allocate(const MemoryRequest& request) {
  const std::uint64_t bytes = request.bytes.value;
  const std::uint64_t alignment = std::max(request.alignment.value, kPage);
  if (bytes == 0) return fail("device.memory", "0 bytes requested");
  if (request.home && request.home->value >= discovery_.gpus.size()) {
    return fail("device.gpus", fmt::format("memory requested on GPU {}, but the node has {} GPUs", request.home->value,
                                           discovery_.gpus.size()));
  }
  if (!std::has_single_bit(alignment)) {
    return fail("device.memory", fmt::format("alignment {} is not a power of two", alignment));
  }
  if (bytes > std::numeric_limits<std::uint64_t>::max() - alignment - kPage) {
    return fail("device.memory", fmt::format("{} bytes requested", bytes));
  }
  CORTADO_ASSIGN_OR_RETURN(const Block block, allocate_block(request.home, bytes, alignment));
  return remember(block, bytes);
}

Result<KfdMemory::Exact> KfdMemory::allocate_exactly(std::uint64_t bytes) {
  CORTADO_CHECK(bytes > 0 && bytes % kPage == 0, "the kernel maps whole pages");
  CORTADO_ASSIGN_OR_RETURN(const Block block, allocate_block(std::nullopt, bytes, kPage));
  return Exact{remember(block, bytes), block.handle};
}

void KfdMemory::release(const Memory& memory) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(memory.data);
  CORTADO_CHECK(found != blocks_.end(), "released memory was allocated by this driver and not released before");
  free_block(found->second);
  blocks_.erase(found);
}

void KfdMemory::release_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [data, block] : blocks_) free_block(block);
  blocks_.clear();
}

Result<KfdMemory::Block> KfdMemory::allocate_block(std::optional<RankId> home, std::uint64_t bytes,
                                                   std::uint64_t alignment) {
  Block block;
  block.bytes = (bytes + kPage - 1) / kPage * kPage;
  block.reserved_bytes = block.bytes + alignment - kPage;
  block.reserved = ::mmap(nullptr, block.reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block.reserved == MAP_FAILED) {
    return fail(system_error("device.memory", fmt::format("addresses for {} bytes", bytes), errno));
  }
  const auto base = reinterpret_cast<std::uintptr_t>(block.reserved);
  block.address = static_cast<std::byte*>(block.reserved) + (alignment - base % alignment) % alignment;
  if (auto filled = fill_block(block, home); !filled) {
    free_block(block);
    return fail(std::move(filled).error());
  }
  return block;
}

Status KfdMemory::fill_block(Block& block, std::optional<RankId> home) {
  // Host memory also belongs to some GPU: its render node is the file to map.
  const std::uint32_t gpu = home.value_or(RankId{0}).value;
  kfd::AllocMemory request;
  request.va = reinterpret_cast<std::uintptr_t>(block.address);
  request.size = block.bytes;
  request.gpu_id = discovery_.gpus[gpu].id;
  request.flags = home ? kGpuMemory : kHostMemory;
  if (const int error = system_.call(files_.kfd, kfd::Call::alloc_memory, request); error != 0) {
    return fail(system_error(
        "device.memory", fmt::format("AMDKFD_IOC_ALLOC_MEMORY_OF_GPU of {} bytes on {}", block.bytes, place_of(home)),
        error,
        home ? "the host must be able to reach all memory of the GPU (large BAR); use less memory"
             : "use less memory"));
  }
  block.handle = request.handle;
  void* const mapped = ::mmap(block.address, block.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                              files_.render[gpu], static_cast<off_t>(request.mmap_offset));
  if (mapped == MAP_FAILED) {
    return fail(system_error(
        "device.memory",
        fmt::format("mmap of {} bytes of {}{}", block.bytes, kfd::kRenderNodes, discovery_.gpus[gpu].render_minor),
        errno));
  }
  return map_to_all_gpus(block);
}

Status KfdMemory::map_to_all_gpus(const Block& block) {
  std::vector<std::uint32_t> ids;
  for (const KfdGpu& gpu : discovery_.gpus) ids.push_back(gpu.id);
  kfd::MapMemory request{block.handle, reinterpret_cast<std::uintptr_t>(ids.data()),
                         static_cast<std::uint32_t>(ids.size()), 0};
  const int error = system_.call(files_.kfd, kfd::Call::map_memory, request);
  if (error == 0) return {};
  return fail(system_error(
      "device.memory",
      fmt::format("AMDKFD_IOC_MAP_MEMORY_TO_GPU of {} bytes: {} of {} GPUs", block.bytes, request.done, ids.size()),
      error, "all GPUs of the node must be able to reach each other's memory"));
}

void KfdMemory::free_block(const Block& block) {
  if (block.handle != 0) {
    std::vector<std::uint32_t> ids;
    for (const KfdGpu& gpu : discovery_.gpus) ids.push_back(gpu.id);
    kfd::MapMemory unmap{block.handle, reinterpret_cast<std::uintptr_t>(ids.data()),
                         static_cast<std::uint32_t>(ids.size()), 0};
    system_.call(files_.kfd, kfd::Call::unmap_memory, unmap);
    kfd::FreeMemory free{block.handle};
    system_.call(files_.kfd, kfd::Call::free_memory, free);
  }
  ::munmap(block.reserved, block.reserved_bytes);
}

Memory KfdMemory::remember(const Block& block, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  blocks_.emplace(block.address, block);
  return {block.address, Bytes{bytes}};
}

}  // namespace cortado::device
