#include "stage_clock.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace cortado::cli {

std::string stage_text(std::string_view stage, std::uint64_t done, std::uint64_t of, std::chrono::seconds elapsed) {
  std::string text(stage);
  if (of > 0) {
    const double fraction = static_cast<double>(std::min(done, of)) / static_cast<double>(of);
    text += fmt::format(": {} %", static_cast<int>(100 * fraction));
  }
  return text + fmt::format(", {} s", elapsed.count());
}

#if CORTADO_HOSTED

StageClock::StageClock(std::string stage, Draw draw, std::chrono::milliseconds quiet)
    : draw_(std::move(draw)), stage_(std::move(stage)), thread_([this, quiet] { run(quiet); }) {}

StageClock::~StageClock() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void StageClock::run(std::chrono::milliseconds quiet) {
  std::unique_lock lock(mutex_);
  for (auto next = start_ + quiet; !stopped_.wait_until(lock, next, [this] { return stop_; });
       next += std::chrono::seconds(1)) {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    draw_(stage_text(stage_, done_.load(std::memory_order_relaxed), of_.load(std::memory_order_relaxed),
                     std::chrono::duration_cast<std::chrono::seconds>(elapsed)));
  }
}

#else

StageClock::StageClock(std::string stage, Draw draw, std::chrono::milliseconds)
    : draw_(std::move(draw)), stage_(std::move(stage)) {}

StageClock::~StageClock() = default;

#endif

void StageClock::enter(std::string stage) {
  const std::lock_guard lock(mutex_);
  stage_ = std::move(stage);
  at(0, 0);
}

void StageClock::at(std::uint64_t done, std::uint64_t of) {
  done_.store(done, std::memory_order_relaxed);
  of_.store(of, std::memory_order_relaxed);
}

}  // namespace cortado::cli
