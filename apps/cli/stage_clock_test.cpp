#include "stage_clock.hpp"

#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace cortado::cli {
namespace stage_clock_test {

using namespace std::chrono_literals;

TEST(StageClock, TheLineTellsStageFractionAndSeconds) {
  EXPECT_EQ(stage_text("proving", 0, 0, 3s), "proving, 3 s");
  EXPECT_EQ(stage_text("simulating", 426, 1000, 12s), "simulating: 42 %, 12 s");
  EXPECT_EQ(stage_text("running", 11, 10, 100s), "running: 100 %, 100 s");
}

TEST(StageClock, DrawsByItselfAfterTheQuietTime) {
  std::promise<std::string> drawn;
  bool first = true;
  StageClock clock(
      "proving",
      [&](const std::string& line) {
        if (std::exchange(first, false)) drawn.set_value(line);
      },
      0ms);
  EXPECT_TRUE(drawn.get_future().get().starts_with("proving, "));
}

TEST(StageClock, TheNextStageHasAFractionOfItsOwn) {
  std::mutex mutex;
  std::condition_variable changed;
  std::string last;
  StageClock clock(
      "running",
      [&](const std::string& line) {
        const std::lock_guard lock(mutex);
        last = line;
        changed.notify_one();
      },
      0ms);
  clock.at(1, 2);
  clock.enter("writing");
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return last.starts_with("writing"); });
  EXPECT_TRUE(last.starts_with("writing, ")) << last;
}

TEST(StageClock, ShortWorkIsSilent) {
  bool drawn = false;
  {
    const StageClock clock(
        "planning", [&](const std::string&) { drawn = true; }, 24h);
  }
  EXPECT_FALSE(drawn);
}

}  // namespace stage_clock_test
}  // namespace cortado::cli
