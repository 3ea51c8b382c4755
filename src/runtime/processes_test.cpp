// Ranks that are processes: all operations, deaths, and nothing left behind.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cortado/communicator.hpp"

#include "runtime/testing.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CORTADO_SANITIZED_HEAP
#include <sanitizer/allocator_interface.h>
#endif
#endif

namespace cortado::runtime {
namespace processes_test {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of these tests
using namespace std::chrono_literals;

std::vector<std::string> left_in_shared_memory() {
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    if (name.find(fmt::format("test_{}_", ::getpid())) != std::string::npos) left.push_back(name);
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
  for (std::uint32_t ranks = 2; ranks <= 8; ++ranks) {
    EXPECT_EQ(on_processes(ranks, {}, [](Communicator& comm) { return conformance(comm); }), all_well(ranks));
  }
}

TEST(Processes, EveryOperationByProvedPrograms) {
  for (const std::uint32_t ranks : {2U, 5U, 8U}) {
    EXPECT_EQ(on_processes(ranks, {.variant = "direct"}, [](Communicator& comm) { return conformance(comm); }),
              all_well(ranks));
  }
}

TEST(Processes, EveryOperationPieceByPiece) {
  EXPECT_EQ(on_processes(3, {.variant = "staged"}, [](Communicator& comm) { return conformance(comm); }), all_well(3));
}

// A cache of almost nothing, so that everything exceeds it.
TEST(Processes, EveryOperationPastTheCaches) {
  for (const char* variant : {"", "staged", "direct"}) {
    EXPECT_EQ(on_processes(2, {.variant = variant, .cache = {.value = 2}},
                           [](Communicator& comm) { return conformance(comm); }),
              all_well(2));
  }
}

/// An all-gather that does not fit in a slot; returns what explain() says about it.
std::string explained_gather(Communicator& comm) {
  std::vector<float> own(100'000, static_cast<float>(comm.rank()));
  std::vector<float> all(own.size() * comm.ranks());
  if (const Status status = comm.run(all_gather(bytes_of(own), bytes_of(all))); !status) {
    return to_string(status.error());
  }
  return comm.explain();
}

/// From now on the system does not allow reading memory of other processes, as in containers with such a filter.
bool forbid_reading_others() {
  const auto offset = static_cast<std::uint32_t>(offsetof(struct seccomp_data, nr));
  std::array<sock_filter, 4> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Processes, WithoutLeaveToReadEachOthersMemory) {
  const pid_t child = ::fork();  // what is forbidden stays forbidden
  if (child == 0) {
    if (!forbid_reading_others()) std::_Exit(77);
    const std::vector<int> codes = on_processes(2, {}, [](Communicator& comm) -> std::string {
      const std::string explained = explained_gather(comm);
      if (explained.find("the system does not let ranks read each other's memory") == std::string::npos) {
        return explained;
      }
      return conformance(comm);
    });
    std::_Exit(codes == all_well(2) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "the system has no seccomp filters";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Rank 0's cache size is used by all, so that all make the same decision.
TEST(Processes, MoreThanTheCachesHoldGoesPastThem) {
  EXPECT_EQ(on_processes(2, {.cache = 1_MiB},
                         [](Communicator& comm) -> std::string {
                           const std::string explained = explained_gather(comm);  // 3 x 800 kB are touched
                           return explained.find("two copies past the caches") != std::string::npos ? "" : explained;
                         }),
            all_well(2));
  EXPECT_EQ(on_processes(2, {.cache = 1_GiB},
                         [](Communicator& comm) -> std::string {
                           const std::string explained = explained_gather(comm);
                           const bool read = explained.find("is read by the system") != std::string::npos;
                           const bool shared = std::thread::hardware_concurrency() < 2;  // ranks share a core
                           return read != shared ? "" : explained;
                         }),
            all_well(2));
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
    // The time only shows that it was not a timeout.
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
      if (comm.rank() == victim % 3 && ::fork() == 0) {  // another process sends the signal
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
  EXPECT_EQ(joined.error().message, "only 1 of 2 ranks joined within the time-out");
  EXPECT_TRUE(left_in_shared_memory().empty());
}

TEST(Processes, WhatACrashLeavesIsRemovedByTheNextStart) {
  const CommunicatorOptions options{.name = fmt::format("test {} crash", ::getpid()), .rank = 0, .ranks = 2};
  const pid_t child = ::fork();
  if (child == 0) {
    (void)Communicator::join(options);  // waits for rank 1
    std::_Exit(0);
  }
  const auto has_its_name = [](const std::string& file) { return file.find('.') == std::string::npos; };
  while (std::ranges::none_of(left_in_shared_memory(), has_its_name)) ::usleep(1000);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  // From now on a start of any other process removes the file, too: that it still exists cannot be checked here.
  EXPECT_EQ(on_processes(2, {}, [](Communicator& comm) { return comm.run(barrier()) ? "" : "no barrier"; }),
            all_well(2));
  EXPECT_TRUE(left_in_shared_memory().empty());
}

// Some use memory of the window and some their own, so that their bytes are in slots and elsewhere at the same time.
TEST(Processes, RanksWithDifferentMemoryWorkTogether) {
  EXPECT_EQ(on_processes(3, {},
                         [](Communicator& comm) -> std::string {
                           for (const std::uint64_t n : {10'000U, 30'000U, 300'000U}) {
                             std::vector<std::int32_t> own(n / 4);
                             std::span<std::byte> data = bytes_of(own);
                             if (comm.rank() != 1) {
                               auto shared = comm.allocate({n});
                               if (!shared) return "no memory";
                               data = *shared;
                             }
                             for (const std::uint32_t round : {1U, 2U}) {
                               std::fill(data.begin(), data.end(), static_cast<std::byte>(comm.rank() + round));
                               std::vector<std::byte> all(3 * n);
                               if (!comm.run(all_gather(data, all))) return "all-gather";
                               for (std::uint64_t i = 0; i < 3 * n; ++i) {
                                 if (all[i] != static_cast<std::byte>(i / n + round)) return "a wrong byte";
                               }
                               if (!comm.run(all_reduce(Element::u8, data, data))) return "all-reduce";
                               for (const std::byte byte : data) {
                                 if (byte != static_cast<std::byte>(3 + 3 * round)) return "a wrong sum";
                               }
                             }
                           }
                           return "";
                         }),
            all_well(3));
}

TEST(Processes, SlowRanksAreWaitedFor) {
  EXPECT_EQ(on_processes(4, {},
                         [](Communicator& comm) -> std::string {
                           for (std::uint32_t i = 0; i < 24; ++i) {
                             if (i % comm.ranks() == comm.rank()) ::usleep(3000);  // longer than others look
                             std::vector<std::int32_t> data(i % 3 == 0 ? 50'000 : 5, 1);
                             const Work work = comm.start(all_reduce(Element::i32, bytes_of(data), bytes_of(data)));
                             if (i % 2 == comm.rank() % 2) ::usleep(500);
                             if (const Status status = work.wait(); !status) return to_string(status.error());
                             if (data.back() != 4) return "a wrong sum";
                           }
                           return "";
                         }),
            all_well(4));
}

// A stopped process is alive: only the timeout detects it.
TEST(Processes, ARankThatStopsIsNamedByTheTimeOut) {
  EXPECT_EQ(on_processes(3, {.timeout = 300ms},
                         [](Communicator& comm) -> std::string {
                           if (!comm.run(barrier())) return "no barrier";
                           if (comm.rank() == 1) {
                             const pid_t self = ::getpid();
                             if (::fork() == 0) {
                               ::usleep(800'000);
                               ::kill(self, SIGCONT);
                               std::_Exit(0);
                             }
                             ::kill(self, SIGSTOP);
                           }
                           const Status status = comm.run(barrier());
                           if (status) return "it waited longer than the time-out";
                           const bool named = status.error().code == "runtime.timeout" &&
                                              status.error().message.find("still missing: rank 1") != std::string::npos;
                           return named ? "" : to_string(status.error());
                         }),
            all_well(3));
}

/// What a process uses at the moment.
struct Footprint {
  std::size_t heap_bytes = heap_in_use();
  std::ptrdiff_t threads = entries("/proc/self/task");
  std::ptrdiff_t files = entries("/proc/self/fd");
  std::ptrdiff_t maps = lines("/proc/self/maps");

  static std::size_t heap_in_use() {
#if defined(CORTADO_SANITIZED_HEAP)
    return __sanitizer_get_current_allocated_bytes();
#else
    return ::mallinfo2().uordblks;
#endif
  }
  static std::ptrdiff_t entries(const char* folder) {
    const std::filesystem::directory_iterator all(folder);
    return std::distance(begin(all), end(all));
  }
  static std::ptrdiff_t lines(const char* file) {
    std::ifstream text(file);
    return std::count(std::istreambuf_iterator<char>(text), {}, '\n');
  }
};

TEST(Processes, AHundredThousandOperationsTakeNoMoreMemoryThreadsOrFiles) {
  EXPECT_EQ(on_processes(2, {},
                         [](Communicator& comm) -> std::string {
                           std::vector<float> data(100, 1);
                           std::vector<float> large(50'000, 1);
                           const auto some = [&](int operations) -> std::string {
                             for (int i = 0; i < operations; ++i) {
                               Operation next =
                                   all_reduce(Element::f32, bytes_of(data), bytes_of(data), Reduction::max);
                               if (i % 1000 == 1) {
                                 next = all_reduce(Element::f32, bytes_of(large), bytes_of(large), Reduction::max);
                               }
                               if (i % 1000 == 2) next = broadcast(bytes_of(large), 1);
                               const Status status = i % 100 == 0 ? comm.start(next).wait() : comm.run(next);
                               if (!status) return to_string(status.error());
                             }
                             return "";
                           };
                           if (std::string wrong = some(2000); !wrong.empty()) return wrong;  // programs, thread, queue
                           const Footprint before;
                           if (std::string wrong = some(100'000); !wrong.empty()) return wrong;
                           const Footprint after;
                           if (after.threads != before.threads) return "more threads";
                           if (after.files != before.files) return "more open files";
                           if (after.maps > before.maps + 2) return "more mapped memory";
                           // A leak of a byte for each operation would be 100,000.
                           if (after.heap_bytes > before.heap_bytes + 20'000) {
                             return fmt::format("{} bytes more", after.heap_bytes - before.heap_bytes);
                           }
                           return "";
                         }),
            all_well(2));
}

}  // namespace processes_test
}  // namespace cortado::runtime
