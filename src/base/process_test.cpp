#include "base/process.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>

namespace cortado {
namespace process_test {

class Process : public testing::Test {
 protected:
  Process() : path_(testing::TempDir() + "/cortado_process_test_" + std::to_string(::getpid())) {}
  ~Process() override { std::filesystem::remove(path_); }

  Result<std::string> run(const std::string& script, std::string_view input = {}, const ProcessLimits& limits = {}) {
    std::ofstream(path_) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    return run_process(path_, input, limits);
  }
  std::string code(const std::string& script, const ProcessLimits& limits = {}) {
    const auto result = run(script, {}, limits);
    return result ? "" : result.error().code;
  }

  std::string path_;
};

TEST_F(Process, ReadsItsInputAndPrints) {
  const std::string large(1 << 20, 'x');  // more than a pipe holds, in both directions
  EXPECT_EQ(run("cat", large).value(), large);
  EXPECT_EQ(run("echo done", large).value(), "done\n") << "it need not read";
}

TEST_F(Process, FailuresSayWhatItSaid) {
  const auto failed = run("echo first >&2; echo no such collective >&2; exit 3");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, "process.exit");
  EXPECT_THAT(failed.error().message, testing::HasSubstr("exited with code 3: no such collective"));
  EXPECT_EQ(code("kill -9 $$"), "process.exit");
  EXPECT_EQ(run_process("/nowhere/planner", {}).error().code, "process.start");
}

TEST_F(Process, IsEndedBeyondItsLimits) {
  EXPECT_EQ(code("sleep 60", {.time = std::chrono::milliseconds(50)}), "process.time");
  EXPECT_EQ(code("yes", {.output = Bytes{1000}}), "process.output");
}

TEST_F(Process, IsEndedWithWhatItStarted) {
  // The child is a process of its own; it holds a lock as long as it lives.
  const std::string lock = path_ + ".lock";
  EXPECT_EQ(code("flock " + lock + " sleep 60 & wait", {.time = std::chrono::milliseconds(500)}), "process.time");
  EXPECT_EQ(run("flock -w 20 " + lock + " echo free").value(), "free\n");
  std::filesystem::remove(lock);
}

TEST_F(Process, ThatLeavesAnotherBehindIsNotWaitedFor) {
  const ProcessLimits limits{.time = std::chrono::seconds(10)};  // the one left behind keeps both outputs open longer
  const auto result = run("sleep 20 & head -c 50000 /dev/zero; echo warning >&2", {}, limits);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->size(), 50'000U);
  EXPECT_EQ(code("sleep 20 & echo broken >&2; exit 1", limits), "process.exit");
}

}  // namespace process_test
}  // namespace cortado
