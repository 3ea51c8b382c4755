#include "device/soft/bulk_copy.hpp"

#include <cstring>

// ThreadSanitizer does not see streaming stores, so that build copies in the plain way.
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#define CORTADO_STREAMING_STORES 1
#include <emmintrin.h>
#endif

namespace cortado::device::soft {

#ifdef CORTADO_STREAMING_STORES

namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kGroup = 4 * kPage;

/// `dst` is 16-byte aligned.
void stream_line(std::byte* dst, const std::byte* src) {
  const auto* from = reinterpret_cast<const __m128i*>(src);
  auto* to = reinterpret_cast<__m128i*>(dst);
  const __m128i a = _mm_loadu_si128(from);
  const __m128i b = _mm_loadu_si128(from + 1);
  const __m128i c = _mm_loadu_si128(from + 2);
  const __m128i d = _mm_loadu_si128(from + 3);
  _mm_stream_si128(to, a);
  _mm_stream_si128(to + 1, b);
  _mm_stream_si128(to + 2, c);
  _mm_stream_si128(to + 3, d);
}

/// Four pages side by side keep four streams of the memory busy.
void stream_group(std::byte* dst, const std::byte* src) {
  for (std::uint64_t offset = 0; offset < kPage; offset += 2 * kLine) {
    for (std::uint64_t place = offset; place < kGroup; place += kPage) {
      stream_line(dst + place, src + place);
      stream_line(dst + place + kLine, src + place + kLine);
    }
  }
}

}  // namespace

void bulk_copy(std::byte* dst, const std::byte* src, std::uint64_t bytes) {
  if (bytes < kStreamingBytes) {
    std::memcpy(dst, src, bytes);
    return;
  }
  const std::uint64_t head = (kLine - reinterpret_cast<std::uintptr_t>(dst) % kLine) % kLine;
  std::memcpy(dst, src, head);
  std::uint64_t done = head;
  for (; bytes - done >= kGroup; done += kGroup) stream_group(dst + done, src + done);
  for (; bytes - done >= kLine; done += kLine) stream_line(dst + done, src + done);
  std::memcpy(dst + done, src + done, bytes - done);
  _mm_sfence();  // streaming stores become visible before the signal that follows
}

#else

void bulk_copy(std::byte* dst, const std::byte* src, std::uint64_t bytes) {
  std::memcpy(dst, src, bytes);
}

#endif

void bulk_move(std::byte* dst, const std::byte* src, std::uint64_t bytes) {
  const auto to = reinterpret_cast<std::uintptr_t>(dst);
  const auto from = reinterpret_cast<std::uintptr_t>(src);
  const bool apart = to + bytes <= from || from + bytes <= to;
  if (apart) [[likely]] {
    bulk_copy(dst, src, bytes);
  } else {
    std::memmove(dst, src, bytes);
  }
}

}  // namespace cortado::device::soft
