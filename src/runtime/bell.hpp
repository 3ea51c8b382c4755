// How ranks wait for each other, in memory that may be shared by processes.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace cortado::runtime {

/// Who changes what others wait for rings; who waits looks for a while and then sleeps until the next ring. Lives in
/// zeroed memory. While nobody sleeps nobody writes to it, so that it stays in the caches of all.
struct Bell {
  std::atomic<std::uint32_t> sleepers{0};
  std::atomic<std::uint32_t> rings{0};

  /// To be called after the change. Either the fence comes before a sleeper counts itself, and it sees the change, or
  /// it is seen here.
  void ring() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_relaxed) != 0) wake();
  }
  /// Sleeps until somebody rings, for at most so long, unless `there()`, which loads with seq_cst, is true already.
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

/// How long a rank looks at a time before it lets others run. Learned: where that has not helped, because those whom it
/// waits for have no core of their own, less and less; where it has, more.
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

/// How long a rank looks before it sleeps.
class Patience {
 public:
  /// `background`: of a thread beside one that computes, whose core it should not take.
  Patience(Spin& spin, bool background)
      : spin_(spin), spins_(!background && spin.now().count() > 0), background_(background) {}
  /// Looks once more; false when it is time to sleep.
  bool look_again();
  /// It has come.
  void finish() {
    if (looks_ > kSpins && !background_) spin_.learn(spins_);
  }

 private:
  static constexpr std::uint32_t kSpins = 32;  // looks between two looks at the clock
  Spin& spin_;
  bool spins_;
  bool background_;
  std::uint32_t looks_ = 0;
  std::chrono::steady_clock::time_point start_{};
};

}  // namespace cortado::runtime
