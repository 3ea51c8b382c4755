// T3 (arXiv 2401.16677): GEMMs of transformer sub-layers and the all-reduce after them, on GPUs in a ring
// (published/sublayers/t3.toml has the models).
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "cortado/plan.hpp"
#include "cortado/program.hpp"
#include "cortado/study.hpp"
#include "cortado/target.hpp"

#include "base/check.hpp"
#include "plan/c3.hpp"
#include "reproduce/published/sublayers.hpp"
#include "reproduce/reproducer.hpp"
#include "reproduce/t3_end_to_end.hpp"

namespace cortado::pipeline {
namespace {

constexpr const char* kSubLayers = "t3";

/// Of the models that most results are about, and of those on 32 GPUs.
constexpr std::string_view kT3Small = "small";
constexpr std::string_view kT3Large = "large";

/// What a library leaves for the GEMM if 16 of 80 compute units communicate.
constexpr std::uint32_t kProductUnits = 64;
constexpr std::array<std::uint32_t, 2> kT3CollectiveUnits{8, 16};

/// Equal GEMMs, such as FC-1 and FC-2, are simulated once.
struct T3Case {
  GemmShape gemm;
  std::uint32_t tp = 0;
  const Machine* machine = nullptr;
  OverlapReport report{};
  double all_reduce_slower[kT3CollectiveUnits.size()] = {};  ///< times its time on all compute units
  double product_slower = 0;                                 ///< on kProductUnits
};

class T3 {
 public:
  T3(const published::Publication& publication, const Machine& machine)
      : publication_(publication), machine_(machine) {}

  std::vector<report::Table> own_tables() const { return {sublayers(), end_to_end()}; }

  using Value = std::function<double(const T3Case&)>;

  /// The published machine comes with 8, 16 and 32 GPUs; another one must have enough.
  Result<const Machine*> machine_for(std::uint32_t tp) {
    if (machine_.name != publication_.machine) {
      if (machine_.gpus >= tp) return &machine_;
      return fail("reproduce.machine", fmt::format("{} has {} GPUs, but T3 needs {}", machine_.name, machine_.gpus, tp),
                  "drop --machine, or use one with 32 GPUs");
    }
    const auto known = machines_.find(tp);
    if (known != machines_.end()) return &known->second;
    CORTADO_ASSIGN_OR_RETURN(Machine machine, load_machine(fmt::format("t3-ring-{}", tp)));
    return &machines_.emplace(tp, std::move(machine)).first->second;
  }

  Status collect() {
    CORTADO_ASSIGN_OR_RETURN(sublayers_, published::load_sublayers(kSubLayers));
    std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>, std::size_t> known;
    for (const published::SubLayer& one : sublayers_) {
      const auto [found, is_new] = known.emplace(std::tuple(one.tp, one.m, one.n, one.k), cases_.size());
      case_of_.push_back(found->second);
      if (!is_new) continue;
      T3Case& added = cases_.emplace_back();
      CORTADO_ASSIGN_OR_RETURN(const DType dtype, parse_dtype(one.dtype));
      added.gemm = {one.m, one.n, one.k, dtype};
      added.tp = one.tp;
      CORTADO_ASSIGN_OR_RETURN(added.machine, machine_for(one.tp));
    }
    return {};
  }

  Outcome<void> simulate_all(const ReproduceOptions& options) {
    return run_all(cases_.size(), options, [&](std::size_t i) { return simulate(cases_[i]); });
  }

  static Outcome<void> simulate(T3Case& one) {
    const OverlapProblem problem{.relation = Relation::collective_needs_gemm,
                                 .gemms = {one.gemm},
                                 .collectives = {{.collective = "all-reduce"}},
                                 .ranks = one.tp};
    auto report = study_overlap(problem, *one.machine, {.strategies = {"serial", "ideal-rs+nmc", "t3", "t3-mca"}});
    if (!report) return fail(report.error());
    if (!report->skipped.empty()) return fail_at(Stage::plan, report->skipped.front().reason);
    one.report = *std::move(report);
    CollectiveRequest all_reduce{.collective = "all-reduce",
                                 .variant = "cores-ring",
                                 .bytes = size_of(one.gemm.dtype) * one.gemm.m * one.gemm.n,
                                 .ranks = one.tp,
                                 .dtype = one.gemm.dtype};
    all_reduce.in_place = default_in_place(all_reduce.collective, all_reduce.variant);
    const auto all = predict(plan_collective(all_reduce, *one.machine), *one.machine);
    if (!all) return fail(all.error());
    for (std::size_t i = 0; i < kT3CollectiveUnits.size(); ++i) {
      all_reduce.compute_units = kT3CollectiveUnits[i];
      const auto few = predict(plan_collective(all_reduce, *one.machine), *one.machine);
      if (!few) return fail(few.error());
      one.all_reduce_slower[i] = microseconds(few->time) / microseconds(all->time);
    }
    const auto few = predict(plan_gemms({one.gemm}, {.count = kProductUnits}, one.tp, *one.machine), *one.machine);
    if (!few) return fail(few.error());
    one.product_slower = microseconds(few->time) / microseconds(one.report.gemm_alone);
    return {};
  }

  /// Geometric mean over the sub-layers of a group; of one degree of tensor parallelism if tp is given.
  double geomean(std::string_view group, const Value& value, std::uint32_t tp = 0) const {
    double logs = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < sublayers_.size(); ++i) {
      if (sublayers_[i].group != group || (tp != 0 && sublayers_[i].tp != tp)) continue;
      logs += std::log(value(cases_[case_of_[i]]));
      ++count;
    }
    CORTADO_CHECK(count > 0, "the group has sub-layers");
    return std::exp(logs / static_cast<double>(count));
  }

  double greatest(std::string_view group, const Value& value) const {
    double most = 0;
    for (std::size_t i = 0; i < sublayers_.size(); ++i) {
      if (sublayers_[i].group == group) most = std::max(most, value(cases_[case_of_[i]]));
    }
    return most;
  }

  /// The layers of a group: one for every model and tp, with its sub-layers in sequence.
  std::vector<T3Layer> layers(std::string_view group) const {
    std::vector<T3Layer> all;
    for (std::size_t i = 0; i < sublayers_.size(); ++i) {
      if (sublayers_[i].group != group) continue;
      const T3Case& one = cases_[case_of_[i]];
      if (sublayers_[i].name == "OP") all.push_back({.op = &one.report, .machine = one.machine});
      if (sublayers_[i].name == "FC-2") all.back().fc2 = &one.report;
      if (sublayers_[i].name == "FC-1") all.back().fc1 = &one.report;
      if (sublayers_[i].name == "IP") all.back().ip = &one.report;
    }
    return all;
  }

  double whole_geomean(std::string_view group, std::string_view way, bool training, bool fused = false) const {
    double logs = 0;
    const std::vector<T3Layer> all = layers(group);
    for (const T3Layer& layer : all) logs += std::log(t3_end_to_end(layer, way, training, fused));
    return percent(std::exp(logs / static_cast<double>(all.size())));
  }

  double whole_greatest(std::string_view group, std::string_view way, bool training) const {
    double most = 0;
    for (const T3Layer& layer : layers(group)) most = std::max(most, t3_end_to_end(layer, way, training, false));
    return percent(most);
  }

  report::Table end_to_end() const {
    report::Table table = report::own_table(
        "end to end",
        "Whole layers, gain in %, geometric means: with the attention of the paper's implementation and with fused "
        "attention",
        {{"models"}, {"way"}, {"training", 1}, {"prompt", 1}, {"training, fused", 1}, {"prompt, fused", 1}});
    for (const std::string_view group : {kT3Small, kT3Large}) {
      for (const char* way : {"t3", "t3-mca"}) {
        table.add({group, way, whole_geomean(group, way, true), whole_geomean(group, way, false),
                   whole_geomean(group, way, true, true), whole_geomean(group, way, false, true)});
      }
    }
    return table;
  }

  static const OverlapRow& row(const T3Case& one, std::string_view way) {
    const OverlapRow* found = one.report.row(way);
    CORTADO_CHECK(found != nullptr, "every way was simulated");
    return *found;
  }

  /// As in the paper: GEMM, reduce-scatter and all-gather are separate kernels.
  static const OverlapRow& sequential(const T3Case& one) { return *one.report.in_parts; }

  /// Ideal is the longer of GEMM and reduce-scatter, and the all-gather.
  static Nanoseconds ideal(const T3Case& one, Nanoseconds reduce_scatter) {
    const OverlapReport& report = one.report;
    const Nanoseconds all_gather = sequential(one).time - report.gemm_alone - report.overlappable;
    return std::max(report.gemm_alone, reduce_scatter) + all_gather;
  }

  static Nanoseconds time(const T3Case& one, std::string_view way) {
    const OverlapReport& report = one.report;
    if (way == "ideal") return ideal(one, report.overlappable);
    if (way == "ideal-rs+nmc") return ideal(one, std::min(report.overlappable, report.in_memory));
    return row(one, way).time;
  }

  static Value speedup(std::string_view way) {
    return [way](const T3Case& one) { return microseconds(sequential(one).time) / microseconds(time(one, way)); };
  }

  static double movement(const T3Case& one) { return row(one, "t3").dram->total() / sequential(one).dram->total(); }
  /// Without the all-gather, which is the same in both.
  static double scatter_reads(const T3Case& one, const OverlapRow& row) {
    return row.dram->collective_reads - one.report.behind.collective_reads;
  }
  static double fused_writes(const T3Case& one, const OverlapRow& row) {
    return row.dram->writes() - one.report.behind.writes();
  }
  static double percent(double ratio) { return 100 * (ratio - 1); }

  double figure_value(const std::string& name) const {
    const Value in_memory = [](const T3Case& one) {
      return microseconds(one.report.overlappable) / microseconds(one.report.in_memory);
    };
    const Value extra = [](const T3Case& one) { return speedup("ideal-rs+nmc")(one) / speedup("ideal")(one); };
    const Value scatter = [](const T3Case& one) {
      return scatter_reads(one, sequential(one)) / scatter_reads(one, row(one, "t3"));
    };
    const Value reads = [](const T3Case& one) {
      return sequential(one).dram->producer_reads / row(one, "t3").dram->producer_reads;
    };
    const Value writes = [](const T3Case& one) {
      return fused_writes(one, row(one, "t3")) / fused_writes(one, sequential(one));
    };
    const std::map<std::string_view, std::function<double()>> values{
        {"ideal geomean", [&] { return percent(geomean(kT3Small, speedup("ideal"))); }},
        {"ideal greatest", [&] { return percent(greatest(kT3Small, speedup("ideal"))); }},
        {"t3 geomean", [&] { return percent(geomean(kT3Small, speedup("t3"))); }},
        {"t3 greatest", [&] { return percent(greatest(kT3Small, speedup("t3"))); }},
        {"t3-mca geomean", [&] { return percent(geomean(kT3Small, speedup("t3-mca"))); }},
        {"t3-mca greatest", [&] { return percent(greatest(kT3Small, speedup("t3-mca"))); }},
        {"t3-mca large geomean", [&] { return percent(geomean(kT3Large, speedup("t3-mca"))); }},
        {"t3-mca large greatest", [&] { return percent(greatest(kT3Large, speedup("t3-mca"))); }},
        {"ideal-rs+nmc extra", [&] { return percent(greatest(kT3Small, extra)); }},
        {"movement geomean", [&] { return percent(geomean(kT3Small, movement)); }},
        {"movement greatest",
         [&] { return percent(1 / greatest(kT3Small, [](const T3Case& one) { return 1 / movement(one); })); }},
        {"t3 training", [&] { return whole_geomean(kT3Small, "t3", true); }},
        {"t3 prompt", [&] { return whole_geomean(kT3Small, "t3", false); }},
        {"t3-mca training", [&] { return whole_geomean(kT3Small, "t3-mca", true); }},
        {"t3-mca prompt", [&] { return whole_geomean(kT3Small, "t3-mca", false); }},
        {"t3-mca training greatest", [&] { return whole_greatest(kT3Small, "t3-mca", true); }},
        {"t3-mca prompt greatest", [&] { return whole_greatest(kT3Small, "t3-mca", false); }},
        {"t3-mca large training greatest", [&] { return whole_greatest(kT3Large, "t3-mca", true); }},
        {"t3-mca large prompt greatest", [&] { return whole_greatest(kT3Large, "t3-mca", false); }},
        {"product reads", [&] { return geomean(kT3Small, reads); }},
        {"reduce-scatter reads tp 8", [&] { return geomean(kT3Small, scatter, 8); }},
        {"reduce-scatter reads tp 16", [&] { return geomean(kT3Small, scatter, 16); }},
        {"writes", [&] { return percent(geomean(kT3Small, writes)); }},
        {"nmc tp 8", [&] { return percent(geomean(kT3Small, in_memory, 8)); }},
        {"nmc tp 16", [&] { return percent(geomean(kT3Small, in_memory, 16)); }},
        {"all-reduce on 8 units",
         [&] { return percent(geomean(kT3Small, [](const T3Case& one) { return one.all_reduce_slower[0]; })); }},
        {"all-reduce on 16 units",
         [&] { return percent(geomean(kT3Small, [](const T3Case& one) { return one.all_reduce_slower[1]; })); }},
        {"product on 64 units",
         [&] { return percent(geomean(kT3Small, [](const T3Case& one) { return one.product_slower; })); }}};
    const auto found = values.find(name);
    CORTADO_CHECK(found != values.end(), "every figure of t3.toml is computed here");
    return found->second();
  }

  report::Table sublayers() const {
    report::Table table =
        report::own_table("sub-layers",
                          "Every sub-layer: times in us, sequential including the all-gather that follows; gains over "
                          "sequential and DRAM traffic of T3 in %",
                          {{"model"}, {"tp"}, {"sub-layer"}, {"GEMM"}, {"reduce-scatter"}, {"serial"}});
    const std::array ways{"ideal", "ideal-rs+nmc", "t3", "t3-mca"};
    for (const char* way : ways) table.columns.push_back(report::OwnColumn{way, 1});
    table.columns.push_back(report::OwnColumn{"traffic", 1});
    table.columns.push_back(report::OwnColumn{"entries"});
    for (std::size_t i = 0; i < sublayers_.size(); ++i) {
      const T3Case& one = cases_[case_of_[i]];
      auto& cells = table.rows.emplace_back();
      cells = {sublayers_[i].model,
               one.tp,
               sublayers_[i].name,
               microseconds(one.report.gemm_alone),
               microseconds(one.report.overlappable),
               microseconds(sequential(one).time)};
      for (const char* way : ways) cells.emplace_back(percent(speedup(way)(one)));
      cells.emplace_back(percent(movement(one)));
      cells.emplace_back(row(one, "t3").tracker_entries_peak.value_or(0));
    }
    return table;
  }

 private:
  const published::Publication& publication_;
  const Machine& machine_;
  std::map<std::uint32_t, Machine> machines_;  // by number of GPUs
  std::vector<published::SubLayer> sublayers_;
  std::vector<std::size_t> case_of_;  // of sublayers_
  std::vector<T3Case> cases_;
};

}  // namespace

Outcome<report::Reproduction> reproduce_t3(const published::Publication& publication, const Machine& machine,
                                           const ReproduceOptions& options) {
  return reproduce_cases<T3>(publication, machine, options);
}

}  // namespace cortado::pipeline
