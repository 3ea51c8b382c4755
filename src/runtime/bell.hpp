// How ranks wait for each other, in memory that may be shared by processes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace cortado::runtime {

/// Who changes what others wait for rings; who waits looks for a while and then sleeps until the next ring. Lives in
/// zeroed memory. While nobody sleeps nobody writes to it, so that it stays in the caches of all.
struct Bell {
  std::atomic<std::uint32_t> sleepers{0};
  std::atomic<std::uint32_t> rings{0};

  /// To be called after the change, which was made with seq_cst.
  void ring();
  /// Sleeps until somebody rings, for at most so long, unless `there()` is true already.
  template <class There>
  void sleep(There&& there, std::chrono::milliseconds longest) {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t seen = rings.load(std::memory_order_seq_cst);
    if (!there()) wait(seen, longest);
    sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

 private:
  void wait(std::uint32_t seen, std::chrono::milliseconds longest);
};

/// How long a rank looks before it sleeps.
class Patience {
 public:
  /// `background`: of a thread beside one that computes, whose core it should not take.
  Patience(bool own_core, bool background) : own_core_(own_core && !background), background_(background) {}
  /// Looks once more; false when it is time to sleep.
  bool look_again();

 private:
  bool own_core_;
  bool background_;
  std::uint32_t looks_ = 0;
  std::chrono::steady_clock::time_point start_{};
};

}  // namespace cortado::runtime
