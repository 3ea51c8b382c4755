#include "pipeline/choose/cost_cache.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "cortado/base/file.hpp"

#include "pipeline/choose/cache_testing.hpp"

namespace cortado::pipeline {
namespace cost_cache_test {

const CollectiveRequest kRequest{.collective = "all-gather", .variant = "bcst", .bytes = 1_KiB};

TEST(CostCache, KeepsTimesByRequest) {
  const TemporaryFolder folder;
  const Machine machine = load_machine("mi300x-8").value();
  CostCache first(machine, "all-gather", folder.path());
  EXPECT_FALSE(first.find(kRequest));
  first.add(kRequest, {1234});
  ASSERT_TRUE(first.save());

  const CostCache second(machine, "all-gather", folder.path());
  EXPECT_EQ(second.find(kRequest), Nanoseconds{1234});
  CollectiveRequest all_ranks = kRequest;
  all_ranks.ranks = 8;
  EXPECT_EQ(second.find(all_ranks), Nanoseconds{1234});  // 0 ranks are all ranks
  for (const auto& change : std::vector<void (*)(CollectiveRequest&)>{
           [](CollectiveRequest& r) { r.variant = "b2b"; }, [](CollectiveRequest& r) { r.bytes = 2_KiB; },
           [](CollectiveRequest& r) { r.ranks = 4; }, [](CollectiveRequest& r) { r.prelaunch = true; },
           [](CollectiveRequest& r) { r.in_place = true; }, [](CollectiveRequest& r) { r.own_block = false; },
           [](CollectiveRequest& r) { r.dtype = DType::f16; }, [](CollectiveRequest& r) { r.root = {1}; },
           [](CollectiveRequest& r) { r.peer = {2}; }, [](CollectiveRequest& r) { r.ways = 2; },
           [](CollectiveRequest& r) { r.compute_units = 16; },
           [](CollectiveRequest& r) { r.host = HostThreads::per_rank; }}) {
    CollectiveRequest other = kRequest;
    change(other);
    EXPECT_FALSE(second.find(other));
  }
}

TEST(CostCache, AnEditedMachineIsAnotherMachine) {
  const TemporaryFolder folder;
  Machine machine = load_machine("mi300x-8").value();
  const CostCache before(machine, "all-gather", folder.path());
  machine.provenance.front().source = "somewhere else";  // where a value comes from does not matter
  EXPECT_EQ(CostCache(machine, "all-gather", folder.path()).path(), before.path());
  EXPECT_NE(CostCache(machine, "all-to-all", folder.path()).path(), before.path());
  machine.provenance.back().value += "1";
  EXPECT_NE(CostCache(machine, "all-gather", folder.path()).path(), before.path());
}

TEST(CostCache, DamagedAndForeignFilesCountAsEmpty) {
  const TemporaryFolder folder;
  const Machine machine = load_machine("mi300x-8").value();
  CostCache cache(machine, "all-gather", folder.path());
  cache.add(kRequest, {1234});
  ASSERT_TRUE(cache.save());
  const std::string right = read_file(cache.path()).value();
  std::string negative = right;
  negative.replace(negative.find("1234"), 4, "-123");
  std::string other_schema = right;
  other_schema.replace(other_schema.find("cortado.times"), 13, "cortado.bench");
  for (const std::string& text :
       {std::string(), right.substr(0, right.size() / 2), std::string("[1, 2]"), std::string("{}"), negative,
        other_schema, std::string("\xff\xfe"), std::string(R"({"schema": 7, "times_ns": {}})")}) {
    ASSERT_TRUE(write_file(cache.path(), text));
    CostCache again(machine, "all-gather", folder.path());
    EXPECT_FALSE(again.find(kRequest)) << text;
    again.add(kRequest, {1234});
    ASSERT_TRUE(again.save());
    EXPECT_EQ(read_file(cache.path()).value(), right);
  }
}

TEST(CostCache, AFolderThatCannotBeMadeIsAnErrorOfSavingOnly) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/file";
  ASSERT_TRUE(write_file(file, "not a folder"));
  const Machine machine = load_machine("mi300x-8").value();
  CostCache cache(machine, "all-gather", file + "/cortado");
  EXPECT_TRUE(cache.save());  // nothing to keep
  cache.add(kRequest, {1234});
  EXPECT_EQ(cache.find(kRequest), Nanoseconds{1234});
  const Status saved = cache.save();
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, "file.mkdir");
  EXPECT_EQ(saved.error().about, About::environment);
}

TEST(CostCache, WithoutAFolderNothingIsWritten) {
  CostCache cache(load_machine("mi300x-8").value(), "all-gather", {});
  cache.add(kRequest, {1234});
  EXPECT_TRUE(cache.save());
  EXPECT_EQ(cache.path(), "");
}

}  // namespace cost_cache_test
}  // namespace cortado::pipeline
