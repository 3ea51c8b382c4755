#include <gtest/gtest.h>

#include "base/file.hpp"
#include "pipeline/choose.hpp"
#include "pipeline/choose/cache_testing.hpp"

namespace cortado::pipeline {
namespace chooser_test {

const std::vector<Bytes> kSizes{1_KiB, 32_KiB, 1_MiB, 32_MiB, 1_GiB};

ChoiceRequest all_gather(Bytes bytes, bool prelaunch) {
  return {.base = {.collective = "all-gather", .bytes = bytes, .prelaunch = prelaunch},
          .among = {"pcpy", "bcst", "b2b"}};
}

// The next chooser uses the times that a chooser saved.
TEST(Chooser, TakesTimesFromTheFolder) {
  const TemporaryFolder folder;
  const Machine machine = load_machine("virtual-64").value();
  ChoiceRequest request = all_gather(64_KiB, false);
  request.base.ranks = 8;
  Chooser first(machine, {.cache_folder = folder.path()});
  EXPECT_EQ(way_name(first.row(request)->best().request), "b2b");  // 13384 ns
  ASSERT_TRUE(first.save());
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    std::string text = read_file(file.path().string()).value();
    ASSERT_NE(text.find("13384"), std::string::npos);
    ASSERT_TRUE(write_file(file.path().string(), text.replace(text.find("13384"), 5, "99999")));
  }
  const auto again = Chooser(machine, {.cache_folder = folder.path()}).row(request);
  EXPECT_EQ(way_name(again->best().request), "bcst");
  EXPECT_EQ(again->fitting.back().time, Nanoseconds{99999});
  EXPECT_EQ(way_name(Chooser(machine, {}).row(request)->best().request), "b2b");
}

TEST(Chooser, ADamagedFileIsMadeAgain) {
  const TemporaryFolder folder;
  const Machine machine = load_machine("virtual-64").value();
  ChoiceRequest request = all_gather(64_KiB, false);
  request.base.ranks = 8;
  Chooser first(machine, {.cache_folder = folder.path()});
  ASSERT_TRUE(first.row(request));
  ASSERT_TRUE(first.save());
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    ASSERT_TRUE(write_file(file.path().string(), "{\"collectives\": "));
  }
  EXPECT_EQ(Chooser(machine, {.cache_folder = folder.path()}).row(request)->best().time, Nanoseconds{13384});
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
