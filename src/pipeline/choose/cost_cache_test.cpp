#include "pipeline/choose/cost_cache.hpp"

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "pipeline/choose/cache_testing.hpp"

namespace cortado::pipeline {
namespace cost_cache_test {

const CollectiveRequest kRequest{.collective = "all-gather", .variant = "bcst", .bytes = 1_KiB};
const sim::CollectiveProfile kProfile{{1234}, 7, 8, 9.5, 3, Protocol::ll};

TEST(CostCache, KeepsTimesByRequest) {
  const TemporaryFolder folder;
  const Machine machine = load_machine("mi300x-8").value();
  CostCache first(machine, folder.path());
  EXPECT_FALSE(first.find(kRequest));
  first.add(kRequest, kProfile);
  ASSERT_TRUE(first.save());

  const CostCache second(machine, folder.path());
  EXPECT_EQ(second.find(kRequest), kProfile);
  CollectiveRequest all_ranks = kRequest;
  all_ranks.ranks = 8;
  EXPECT_EQ(second.find(all_ranks), kProfile);  // 0 ranks are all ranks
  for (const auto& change : std::vector<void (*)(CollectiveRequest&)>{
           [](CollectiveRequest& r) { r.collective = "broadcast"; }, [](CollectiveRequest& r) { r.variant = "b2b"; },
           [](CollectiveRequest& r) { r.bytes = 2_KiB; }, [](CollectiveRequest& r) { r.ranks = 4; },
           [](CollectiveRequest& r) { r.prelaunch = true; }, [](CollectiveRequest& r) { r.in_place = true; },
           [](CollectiveRequest& r) { r.own_block = false; }, [](CollectiveRequest& r) { r.dtype = DType::f16; },
           [](CollectiveRequest& r) { r.root = {1}; }, [](CollectiveRequest& r) { r.peer = {2}; },
           [](CollectiveRequest& r) { r.ways = 2; }, [](CollectiveRequest& r) { r.compute_units = 16; },
           [](CollectiveRequest& r) { r.host = HostThreads::per_rank; }}) {
    CollectiveRequest other = kRequest;
    change(other);
    EXPECT_FALSE(second.find(other));
  }
}

// The second thread waits and gets the result of the first; a failure is not remembered.
TEST(CostCache, ManyThreadsSimulateARequestOnce) {
  CostCache cache(load_machine("mi300x-8").value(), {});
  EXPECT_FALSE(cache.find_or(kRequest, [] { return fail("test.refused", "no", ""); }));
  std::atomic<int> simulated = 0;
  const auto ask = [&] {
    const auto profile = cache.find_or(kRequest, [&]() -> Result<sim::CollectiveProfile> {
      ++simulated;
      std::this_thread::yield();
      return kProfile;
    });
    EXPECT_EQ(profile.value(), kProfile);
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(ask);
  }
  EXPECT_EQ(simulated, 1);
  EXPECT_EQ(cache.find(kRequest), kProfile);
}

TEST(CostCache, AnEditedMachineIsAnotherMachine) {
  const TemporaryFolder folder;
  Machine machine = load_machine("mi300x-8").value();
  const CostCache before(machine, folder.path());
  machine.provenance.front().source = "somewhere else";  // where a value comes from does not matter
  machine.provenance.back().value += "1";                // nor what its file said
  EXPECT_EQ(CostCache(machine, folder.path()).path(), before.path());
  machine.timing->engine.wake.value += 1;
  EXPECT_NE(CostCache(machine, folder.path()).path(), before.path());
  Machine tracked = load_machine("mi300x-8").value();
  tracked.features.tracker = TrackerLimits{16, 64_KiB};
  EXPECT_NE(CostCache(tracked, folder.path()).path(), before.path());
}

TEST(CostCache, DamagedAndForeignFilesCountAsEmpty) {
  const TemporaryFolder folder;
  const Machine machine = load_machine("mi300x-8").value();
  CostCache cache(machine, folder.path());
  cache.add(kRequest, kProfile);
  ASSERT_TRUE(cache.save());
  const std::string right = read_file(cache.path()).value();
  std::string negative = right;
  negative.replace(negative.find("1234"), 4, "-123");
  std::string other_schema = right;
  other_schema.replace(other_schema.find("cortado.times"), 13, "cortado.bench");
  for (const std::string& text : {std::string(), right.substr(0, right.size() / 2), right.substr(0, right.size() - 1),
                                  right.substr(0, right.find("1234")), negative, other_schema, std::string("\xff\xfe"),
                                  std::string("cortado.times 4\n")}) {
    ASSERT_TRUE(write_file(cache.path(), text));
    CostCache again(machine, folder.path());
    EXPECT_FALSE(again.find(kRequest)) << text;
    again.add(kRequest, kProfile);
    ASSERT_TRUE(again.save());
    EXPECT_EQ(read_file(cache.path()).value(), right);
  }
}

TEST(CostCache, AFolderThatCannotBeMadeIsAnErrorOfSavingOnly) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/file";
  ASSERT_TRUE(write_file(file, "not a folder"));
  const Machine machine = load_machine("mi300x-8").value();
  CostCache cache(machine, file + "/cortado");
  EXPECT_TRUE(cache.save());  // nothing to keep
  cache.add(kRequest, kProfile);
  EXPECT_EQ(cache.find(kRequest), kProfile);
  const Status saved = cache.save();
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, "file.mkdir");
  EXPECT_EQ(saved.error().about, About::environment);
}

TEST(CostCache, WithoutAFolderNothingIsWritten) {
  CostCache cache(load_machine("mi300x-8").value(), {});
  cache.add(kRequest, kProfile);
  EXPECT_TRUE(cache.save());
  EXPECT_EQ(cache.path(), "");
}

TEST(RequestKey, TellsAllThatADependentRequestSaysApart) {
  const DependentRequest request{.gemm = {100, 512, 1024}, .collective = "all-to-all", .ranks = 2};
  std::set<std::string> keys{request_key(request, 8)};
  std::size_t count = 1;
  for (const auto& change : std::vector<void (*)(DependentRequest&)>{
           [](DependentRequest& r) { r.gemm.m = 101; }, [](DependentRequest& r) { r.gemm.n = 513; },
           [](DependentRequest& r) { r.gemm.k = 1025; }, [](DependentRequest& r) { r.gemm.dtype = DType::f8; },
           [](DependentRequest& r) { r.gemm.accumulate = true; },
           [](DependentRequest& r) { r.collective = "all-gather"; },
           [](DependentRequest& r) { r.dependence = Dependence::product_first; },
           [](DependentRequest& r) { r.ranks = 3; },
           [](DependentRequest& r) {
             r.tokens = {{10, 40}, {40, 10}};
           },
           [](DependentRequest& r) {
             r.tokens = {{40, 10}, {10, 40}};
           }}) {
    DependentRequest other = request;
    change(other);
    keys.insert(request_key(other, 8));
    EXPECT_EQ(keys.size(), ++count);
  }
  DependentRequest all = request;
  all.ranks = 0;
  EXPECT_EQ(request_key(all, 2), request_key(request, 8));  // 0 ranks are all ranks
}

}  // namespace cost_cache_test
}  // namespace cortado::pipeline
