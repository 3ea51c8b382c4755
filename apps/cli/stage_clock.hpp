// Shows the current step of a long command and the elapsed time. It has its own thread, so the work need not report.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/platform.hpp"

namespace cortado::cli {

/// "simulating: 42 %, 12 s"; without a fraction "simulating, 12 s". 0 of 0 is no fraction.
std::string stage_text(std::string_view stage, std::uint64_t done, std::uint64_t of, std::chrono::seconds elapsed);

class StageClock {
 public:
  using Draw = std::function<void(const std::string& line)>;

  /// Draws a line after the `quiet` time and then every second. Draw is called by another thread; without
  /// threads nothing is drawn.
  StageClock(std::string stage, Draw draw, std::chrono::milliseconds quiet);
  ~StageClock();
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;

  /// Starts the next stage. The elapsed time keeps counting from the first.
  void enter(std::string stage);

  /// Progress within the stage. Cheap enough for inner loops.
  void at(std::uint64_t done, std::uint64_t of);

 private:
#if CORTADO_HOSTED
  void run(std::chrono::milliseconds quiet);
#endif

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const Draw draw_;
  std::mutex mutex_;
  std::string stage_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> of_{0};
#if CORTADO_HOSTED
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
#endif
};

}  // namespace cortado::cli
