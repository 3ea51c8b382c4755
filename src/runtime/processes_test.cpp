// Ranks that are processes: all operations, deaths, and nothing that is left behind.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cortado/communicator.hpp"

#include "runtime/testing.hpp"

namespace cortado::runtime {
namespace processes_test {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of these tests
using namespace std::chrono_literals;

std::vector<std::string> left_in_shared_memory() {
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    if (name.find(fmt::format("test_{}", ::getpid())) != std::string::npos) left.push_back(name);
  }
  return left;
}

/// Forks a process for each rank; exit codes by rank, -signal for those that were killed. The function returns what is
/// wrong.
std::vector<int> on_processes(std::uint32_t ranks, CommunicatorOptions options,
                              const std::function<std::string(Communicator&)>& function) {
  static int run = 0;
  options.name = fmt::format("test {} {}", ::getpid(), run++);
  options.ranks = ranks;
  options.window = 16_MiB;
  std::vector<pid_t> children;
  for (options.rank = 0; options.rank < ranks; ++options.rank) {
    const pid_t child = ::fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    std::string wrong;
    {
      auto joined = Communicator::join(options);
      wrong = joined ? function(*joined) : to_string(joined.error());
    }
    if (!wrong.empty()) fmt::print(stderr, "rank {}: {}\n", options.rank, wrong);
    std::_Exit(wrong.empty() ? 0 : 1);
  }
  std::vector<int> codes;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
  EXPECT_TRUE(left_in_shared_memory().empty());
  return codes;
}

std::vector<int> all_well(std::uint32_t ranks) {
  return std::vector<int>(ranks, 0);
}

TEST(Processes, EveryOperationTypeAndSize) {
  for (const std::uint32_t ranks : {2U, 5U}) {
    EXPECT_EQ(on_processes(ranks, {}, [](Communicator& comm) { return conformance(comm); }), all_well(ranks));
  }
}

TEST(Processes, WithoutLeaveToReadEachOthersMemory) {
  EXPECT_EQ(on_processes(3, {.variant = "staged"}, [](Communicator& comm) { return conformance(comm); }), all_well(3));
}

TEST(Processes, WindowsAreReachedByAll) {
  EXPECT_EQ(on_processes(3, {},
                         [](Communicator& comm) -> std::string {
                           const std::uint64_t n = 300'000;
                           auto own = comm.allocate({n});
                           auto all = comm.allocate({3 * n});
                           if (!own || !all) return "no memory";
                           std::fill(own->begin(), own->end(), static_cast<std::byte>(comm.rank()));
                           if (const Status status = comm.run(all_gather(*own, *all)); !status)
                             return to_string(status.error());
                           for (std::uint64_t i = 0; i < 3 * n; ++i) {
                             if ((*all)[i] != static_cast<std::byte>(i / n)) return "a wrong byte";
                           }
                           return comm.explain().find("all reach each other's memory") != std::string::npos
                                      ? ""
                                      : comm.explain();
                         }),
            all_well(3));
}

TEST(Processes, AKilledRankIsNoticedByAllWithinASecond) {
  const std::vector<int> codes = on_processes(4, {.timeout = 20s}, [](Communicator& comm) -> std::string {
    std::uint64_t sum = comm.rank();
    for (int i = 0; i < 100; ++i) {
      if (const Status status = comm.run(all_reduce(Element::i64, bytes_of(sum), bytes_of(sum))); !status) {
        return to_string(status.error());
      }
    }
    if (comm.rank() == 2) ::kill(::getpid(), SIGKILL);
    const auto start = std::chrono::steady_clock::now();
    Status status;
    while (status) status = comm.run(all_reduce(Element::i64, bytes_of(sum), bytes_of(sum)));
    // Time decides only that it was no time-out.
    if (std::chrono::steady_clock::now() - start > 10s) return "that took long";
    const bool named = status.error().code == "runtime.peer" && status.error().message.starts_with("rank 2 (process ");
    return named ? "" : to_string(status.error());
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0, -SIGKILL, 0}));
}

// Wherever a rank is when it dies: in a barrier, a copy, between two operations, with work in flight.
TEST(Processes, AKillAtAnyPointEndsAllOthers) {
  for (std::uint32_t victim = 0; victim < 6; ++victim) {
    const auto delay = std::chrono::microseconds(victim * 700);
    const std::vector<int> codes = on_processes(3, {.timeout = 20s}, [&](Communicator& comm) -> std::string {
      std::vector<float> small(10);
      std::vector<float> large(100'000);
      const pid_t self = ::getpid();
      if (comm.rank() == victim % 3 && ::fork() == 0) {  // somebody else pulls the trigger
        ::usleep(static_cast<useconds_t>(delay.count()));
        ::kill(self, SIGKILL);
        std::_Exit(0);
      }
      for (;;) {
        const Work work = comm.start(all_reduce(Element::f32, bytes_of(small), bytes_of(small)));
        Status status = comm.run(all_reduce(Element::f32, bytes_of(large), bytes_of(large)));
        if (status) status = work.wait();
        if (status) continue;
        return status.error().code == "runtime.peer" ? "" : to_string(status.error());
      }
    });
    std::vector<int> expected(3, 0);
    expected[victim % 3] = -SIGKILL;
    EXPECT_EQ(codes, expected) << "victim " << victim;
  }
}

TEST(Processes, ARankThatNeverComesEndsTheWaitForIt) {
  CommunicatorOptions options{.name = fmt::format("test {} alone", ::getpid()), .rank = 0, .ranks = 2};
  options.timeout = 100ms;
  const auto joined = Communicator::join(options);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, "runtime.join");
  EXPECT_EQ(joined.error().message, "1 of 2 ranks came within the time-out");
  EXPECT_TRUE(left_in_shared_memory().empty());
}

TEST(Processes, WhatACrashLeavesIsRemovedByTheNextStart) {
  const CommunicatorOptions options{.name = fmt::format("test {} crash", ::getpid()), .rank = 0, .ranks = 2};
  const pid_t child = ::fork();
  if (child == 0) {
    (void)Communicator::join(options);  // waits for rank 1
    std::_Exit(0);
  }
  while (left_in_shared_memory().empty()) ::usleep(1000);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(left_in_shared_memory().empty());
  EXPECT_EQ(on_processes(2, {}, [](Communicator& comm) { return comm.run(barrier()) ? "" : "no barrier"; }),
            all_well(2));
  EXPECT_TRUE(left_in_shared_memory().empty());
}

TEST(Processes, ManyOperationsTakeNoMoreMemoryOrFiles) {
  EXPECT_EQ(on_processes(2, {},
                         [](Communicator& comm) -> std::string {
                           const auto files = [] {
                             const std::filesystem::directory_iterator all("/proc/self/fd");
                             return std::distance(begin(all), end(all));
                           };
                           std::vector<float> data(100, 1);
                           std::vector<float> large(50'000, 1);
                           const auto before = files();
                           for (int i = 0; i < 3000; ++i) {
                             if (!comm.run(all_reduce(Element::f32, bytes_of(data), bytes_of(data))))
                               return "all-reduce";
                             if (i % 100 == 0 && !comm.run(all_reduce(Element::f32, bytes_of(large), bytes_of(large))))
                               return "large";
                             if (i % 10 == 0 && !comm.start(barrier()).wait()) return "barrier";
                             data.assign(100, 1);
                           }
                           return files() == before ? "" : "more open files";
                         }),
            all_well(2));
}

}  // namespace processes_test
}  // namespace cortado::runtime
