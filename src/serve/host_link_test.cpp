#include "serve/host_link.hpp"

#include <gtest/gtest.h>

namespace cortado::serve {
namespace host_link_test {

/// 1 ms and 0.1 ms per block of 5 MB: 50 GB/s. Both directions together 80 GB/s.
FetchCost cost() {
  const TransferCost one{.fixed_s = 1e-3, .per_block_s = 1e-4, .link_bytes_per_block = 5e6};
  return {.name = "test", .load = one, .store = one, .both_rate = 80e9};
}

constexpr std::int64_t kMs = 1'000'000;

TEST(HostLink, JobsOfADirectionRunOneAfterAnother) {
  HostLink link(cost());
  link.add(HostLink::load, 1, 10, 0);  // 1 + 10 x 0.1 = 2 ms
  link.add(HostLink::load, 2, 20, 0);  // 3 ms more
  EXPECT_EQ(link.next_end(HostLink::load), 2 * kMs);
  link.advance(4 * kMs);
  auto done = link.take_done();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].second.tag, 1U);
  EXPECT_EQ(link.next_end(HostLink::load), 5 * kMs);
  link.advance(5 * kMs);
  done = link.take_done();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].second.start_ns, 2 * kMs);
  EXPECT_EQ(link.next_end(HostLink::load), HostLink::kNever);
  EXPECT_EQ(link.busy_ns(HostLink::load), 5 * kMs);
}

/// 1 block 0.2 ms, 4 blocks 0.5 ms; from 11 blocks on the line, which is there at 2.1 ms.
TEST(HostLink, FewBlocksAreNotOnTheLine) {
  FetchCost few = cost();
  few.load.few = {{1, 2e-4, 1e-4}, {4, 5e-4, 2e-4}, {11, 2.1e-3, 3e-4}};
  EXPECT_DOUBLE_EQ(few.load.seconds(1), 2e-4);
  EXPECT_DOUBLE_EQ(few.load.seconds(2), 3e-4);
  EXPECT_DOUBLE_EQ(few.load.seconds(4), 5e-4);
  EXPECT_DOUBLE_EQ(few.load.seconds(11), 2.1e-3);
  EXPECT_DOUBLE_EQ(few.load.seconds(20), 3e-3);
  EXPECT_DOUBLE_EQ(few.load.host_seconds(4), 2e-4);
  HostLink link(few);
  link.add(HostLink::load, 1, 2, 0);
  EXPECT_EQ(link.next_end(HostLink::load), 300'000);
}

/// 190 blocks: 20 ms for 950 MB. With 40 GB/s for each direction they need 23.75 ms, 1.1875 times as long. The load is
/// alone for 10 ms, half of its work; the rest takes 11.875 ms next to the store.
TEST(HostLink, DirectionsSlowEachOtherDown) {
  HostLink link(cost());
  link.add(HostLink::load, 1, 190, 0);
  link.add(HostLink::store, 0, 190, 10 * kMs);
  EXPECT_EQ(link.next_end(HostLink::load), 21'875'000);
  link.advance(21'875'000);
  EXPECT_EQ(link.take_done().size(), 1U);
  // 11.875 of its 23.75 ms have passed: half of 20 ms is left, alone.
  EXPECT_NEAR(static_cast<double>(link.next_end(HostLink::store)), 31'875'000.0, 2.0);
}

/// Where the host's calls take four times as long as the bytes, a direction that has 40 GB/s of 50 is fast enough.
TEST(HostLink, SlowCallsHideTheOtherDirection) {
  FetchCost slow = cost();
  slow.load.per_block_s = 4e-4;
  HostLink link(slow);
  link.add(HostLink::store, 0, 1000, 0);
  link.add(HostLink::load, 1, 100, 0);
  EXPECT_EQ(link.next_end(HostLink::load), 41 * kMs);
}

/// What is submitted ahead of a trigger is hidden behind the jobs before, and by nothing if there are none.
TEST(HostLink, JobsBeforeHideWhatIsSubmittedAhead) {
  HostLink link(cost());
  link.add(HostLink::load, 1, 10, 0, 3e-3);  // 2 ms, after 3 ms
  EXPECT_EQ(link.next_end(HostLink::load), 5 * kMs);
  link.add(HostLink::load, 2, 10, 0, 4e-3);  // submitted in time
  link.add(HostLink::load, 3, 10, 0, 8e-3);  // a millisecond late
  link.advance(20 * kMs);
  const auto done = link.take_done();
  ASSERT_EQ(done.size(), 3U);
  EXPECT_EQ(done[1].second.end_ns, 7 * kMs);
  EXPECT_EQ(done[2].second.end_ns, 10 * kMs);
}

TEST(HostLink, StartsWhenItIsAskedNotBefore) {
  HostLink link(cost());
  link.add(HostLink::store, 0, 100, 0);  // 11 ms
  link.add(HostLink::load, 1, 0, 5 * kMs);
  EXPECT_GE(link.next_end(HostLink::load), 6 * kMs);
}

}  // namespace host_link_test
}  // namespace cortado::serve
