// Helpers of the tests of C3 and ConCCL.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>

#include "plan/choose.hpp"
#include "plan/collective/testing.hpp"
#include "plan/cost.hpp"

namespace cortado::plan {

/// What choose_way takes.
inline constexpr const char* kWays[] = {"serial", "c3", "c3-sp", "c3-rp", "c3-sp-rp", "conccl", "conccl-rp", "auto"};

/// Times from tables; what no table has cannot be done.
class TableCost : public CostModel {
 public:
  std::map<std::uint32_t, std::int64_t> gemm_times;            // by compute units
  std::map<std::string, std::int64_t> collective_times;        // by "pcpy prelaunch" or "cores-ll 64"
  std::function<std::int64_t(const OverlapWay&)> both_take{};  // 0: cannot be done

  Result<Nanoseconds> gemm(const GemmShape& /*shape*/, std::uint32_t units) const override {
    return look_up(gemm_times, units);
  }
  Result<Nanoseconds> collective(const CollectiveRequest& request) const override {
    std::string name = way_name(request);
    if (request.compute_units != 0) name += fmt::format(" {}", request.compute_units);
    return look_up(collective_times, name);
  }
  Result<Nanoseconds> together(const OverlapProblem& /*problem*/, const OverlapWay& way) const override {
    const std::int64_t time = both_take ? both_take(way) : 0;
    if (time == 0) return fail("test.unknown", "no time", "");
    return Nanoseconds{time};
  }

 private:
  template <class Key>
  static Result<Nanoseconds> look_up(const std::map<Key, std::int64_t>& table, const Key& key) {
    const auto found = table.find(key);
    if (found == table.end()) return fail("test.unknown", "no time", "");
    return Nanoseconds{found->second};
  }
};

/// The same time for everything.
class FlatCost : public CostModel {
 public:
  Result<Nanoseconds> gemm(const GemmShape&, std::uint32_t) const override { return Nanoseconds{100}; }
  Result<Nanoseconds> collective(const CollectiveRequest&) const override { return Nanoseconds{100}; }
  Result<Nanoseconds> together(const OverlapProblem&, const OverlapWay&) const override { return Nanoseconds{100}; }
};

inline OverlapProblem overlap_for_test(Collective collective = "all-gather", GemmShape shape = {8192, 8192, 8192}) {
  return {.gemms = {shape},
          .collectives = {{.collective = collective, .bytes = 64_MiB, .in_place = collective == "all-gather"}}};
}

inline OverlapWay way_for_test(std::string_view policy, const OverlapProblem& problem, const Machine& machine,
                               const CostModel& cost) {
  const Result<OverlapWay> way = choose_way(policy, problem, machine, cost);
  EXPECT_TRUE(way) << policy << ": " << to_string(way.error());
  return way ? *way : OverlapWay{};
}

}  // namespace cortado::plan
