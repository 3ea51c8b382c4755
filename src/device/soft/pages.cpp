#include "device/soft/pages.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <sys/mman.h>

#include <fmt/format.h>

namespace cortado::device::soft {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Result<Pages> map_pages(std::size_t bytes, std::size_t alignment) {
  // Big buffers get huge pages: one TLB entry for 2 MiB keeps large copies at memory speed. Rings, of which there are
  // thousands and which are hardly touched, are smaller and get none.
  const bool huge = bytes >= 2 * kHugePage;
  alignment = std::max(alignment, huge ? kHugePage : kPage);
  const std::size_t mapped = round_up(bytes, kPage) + (alignment > kPage ? alignment : 0);
  void* mapping = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    return fail(system_error("device.memory", fmt::format("mmap of {} bytes", mapped), errno,
                             "use smaller buffers or fewer ranks"));
  }
  if (huge) ::madvise(mapping, mapped, MADV_HUGEPAGE);  // failure only costs speed
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  return Pages{mapping, mapped, reinterpret_cast<std::byte*>(round_up(address, alignment))};
}

void unmap_pages(void* mapping, std::size_t mapped_bytes) {
  ::munmap(mapping, mapped_bytes);
}

}  // namespace cortado::device::soft
