// Anonymous pages from the kernel, aligned, zeroed, committed when first touched.
#pragma once

#include <cstddef>

#include "cortado/result.hpp"

namespace cortado::device::soft {

struct Pages {
  void* mapping = nullptr;  ///< the argument of unmap_pages
  std::size_t mapped_bytes = 0;
  std::byte* data = nullptr;  ///< first aligned byte
};

/// `alignment` is a power of two. Environment error (device.memory) with the errno if the kernel refuses.
Result<Pages> map_pages(std::size_t bytes, std::size_t alignment);
void unmap_pages(void* mapping, std::size_t mapped_bytes);

}  // namespace cortado::device::soft
