#include "runtime/bell.hpp"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cortado::runtime {
namespace {

/// After spinning, it yields between polls for a while: on a busy computer, a wake-up takes far longer than the usual
/// 10 us.
constexpr std::chrono::microseconds kLook{1000};
constexpr std::chrono::microseconds kLookInBackground{20};

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void Bell::wake() {
  rings.fetch_add(1, std::memory_order_seq_cst);
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&rings), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Bell::wait(std::uint32_t seen, std::chrono::milliseconds longest) {
  const timespec time{static_cast<std::time_t>(longest.count() / 1000),
                      static_cast<long>(longest.count() % 1000) * 1'000'000};
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&rings), FUTEX_WAIT, seen, &time, nullptr, 0);
}

bool Patience::look_again() {
  ++looks_;
  if (spins_) {
    pause_core();
    if (looks_ % kSpins != 0) return true;
  } else {
    ::sched_yield();
  }
  const auto now = std::chrono::steady_clock::now();
  if (start_ == std::chrono::steady_clock::time_point{}) start_ = now;
  const auto looked = now - start_;
  if (looked >= spin_.now()) spins_ = false;
  return looked < (background_ ? kLookInBackground : kLook);
}

}  // namespace cortado::runtime
