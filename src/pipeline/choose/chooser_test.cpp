#include <atomic>

#include <gtest/gtest.h>

#include "cortado/base/file.hpp"
#include "cortado/pipeline/choose.hpp"

#include "pipeline/choose/cache_testing.hpp"

namespace cortado::pipeline {
namespace chooser_test {

const std::vector<Bytes> kSizes{1_KiB, 32_KiB, 1_MiB, 32_MiB, 1_GiB};

ChoiceRequest all_gather(Bytes bytes, bool prelaunch) {
  return {.base = {.collective = "all-gather", .bytes = bytes, .prelaunch = prelaunch},
          .among = {"pcpy", "bcst", "b2b"}};
}

/// Counts how often it is asked; 100 ns for every letter of the way's name.
class CountingCost : public CostModel {
 public:
  explicit CountingCost(std::atomic<int>& asked) : asked_(asked) {}
  Result<Nanoseconds> time(const CollectiveRequest& request) const override {
    ++asked_;
    if (request.variant == "pcpy") return fail("plan.link", "no link");
    return Nanoseconds{100 * static_cast<std::int64_t>(way_name(request).size())};
  }

 private:
  std::atomic<int>& asked_;
};

Chooser counting(const Machine& machine, std::atomic<int>& asked, const std::string& folder) {
  return {machine, {.threads = 1, .cache_folder = folder}, std::make_unique<CountingCost>(asked)};
}

TEST(Chooser, AsksOnceForWhatItKeeps) {
  const TemporaryFolder folder;
  const Machine machine = load_machine("virtual-64").value();
  std::atomic<int> asked = 0;
  Chooser first = counting(machine, asked, folder.path());
  const auto row = first.row(all_gather(1_KiB, false));
  ASSERT_TRUE(row) << to_string(row.error());
  EXPECT_EQ(way_name(row->best().request), "b2b");  // 300 ns; bcst 400
  EXPECT_EQ(asked, 3);
  ASSERT_TRUE(first.row(all_gather(1_KiB, true)));
  EXPECT_EQ(asked, 3 + 3 + 1);  // the prelaunched ones, and pcpy, whose refusal is not kept
  ASSERT_TRUE(first.save());

  Chooser second = counting(machine, asked, folder.path());
  const auto again = second.row(all_gather(1_KiB, true));
  ASSERT_TRUE(again);
  EXPECT_EQ(asked, 7 + 2);
  EXPECT_EQ(again->best().time.value, 300);
  EXPECT_EQ(again->refused.size(), 2U);

  Chooser without(machine, {}, std::make_unique<CountingCost>(asked));
  ASSERT_TRUE(without.row(all_gather(1_KiB, true)));
  EXPECT_EQ(asked, 9 + 6);
}

TEST(Chooser, ADamagedCacheIsComputedAgain) {
  const TemporaryFolder folder;
  const Machine machine = load_machine("virtual-64").value();
  std::atomic<int> asked = 0;
  Chooser first = counting(machine, asked, folder.path());
  ASSERT_TRUE(first.row(all_gather(1_KiB, false)));
  ASSERT_TRUE(first.save());
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    ASSERT_TRUE(write_file(file.path().string(), "{\"times_ns\": "));
  }
  asked = 0;
  ASSERT_TRUE(counting(machine, asked, folder.path()).row(all_gather(1_KiB, false)));
  EXPECT_EQ(asked, 3);
}

/// The order that was published for 8 MI300X: few commands win where control counts, all links at once where bytes do.
TEST(Chooser, PrelaunchedAllGatherOnMi300xGoesFromB2bOverBcstToPcpy) {
  const Machine machine = load_machine("mi300x-8").value();
  Chooser chooser(machine, {.threads = 2});
  std::vector<Bytes> sizes;
  for (Bytes size = 1_KiB; size <= 1_GiB; size = size * 2) sizes.push_back(size);
  ChoiceRequest request = all_gather({}, true);
  request.base.trigger_words = TriggerWords::per_queue;  // as it was measured
  const auto table = chooser.table(request, sizes);
  ASSERT_TRUE(table) << to_string(table.error());
  std::vector<std::string> winners;
  for (const ChoiceRow& row : *table) {
    const std::string name = way_name(row.best().request);
    if (winners.empty() || winners.back() != name) winners.push_back(name);
  }
  EXPECT_EQ(winners, (std::vector<std::string>{"b2b prelaunch", "bcst prelaunch", "pcpy prelaunch"}));
}

TEST(Chooser, TablesDoNotDependOnTheNumberOfThreads) {
  const Machine machine = load_machine("virtual-64").value();
  ChoiceRequest request = all_gather({}, true);
  request.base.ranks = 8;
  std::vector<ChoiceTable> tables;
  std::size_t reported = 0;
  for (const std::uint32_t threads : {1U, 4U}) {
    Chooser chooser(machine, {.threads = threads});
    const auto table = chooser.table(request, kSizes, [&](std::size_t, std::size_t) { ++reported; });
    ASSERT_TRUE(table) << to_string(table.error());
    ASSERT_EQ(table->size(), kSizes.size());
    tables.push_back(*table);
  }
  EXPECT_EQ(reported, 2 * 6 * kSizes.size());
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    ASSERT_EQ(tables[0][i].fitting.size(), tables[1][i].fitting.size());
    for (std::size_t k = 0; k < tables[0][i].fitting.size(); ++k) {
      EXPECT_TRUE(same_way(tables[0][i].fitting[k].request, tables[1][i].fitting[k].request));
      EXPECT_EQ(tables[0][i].fitting[k].time, tables[1][i].fitting[k].time);
    }
  }
}

TEST(Chooser, AMachineWithoutTimingSaysSo) {
  Machine machine = load_machine("virtual-64").value();
  machine.timing.reset();
  const auto row = Chooser(machine, {}).row(all_gather(1_KiB, false));
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().code, "sim.timing");
}

}  // namespace chooser_test
}  // namespace cortado::pipeline
