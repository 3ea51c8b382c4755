// Collectives among threads: all operations, types, odd sizes, in place, all variants; and everything that goes wrong.
#include "cortado/communicator.hpp"

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/testing.hpp"

namespace cortado::runtime {
namespace communicator_test {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of these tests
using namespace std::chrono_literals;

/// Runs the function for every rank on a separate thread.
void on_threads(std::uint32_t ranks, const CommunicatorOptions& options, const RankFunction& function) {
  auto all = Communicator::threads(ranks, options);
  ASSERT_TRUE(all) << to_string(all.error());
  std::vector<std::thread> threads;
  for (Communicator& communicator : *all) {
    threads.emplace_back([&communicator, &function] { function(communicator); });
  }
  for (std::thread& thread : threads) thread.join();
}

CommunicatorOptions by(const std::string& variant) {
  CommunicatorOptions options;
  options.window = 1_MiB;
  options.variant = variant;
  return options;
}

TEST(Communicator, EveryOperationTypeAndSizeByEveryVariant) {
  for (const char* variant : {"", "slots", "staged", "direct"}) {
    for (const std::uint32_t ranks : {1U, 3U}) {
      on_threads(ranks, by(variant), [](Communicator& comm) { EXPECT_EQ(conformance(comm), ""); });
    }
  }
}

TEST(Communicator, SumsAreTheSameBitsByEveryVariant) {
  std::vector<std::vector<float>> results;
  for (const char* variant : {"slots", "staged", "direct"}) {
    on_threads(3, by(variant), [&](Communicator& comm) {
      std::vector<float> data(4097);
      for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = 1.0F / static_cast<float>(i * 3 + comm.rank() + 1);
      }
      ASSERT_TRUE(comm.run(all_reduce(Element::f32, bytes_of(data), bytes_of(data))));
      if (comm.rank() == 2) results.push_back(data);
    });
  }
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Communicator, WorkInFlightIsDoneInOrder) {
  on_threads(3, by(""), [](Communicator& comm) {
    std::vector<std::vector<std::int32_t>> data(50, std::vector<std::int32_t>(100, 1));
    std::vector<Work> works;
    for (auto& one : data) works.push_back(comm.start(all_reduce(Element::i32, bytes_of(one), bytes_of(one))));
    std::int32_t last = static_cast<std::int32_t>(comm.rank());
    EXPECT_TRUE(comm.run(all_reduce(Element::i32, bytes_of(last), bytes_of(last), Reduction::max)));
    EXPECT_EQ(last, 2);
    for (const Work& work : works) EXPECT_TRUE(work.test());  // the one after them is done
    for (const auto& one : data) EXPECT_EQ(one, std::vector<std::int32_t>(100, 3));
  });
}

TEST(Communicator, LargeMessagesBothWaysDoNotWaitForEachOther) {
  on_threads(2, by(""), [](Communicator& comm) {
    const std::uint32_t other = 1 - comm.rank();
    std::vector<std::byte> out(1 << 20, static_cast<std::byte>(comm.rank()));
    std::vector<std::byte> in(1 << 20);
    const Work sent = comm.start(send(out, other));
    const Work received = comm.start(recv(in, other));
    EXPECT_TRUE(sent.wait());
    EXPECT_TRUE(received.wait());
    EXPECT_EQ(in, std::vector<std::byte>(1 << 20, static_cast<std::byte>(other)));
  });
}

TEST(Communicator, PersistentOperationsRunAgainAndAgain) {
  on_threads(4, by(""), [](Communicator& comm) {
    std::uint32_t own = 0;
    std::vector<std::uint32_t> all(4);
    auto gathering = comm.prepare(all_gather(bytes_of(own), bytes_of(all)));
    ASSERT_TRUE(gathering);
    for (std::uint32_t i = 0; i < 200; ++i) {
      own = i * 10 + comm.rank();
      ASSERT_TRUE(gathering->run());
      ASSERT_EQ(all, (std::vector<std::uint32_t>{i * 10, i * 10 + 1, i * 10 + 2, i * 10 + 3}));
    }
  });
}

TEST(Communicator, MismatchedCallsAreNamedOnEveryRankAndDoNoHarm) {
  on_threads(3, by(""), [](Communicator& comm) {
    std::vector<std::int32_t> data(comm.rank() == 1 ? 5 : 4, 1);
    Status status = comm.run(all_reduce(Element::i32, bytes_of(data), bytes_of(data)));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, "runtime.mismatch");
    EXPECT_NE(status.error().message.find("rank 1 all-reduce of 20"), std::string::npos) << status.error().message;
    status = comm.rank() == 2 ? comm.run(barrier()) : comm.run(broadcast(bytes_of(data), 0));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, "runtime.mismatch");
    // Wrong on only one rank: it says what is wrong, the others name that rank.
    std::vector<std::int32_t> too_few(comm.rank() == 0 ? 2 : 3);
    const std::int32_t one = 1;
    status = comm.run(all_gather(bytes_of(one), bytes_of(too_few)));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, comm.rank() == 0 ? "runtime.arguments" : "runtime.mismatch");
    EXPECT_TRUE(comm.run(barrier()));
  });
}

TEST(Communicator, EveryKindOfMismatchIsNamed) {
  on_threads(2, by(""), [](Communicator& comm) {
    std::vector<std::byte> a(16);
    std::vector<std::byte> b(32);
    const bool odd = comm.rank() == 1;
    const auto expect = [&](const Operation& operation, const char* what) {
      const Status status = comm.run(operation);
      ASSERT_FALSE(status) << what;
      EXPECT_EQ(status.error().code, "runtime.mismatch");
      EXPECT_NE(status.error().message.find(what), std::string::npos) << status.error().message;
    };
    expect(odd ? all_gather(a, b) : all_reduce(Element::f32, a, a), "rank 1 all-gather of 16");
    expect(all_reduce(odd ? Element::i32 : Element::f32, a, a), "elements i32");
    expect(all_reduce(Element::f32, a, a, odd ? Reduction::max : Reduction::sum), "by max");
    expect(broadcast(a, odd ? 1 : 0), "root 1");
    std::vector<std::byte> c(16);
    expect(odd ? all_to_all_v(a, {8, 8}, c, {8, 8}) : all_to_all(a, c), "with counts");
    expect(all_to_all_v(a, {8, 8}, b, {odd ? 16U : 8U, odd ? 16U : 24U}),
           "rank 0 sends 8 bytes to rank 1, which receives 16");
    EXPECT_TRUE(comm.run(barrier()));
  });
}

TEST(Communicator, ATimeOutNamesWhoIsMissing) {
  CommunicatorOptions options = by("");
  options.timeout = 200ms;
  on_threads(3, options, [](Communicator& comm) {
    if (comm.rank() == 1) return;  // and stays alive until the others have given up
    const Status status = comm.run(barrier());
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, "runtime.timeout");
    EXPECT_NE(status.error().message.find("still missing: rank 1"), std::string::npos) << status.error().message;
    EXPECT_EQ(comm.run(barrier()).error().code, "runtime.timeout");
  });
}

TEST(Communicator, AbortEndsEveryWaiter) {
  on_threads(3, by(""), [](Communicator& comm) {
    if (comm.rank() == 2) {
      comm.abort("out of data");
      return;
    }
    const Status status = comm.run(barrier());
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, "runtime.aborted");
    EXPECT_EQ(status.error().message, "rank 2 aborted: out of data");
  });
}

TEST(Communicator, ARankThatLeavesEndsThoseWhoWaitForIt) {
  auto all = Communicator::threads(2, by(""));
  ASSERT_TRUE(all);
  all->pop_back();
  const Status status = all->front().run(barrier());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "runtime.peer");
}

TEST(Communicator, MemoryOfTheWindowIsGivenBack) {
  auto all = Communicator::threads(1, by(""));
  ASSERT_TRUE(all);
  Communicator& comm = all->front();
  for (int i = 0; i < 100; ++i) {
    auto a = comm.allocate(300_KiB);
    auto b = comm.allocate(600_KiB);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(comm.allocate(600_KiB).error().code, "runtime.memory");
    comm.release(i % 2 == 0 ? *a : *b);
    comm.release(i % 2 == 0 ? *b : *a);
  }
  EXPECT_TRUE(comm.allocate(1_MiB));
}

TEST(Communicator, ExplainsWhatItDid) {
  auto all = Communicator::threads(1, by(""));
  ASSERT_TRUE(all);
  std::vector<std::byte> data(100 << 10);
  ASSERT_TRUE(all->front().run(all_reduce(Element::u8, data, data)));
  EXPECT_EQ(all->front().explain(),
            "all-reduce of 100KiB a rank among 1: direct (a proved program, all reach each other's memory: two "
            "meetings, one copy)");
}

TEST(Communicator, RefusesWrongOptions) {
  EXPECT_EQ(Communicator::threads(0).error().code, "runtime.options");
  EXPECT_EQ(Communicator::threads(1, by("fast")).error().code, "runtime.options");
  EXPECT_EQ(Communicator::join({.name = "x", .rank = 2, .ranks = 2}).error().code, "runtime.options");
  EXPECT_EQ(Communicator::join({.name = "", .rank = 0, .ranks = 1}).error().code, "runtime.options");
}

}  // namespace communicator_test
}  // namespace cortado::runtime
