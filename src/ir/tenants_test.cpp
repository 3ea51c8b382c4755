#include "ir/tenants.hpp"

#include <gtest/gtest.h>

namespace cortado {
namespace tenants_test {

constexpr std::uint32_t kUnits = 100;

TEST(Tenants, PartsOfAKernelAreOneAndStreamsAreOneEach) {
  ProgramBuilder builder("test", "machine", 2);
  const RankId first{0};
  const RankId second{1};
  const auto queue = [&](const char* name, RankId rank, std::int32_t priority, std::optional<std::uint32_t> units,
                         const char* kernel) {
    return builder.compute_queue(name, rank, priority, units, kernel).value;
  };
  const auto a = queue("a", first, 0, 10, "copies");
  const auto stream = queue("stream", first, 2, {}, "");
  const auto host = builder.host_queue("host").value;
  const auto b = queue("b", first, 3, 20, "copies");
  const auto other = queue("other", second, 1, 30, "copies");
  const Tenants tenants = tenants_of(std::move(builder).finish(), kUnits);
  ASSERT_EQ(tenants.all.size(), 3U);
  EXPECT_EQ(tenants.of_queue[a], 0U);
  EXPECT_EQ(tenants.of_queue[stream], 1U);
  EXPECT_EQ(tenants.of_queue[host], Tenants::kNone);
  EXPECT_EQ(tenants.of_queue[b], 0U);
  EXPECT_EQ(tenants.of_queue[other], 2U);
  EXPECT_EQ(tenants.all[0].queues, (std::vector<std::uint32_t>{a, b}));
  EXPECT_TRUE(tenants.all[0].kernel);
  EXPECT_EQ(tenants.all[0].priority, 3);
  EXPECT_EQ(tenants.all[0].most, 20U);  // 20 are no fewer than the other 10: the two work in turns
  EXPECT_FALSE(tenants.all[1].kernel);
  EXPECT_EQ(tenants.all[1].most, kUnits);  // a stream without a limit
  EXPECT_EQ(tenants.all[2].gpu, second);
  EXPECT_EQ(tenants.all[2].most, 30U);
}

TEST(Tenants, PartsThatWorkAtOnceAddUpToAllUnitsAtMost) {
  const auto most_of = [](const std::vector<std::uint32_t>& parts) {
    ProgramBuilder builder("test", "machine", 1);
    for (const std::uint32_t units : parts) builder.compute_queue("part", RankId{0}, 0, units, "kernel");
    return tenants_of(std::move(builder).finish(), kUnits).all.front().most;
  };
  EXPECT_EQ(most_of({10, 20, 15}), 45U);
  EXPECT_EQ(most_of({40, 40, 40}), kUnits);
  EXPECT_EQ(most_of({30, 10, 20}), 30U);  // one that has as many as all others: in turns
  EXPECT_EQ(most_of({7}), 7U);
  EXPECT_EQ(most_of({200}), kUnits);
}

}  // namespace tenants_test
}  // namespace cortado
