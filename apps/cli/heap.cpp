#include "heap.hpp"

#include <cstdint>
#include <cstdlib>

#ifdef __GLIBC__  // the headers above define it
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace cortado::cli {

#ifdef __GLIBC__

void prepare_heap() {
  constexpr int kStep = 128 << 20;       // address space; memory is taken when it is touched
  constexpr int kMostOfHeap = 32 << 20;  // the most that mallopt accepts: larger blocks are mapped one by one
  constexpr std::uintptr_t kHuge = 2 << 20;
  constexpr std::uintptr_t kSmall = 1 << 20;  // a command that needs no more would wait longer for a huge page
  mallopt(M_MMAP_THRESHOLD, kMostOfHeap);
  mallopt(M_TRIM_THRESHOLD, 2 * kStep);
  mallopt(M_TOP_PAD, kStep);
  const auto end_of_heap = [] { return reinterpret_cast<std::uintptr_t>(sbrk(0)); };
  const std::uintptr_t before = end_of_heap();
  void* volatile grows = std::malloc(kHuge);  // volatile: or the compiler would leave out both
  std::free(grows);
  const std::uintptr_t begin = (before + kSmall + kHuge - 1) / kHuge * kHuge;
  const std::uintptr_t end = end_of_heap();
  if (begin < end)
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // NOLINT(performance-no-int-to-ptr)
}

#else

void prepare_heap() {}

#endif

}  // namespace cortado::cli
