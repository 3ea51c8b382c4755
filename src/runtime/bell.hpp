// How ranks wait for each other, in memory that may be shared by processes.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace cortado::runtime {

/// A rank that changes something others wait for rings the bell; a waiting rank polls for a while and then sleeps until
/// the next ring. Must be in zeroed memory. While nobody sleeps, nobody writes to it, so it stays in everybody's cache.
struct Bell {
  std::atomic<std::uint32_t> sleepers{0};
  std::atomic<std::uint32_t> rings{0};

  /// To be called after the change. Either the fence comes before a sleeper counts itself, and the sleeper sees the
  /// change, or the sleeper is seen here.
  void ring() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_relaxed) != 0) wake();
  }
  /// Sleeps until somebody rings, at most this long, unless `there()`, which must load with seq_cst, is already true.
  template <class There>
  void sleep(There&& there, std::chrono::milliseconds longest) {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t seen = rings.load(std::memory_order_seq_cst);
    if (!there()) wait(seen, longest);
    sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

 private:
  void wake();
  void wait(std::uint32_t seen, std::chrono::milliseconds longest);
};

/// How long a rank polls before it yields to others. Adaptive: if polling has not helped, because the ranks it waits
/// for have no core of their own, less and less; if it has, more.
class Spin {
 public:
  explicit Spin(bool own_core) : longest_(own_core ? kLongest : std::chrono::nanoseconds(0)), now_(longest_) {}
  std::chrono::nanoseconds now() const { return now_; }
  void learn(bool helped) {
    now_ = helped ? std::min(now_ * 2, longest_) : std::min(std::max(now_ / 2, kLeast), longest_);
  }

 private:
  static constexpr std::chrono::nanoseconds kLongest{20'000};
  static constexpr std::chrono::nanoseconds kLeast{500};
  std::chrono::nanoseconds longest_;
  std::chrono::nanoseconds now_;
};

/// How long a rank polls before it sleeps.
class Patience {
 public:
  /// `background`: for a thread next to one that computes, whose core it should not take.
  Patience(Spin& spin, bool background)
      : spin_(spin), spins_(!background && spin.now().count() > 0), background_(background) {}
  /// Polls once more; false when it is time to sleep.
  bool look_again();
  /// The awaited change has come.
  void finish() {
    if (looks_ > kSpins && !background_) spin_.learn(spins_);
  }

 private:
  static constexpr std::uint32_t kSpins = 32;  // polls between two readings of the clock
  Spin& spin_;
  bool spins_;
  bool background_;
  std::uint32_t looks_ = 0;
  std::chrono::steady_clock::time_point start_{};
};

}  // namespace cortado::runtime
