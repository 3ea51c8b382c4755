#include "device/kfd/memory.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include <fmt/format.h>

#include "base/check.hpp"
#include "device/kfd/status.hpp"

namespace cortado::device {
namespace {

constexpr std::uint64_t kPage = 4096;

/// Uncached means: the GPUs' caches do not keep it, so that all engines and the host see each other's writes. Nothing
/// is lost by it, since engines do not read through those caches and no kernels run here. The host's own caching is as
/// usual.
HsaMemFlags memory_flags(bool on_gpu, bool executable) {
  HsaMemFlags flags{};
  flags.ui32.NonPaged = 1;
  flags.ui32.HostAccess = 1;
  flags.ui32.PageSize = HSA_PAGE_SIZE_4KB;
  flags.ui32.Uncached = 1;
  flags.ui32.NoSubstitute = on_gpu ? 1 : 0;
  flags.ui32.NoNUMABind = 1;
  flags.ui32.ExecuteAccess = executable ? 1 : 0;
  return flags;
}

std::string place_of(std::optional<RankId> home) {
  return home ? fmt::format("GPU {}", home->value) : std::string("the host");
}

}  // namespace

Result<Memory> KfdMemory::allocate(const MemoryRequest& request) {
  const std::uint64_t bytes = request.bytes.value;
  const std::uint64_t alignment = std::max(request.alignment.value, kPage);
  if (bytes == 0) return fail("device.memory", "0 bytes asked for");
  if (request.home && request.home->value >= discovery_.gpu_nodes.size()) {
    return fail("device.gpus", fmt::format("memory on GPU {} asked for, the node has {} GPUs", request.home->value,
                                           discovery_.gpu_nodes.size()));
  }
  if (!std::has_single_bit(alignment)) {
    return fail("device.memory", fmt::format("alignment {} is not a power of two", alignment));
  }
  const std::uint64_t slack = alignment - kPage;  // blocks are aligned to a page as they come
  if (bytes > std::numeric_limits<std::uint64_t>::max() - slack - kPage) {
    return fail("device.memory", fmt::format("{} bytes asked for", bytes));
  }
  const std::uint64_t whole = (bytes + slack + kPage - 1) / kPage * kPage;
  CORTADO_ASSIGN_OR_RETURN(const Block block, allocate_block(request.home, whole, false));
  const auto base = reinterpret_cast<std::uintptr_t>(block.base);
  const std::uint64_t offset = (alignment - base % alignment) % alignment;
  return remember(block, static_cast<std::byte*>(block.base) + offset, bytes);
}

Result<Memory> KfdMemory::allocate_ring(std::uint64_t bytes) {
  CORTADO_CHECK(std::has_single_bit(bytes) && bytes >= kPage, "a ring is a power of two of at least a page");
  CORTADO_ASSIGN_OR_RETURN(const Block block, allocate_block(std::nullopt, bytes, true));
  return remember(block, static_cast<std::byte*>(block.base), bytes);
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

Result<KfdMemory::Block> KfdMemory::allocate_block(std::optional<RankId> home, std::uint64_t bytes, bool executable) {
  const HSAuint32 node = home ? discovery_.gpu_nodes[home->value] : discovery_.host_node;
  Block block{nullptr, bytes};
  const Outcome got = call(thunk_.alloc_memory, node, bytes, memory_flags(home.has_value(), executable), &block.base);
  if (!got.ok()) {
    return fail(thunk_error(
        "device.memory", fmt::format("hsaKmtAllocMemory of {} bytes on {} (node {})", bytes, place_of(home), node), got,
        home ? "the host must be able to reach all memory of the GPU (large BAR); ask for less memory"
             : "ask for less memory"));
  }
  if (auto mapped = map_to_all_gpus(block); !mapped) {
    free_block(block);
    mapped.error().message = fmt::format("{}, memory on {}", mapped.error().message, place_of(home));
    return fail(mapped.error());
  }
  return block;
}

Status KfdMemory::map_to_all_gpus(const Block& block) {
  HsaMemMapFlags flags{};
  flags.ui32.HostAccess = 1;
  flags.ui32.PageSize = HSA_PAGE_SIZE_4KB;
  HSAuint64 gpu_address = 0;
  std::vector<HSAuint32> nodes = discovery_.gpu_nodes;
  const Outcome got =
      call(thunk_.map_memory_to_gpu_nodes, block.base, block.bytes, &gpu_address, flags, nodes.size(), nodes.data());
  if (!got.ok()) {
    return fail(thunk_error("device.memory",
                            fmt::format("hsaKmtMapMemoryToGPUNodes of {} bytes to {} GPUs", block.bytes, nodes.size()),
                            got, "all GPUs of the node must be able to reach each other's memory"));
  }
  // Packets carry the host's addresses.
  if (gpu_address != 0 && gpu_address != reinterpret_cast<std::uintptr_t>(block.base)) {
    return fail(Diagnostic{"device.memory",
                           fmt::format("hsaKmtMapMemoryToGPUNodes: the GPUs see {} at {:#x}", block.base, gpu_address),
                           "this needs GPUs that share the host's addresses",
                           {},
                           About::environment});
  }
  return {};
}

void KfdMemory::free_block(const Block& block) {
  thunk_.unmap_memory_to_gpu(block.base);
  thunk_.free_memory(block.base, block.bytes);
}

Memory KfdMemory::remember(const Block& block, std::byte* data, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  blocks_.emplace(data, block);
  return {data, Bytes{bytes}};
}

}  // namespace cortado::device
