#include "device/soft/memory_map.hpp"

#include <bit>
#include <iterator>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "device/soft/pages.hpp"

namespace cortado::device::soft {
namespace {

constexpr std::uint64_t kLargestAlignment = 1ULL << 30;

/// The rest is for everything else on this computer.
constexpr double kUsable = 0.75;

std::uint64_t usable_host_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return UINT64_MAX;
  return static_cast<std::uint64_t>(kUsable * static_cast<double>(pages) * static_cast<double>(page));
}

/// Whether there is a page at the address.
bool is_mapped(std::uint64_t address) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return ::mincore(reinterpret_cast<void*>(address / page * page), 1, &resident) == 0;
}

Unexpected<Diagnostic> no_memory(std::string message) {
  return fail(Diagnostic{"device.memory",
                         std::move(message),
                         "use smaller buffers or fewer ranks, or predict it with cortado run --on sim",
                         {},
                         About::environment});
}

}  // namespace

MemoryMap::MemoryMap(Bytes gpu_bytes) : gpu_bytes_(gpu_bytes.value), host_bytes_(usable_host_bytes()) {}

MemoryMap::~MemoryMap() {
  for (const auto& [begin, allocation] : live_) unmap_pages(allocation.mapping, allocation.mapped_bytes);
  for (const auto& [begin, allocation] : retired_) unmap_pages(allocation.mapping, allocation.mapped_bytes);
}

Status MemoryMap::check_capacity(const MemoryRequest& request) const {
  std::uint64_t all = 0;
  std::uint64_t same_home = 0;
  for (const auto& [home, bytes] : live_bytes_) {
    all += bytes;
    if (home == request.home) same_home += bytes;
  }
  // Pages are committed when touched, so the kernel would not reject more than it has: it would end the process later.
  if (request.bytes.value > host_bytes_ || all > host_bytes_ - request.bytes.value) {
    return no_memory(fmt::format("{} on top of the {} already allocated exceed the {} that this computer can spare",
                                 format_bytes(request.bytes), format_bytes({all}), format_bytes({host_bytes_})));
  }
  if (request.home && gpu_bytes_ != 0 &&
      (request.bytes.value > gpu_bytes_ || same_home > gpu_bytes_ - request.bytes.value)) {
    return no_memory(fmt::format("{} on top of the {} already allocated exceed the {} of GPU {}",
                                 format_bytes(request.bytes), format_bytes({same_home}), format_bytes({gpu_bytes_}),
                                 request.home->value));
  }
  return {};
}

Result<Memory> MemoryMap::allocate(const MemoryRequest& request) {
  if (request.bytes.value == 0) return fail("device.memory", "0 bytes requested", "use at least one byte");
  if (!std::has_single_bit(request.alignment.value) || request.alignment.value > kLargestAlignment) {
    return fail("device.memory", fmt::format("alignment {} is not a power of two up to 1GiB", request.alignment.value));
  }
  const std::unique_lock lock(mutex_);
  CORTADO_RETURN_IF_ERROR(check_capacity(request));
  CORTADO_ASSIGN_OR_RETURN(const Pages pages, map_pages(request.bytes.value, request.alignment.value));
  const auto begin = reinterpret_cast<std::uint64_t>(pages.data);
  live_.emplace(begin,
                Allocation{{begin, begin + request.bytes.value}, pages.mapping, pages.mapped_bytes, request.home});
  live_bytes_[request.home] += request.bytes.value;
  return Memory{pages.data, request.bytes};
}

bool MemoryMap::retire(const std::byte* data) {
  const std::unique_lock lock(mutex_);
  const auto begin = reinterpret_cast<std::uint64_t>(data);
  auto allocation = live_.extract(begin);
  if (!allocation) return false;
  const Range& range = allocation.mapped().range;
  live_bytes_[allocation.mapped().home] -= range.end - range.begin;
  retired_.insert(std::move(allocation));
  start_generation();
  return true;
}

void MemoryMap::unmap(const std::byte* data) {
  const std::unique_lock lock(mutex_);
  const auto begin = reinterpret_cast<std::uint64_t>(data);
  const auto place = retired_.find(begin);
  CORTADO_CHECK(place != retired_.end(), "only retired memory is unmapped");
  unmap_pages(place->second.mapping, place->second.mapped_bytes);
  retired_.erase(place);
}

Status MemoryMap::map_host(const Memory& memory) {
  const std::uint64_t begin = memory.address();
  const std::uint64_t end = begin + memory.bytes.value;
  const std::unique_lock lock(mutex_);
  std::uint32_t& times = callers_[{begin, end}];
  if (times == 0 && (!is_mapped(begin) || !is_mapped(end - 1))) {
    callers_.erase({begin, end});
    return fail("device.host_memory", fmt::format("no memory is mapped at {:#x} .. +{}", begin, memory.bytes.value),
                "bind memory that stays allocated while the program runs");
  }
  ++times;
  return {};
}

void MemoryMap::unmap_host(const Memory& memory) {
  const std::unique_lock lock(mutex_);
  const auto place = callers_.find({memory.address(), memory.address() + memory.bytes.value});
  if (place == callers_.end() || --place->second > 0) return;
  callers_.erase(place);
  start_generation();
}

std::optional<Range> MemoryMap::find(std::uint64_t address, std::uint64_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto after = live_.upper_bound(address);
  if (after != live_.begin() && std::prev(after)->second.range.holds(address, bytes)) {
    return std::prev(after)->second.range;
  }
  for (const auto& [ends, times] : callers_) {
    const Range range{ends.first, ends.second};
    if (range.holds(address, bytes)) return range;
  }
  return std::nullopt;
}

std::optional<Mapping> MemoryMap::mapping(std::uint64_t address, std::uint64_t bytes) const {
  const std::optional<Range> range = find(address, bytes);
  if (!range) return std::nullopt;
  return Mapping{*range, 0};
}

const Mapping* RangeCache::look_up(const AddressSpace& space, std::uint64_t address, std::uint64_t bytes) {
  // The generation is read before the lookup: a range retired in between is forgotten at the next lookup.
  const std::uint64_t generation = space.generation();
  if (generation_ != generation) {
    mappings_.fill({});
    generation_ = generation;
  }
  const std::optional<Mapping> found = space.mapping(address, bytes);
  if (!found) return nullptr;
  Mapping& place = mappings_[next_];
  place = *found;
  next_ = (next_ + 1) % static_cast<std::uint32_t>(mappings_.size());
  return &place;
}

}  // namespace cortado::device::soft
