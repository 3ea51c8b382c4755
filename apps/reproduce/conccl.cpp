// ConCCL (arXiv 2412.14335): shares of the ideal overlap by policy, over thirty scenarios of ours in place of the
// unpublished ones (published/scenarios/conccl.toml); and what GEMMs and collectives lose with fewer compute units.
//
// Collectives as in the measurements of DMA-Latte: all-gather in place, all-to-all without the block of a rank for
// itself. Averages are arithmetic. GEMMs alone are those of the scenarios, each once.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"
#include "cortado/study.hpp"
#include "cortado/target.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "gemm/gemm.hpp"
#include "plan/c3.hpp"
#include "reproduce/published/scenarios.hpp"
#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

constexpr const char* kConCclScenarios = "conccl";
constexpr std::array kFewerUnits{0U, 8U, 32U, 64U};
constexpr std::array kConCclCollectiveUnits{8U, 16U, 32U, 64U, 128U};
constexpr std::array<Collective, 2> kConCclCollectives{"all-gather", "all-to-all"};
constexpr double kSaturated = 1.05;  // of the time with the most units

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// By its name; auto is the row to use.
const OverlapRow* row_of(const OverlapReport& report, const std::string& strategy) {
  return report.row(strategy == kAutoStrategy ? report.choice : strategy);
}

/// As in the paper: the longer of GEMM and library collective.
Nanoseconds published_ideal(const OverlapReport& report) {
  return std::max(report.gemm_alone, report.comm_alone);
}

double published_share(const OverlapReport& report, const OverlapRow& row) {
  return share_of_ideal(report.serial, published_ideal(report), row.time);
}

std::string bound_by(bool memory) {
  return memory ? "memory" : "compute";
}

Result<OverlapProblem> problem_for(const published::OverlapScenario& scenario) {
  CORTADO_ASSIGN_OR_RETURN(const DType dtype, parse_dtype(scenario.dtype));
  CORTADO_ASSIGN_OR_RETURN(const Collective name, find_collective(scenario.collective));
  CollectiveRequest collective{.collective = name, .bytes = scenario.bytes};
  collective.in_place = default_in_place(name, collective.variant);
  collective.own_block = name != "all-to-all";
  return OverlapProblem{.gemms = {{scenario.m, scenario.n, scenario.k, dtype}}, .collectives = {collective}};
}

/// A GEMM alone on ever fewer compute units.
struct Shrunk {
  GemmShape shape;
  std::vector<Nanoseconds> times;  ///< by kFewerUnits

  double loss(std::uint32_t fewer) const {  ///< percent
    const auto at = std::find(kFewerUnits.begin(), kFewerUnits.end(), fewer) - kFewerUnits.begin();
    return 100 * (microseconds(times[static_cast<std::size_t>(at)]) / microseconds(times[0]) - 1);
  }
};

/// A collective alone by number of compute units, by the faster of its kernels.
struct Saturation {
  CollectiveRequest request;
  std::vector<Nanoseconds> times;  ///< by kConCclCollectiveUnits

  std::uint32_t units() const {
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (microseconds(times[i]) <= kSaturated * microseconds(times.back())) return kConCclCollectiveUnits[i];
    }
    return kConCclCollectiveUnits.back();
  }
};

class Conccl {
 public:
  Conccl(const published::Publication&, const Machine& machine) : machine_(machine) {}

  std::vector<report::Table> own_tables() const { return {averages(), products(), collectives(), scenarios()}; }

  using Chosen = std::function<bool(const OverlapReport&)>;

  Status collect() {
    CORTADO_ASSIGN_OR_RETURN(scenarios_, published::load_scenarios(kConCclScenarios));
    for (const published::OverlapScenario& scenario : scenarios_) {
      CORTADO_ASSIGN_OR_RETURN(const OverlapProblem problem, problem_for(scenario));
      CORTADO_RETURN_IF_ERROR(check_gemm(problem.gemm(), machine_));
      problems_.push_back(problem);
      const auto known = [&](const Shrunk& one) { return one.shape == problem.gemm(); };
      if (std::none_of(products_.begin(), products_.end(), known)) products_.push_back({problem.gemm(), {}});
    }
    for (const Collective collective : kConCclCollectives) {
      Saturation one{};
      for (const OverlapProblem& problem : problems_) {
        const CollectiveRequest& candidate = problem.collective();
        if (candidate.collective == collective && candidate.bytes > one.request.bytes) one.request = candidate;
      }
      saturations_.push_back(std::move(one));
    }
    return {};
  }

  Outcome<void> simulate_all(const ReproduceOptions& options) {
    reports_.resize(problems_.size());
    const std::size_t all = reports_.size() + products_.size() + saturations_.size();
    return run_all(all, options, [&](std::size_t i) -> Outcome<void> {
      if (i < reports_.size()) {
        CORTADO_ASSIGN_OR_RETURN(reports_[i], study_overlap(problems_[i], machine_));
        return {};
      }
      i -= reports_.size();
      return i < products_.size() ? simulate_product(products_[i])
                                  : simulate_saturation(saturations_[i - products_.size()]);
    });
  }

  /// Units are withheld as policies do: from compute-bound GEMMs by a mask, which the library does not know
  /// when it chooses the kernel (c3-rp); from memory-bound ones by the choice of a kernel for the others (conccl-rp).
  Outcome<void> simulate_product(Shrunk& product) const {
    const bool tuned = is_memory_bound(product.shape, machine_);
    for (const std::uint32_t fewer : kFewerUnits) {
      const GemmUnits units{.count = machine_.compute_units - fewer, .tuned = tuned};
      auto program = plan_gemms({product.shape}, units, 1, machine_);
      const auto report = predict(std::move(program), machine_);
      if (!report) return fail(report.error());
      product.times.push_back(report->time);
    }
    return {};
  }

  Outcome<void> simulate_saturation(Saturation& saturation) const {
    for (const std::uint32_t units : kConCclCollectiveUnits) {
      std::optional<Nanoseconds> best;
      for (const VariantInfo& info : list_variants(saturation.request.collective)) {
        if (!info.on_cores || info.of_library || info.variant == kLibraryVariant) continue;
        CollectiveRequest request = saturation.request;
        request.variant = info.variant;
        request.compute_units = units;
        const auto report = predict(plan_collective(request, machine_), machine_);
        if (!report) return fail(report.error());
        if (!best || report->time < *best) best = report->time;
      }
      saturation.times.push_back(best.value_or(Nanoseconds{}));
    }
    return {};
  }

  /// Of the scenarios that are chosen and have the policy.
  std::vector<double> of_policy(const std::string& policy, const Chosen& chosen,
                                const std::function<double(const OverlapReport&, const OverlapRow&)>& value) const {
    std::vector<double> values;
    for (const OverlapReport& report : reports_) {
      if (!chosen(report)) continue;
      if (const OverlapRow* row = row_of(report, policy)) values.push_back(value(report, *row));
    }
    return values;
  }

  double share(const std::string& policy, const Chosen& chosen) const {
    return 100 * mean(of_policy(policy, chosen, published_share));
  }

  static bool every(const OverlapReport&) { return true; }

  double loss(bool memory_bound, std::uint32_t fewer) const {
    std::vector<double> losses;
    for (const Shrunk& product : products_) {
      if (is_memory_bound(product.shape, machine_) == memory_bound) losses.push_back(product.loss(fewer));
    }
    return mean(losses);
  }

  double figure_value(const std::string& name) const {
    const auto speedup = [](const OverlapReport&, const OverlapRow& row) { return row.speedup; };
    if (name.starts_with("share ")) return share(name.substr(6), every);
    if (name == "speed-up c3") return mean(of_policy("c3", every, speedup));
    if (name == "best conccl") {
      std::vector<double> all = of_policy("conccl", every, speedup);
      const std::vector<double> more = of_policy("conccl-rp", every, speedup);
      all.insert(all.end(), more.begin(), more.end());
      return *std::max_element(all.begin(), all.end());
    }
    if (name == "units compute-bound 32") return loss(false, 32);
    if (name == "units compute-bound 64") return loss(false, 64);
    if (name == "units memory-bound 8") return -loss(true, 8);
    if (name == "units all-gather") return saturations_[0].units();
    CORTADO_CHECK(name == "units all-to-all", "every figure of conccl.toml is computed here");
    return saturations_[1].units();
  }

  static std::vector<std::string> overlapping_policies() {
    std::vector<std::string> names;
    for (const Strategy& strategy : strategies()) {
      if (strategy.family == "C3" || strategy.family == "ConCCL") names.push_back(strategy.name);
    }
    names.emplace_back(kAutoStrategy);
    return names;
  }

  report::Table averages() const {
    const auto of_class = [](const char* name) {
      return [name](const OverlapReport& report) { return report.scenario == name; };
    };
    const std::vector<std::pair<std::string, Chosen>> groups{
        {"all", every},
        {"G-long", of_class("G-long")},
        {"C-long", of_class("C-long")},
        {"GC-equal", of_class("GC-equal")},
        {"compute-bound", [](const OverlapReport& report) { return !report.memory_bound; }},
        {"memory-bound", [](const OverlapReport& report) { return report.memory_bound; }},
        {"all-gather",
         [](const OverlapReport& report) { return report.problem.collective().collective == "all-gather"; }},
        {"all-to-all",
         [](const OverlapReport& report) { return report.problem.collective().collective == "all-to-all"; }}};
    report::Table table =
        report::own_table("averages", "Average share of ideal by class, %", {{"scenarios"}, {"number"}});
    const std::vector<std::string> policies = overlapping_policies();
    for (const std::string& policy : policies) table.columns.push_back(report::OwnColumn{policy, 1});
    for (const auto& [name, chosen] : groups) {
      auto& row = table.rows.emplace_back();
      row = {name, std::count_if(reports_.begin(), reports_.end(), chosen)};
      for (const std::string& policy : policies) row.emplace_back(share(policy, chosen));
    }
    return table;
  }

  report::Table products() const {
    report::Table table =
        report::own_table("products", "GEMMs alone on fewer compute units: time in us, and increase in %",
                          {{"GEMM"}, {"bound by"}, {"us", 1}});
    for (const std::uint32_t fewer : kFewerUnits) {
      if (fewer > 0) table.columns.push_back(report::OwnColumn{fmt::format("{} fewer", fewer), 1});
    }
    for (const Shrunk& product : products_) {
      auto& row = table.rows.emplace_back();
      row = {to_string(product.shape), bound_by(is_memory_bound(product.shape, machine_)),
             microseconds(product.times[0])};
      for (const std::uint32_t fewer : kFewerUnits) {
        if (fewer > 0) row.emplace_back(product.loss(fewer));
      }
    }
    return table;
  }

  report::Table collectives() const {
    report::Table table =
        report::own_table("collectives", "Collectives alone on compute units, us", {{"collective"}, {"size"}});
    for (const std::uint32_t units : kConCclCollectiveUnits)
      table.columns.push_back(report::OwnColumn{fmt::format("{} units", units)});
    for (const Saturation& one : saturations_) {
      auto& row = table.rows.emplace_back();
      row = {std::string(one.request.collective.name()), format_bytes(one.request.bytes)};
      for (const Nanoseconds time : one.times) row.emplace_back(microseconds(time));
    }
    return table;
  }

  report::Table scenarios() const {
    report::Table table =
        report::own_table("scenarios", "Every scenario: times alone in us, ideal speed-up, shares of ideal in %",
                          {{"scenario"}, {"class"}, {"bound by"}, {"GEMM"}, {"collective"}, {"ideal x", 2}});
    const std::vector<std::string> policies = overlapping_policies();
    for (const std::string& policy : policies) table.columns.push_back(report::OwnColumn{policy});
    for (std::size_t i = 0; i < reports_.size(); ++i) {
      const OverlapReport& report = reports_[i];
      auto& row = table.rows.emplace_back();
      row = {scenarios_[i].name,
             report.scenario,
             bound_by(report.memory_bound),
             microseconds(report.gemm_alone),
             microseconds(report.comm_alone),
             microseconds(report.serial) / microseconds(published_ideal(report))};
      for (const std::string& policy : policies) {
        const OverlapRow* found = row_of(report, policy);
        row.emplace_back(found == nullptr ? 0 : 100 * published_share(report, *found));
      }
    }
    return table;
  }

 private:
  const Machine& machine_;
  std::vector<published::OverlapScenario> scenarios_;
  std::vector<OverlapProblem> problems_;  // of scenarios_
  std::vector<OverlapReport> reports_;    // of scenarios_
  std::vector<Shrunk> products_;          // without repetition
  std::vector<Saturation> saturations_;   // of kConCclCollectives
};

}  // namespace

Outcome<report::Reproduction> reproduce_conccl(const published::Publication& publication, const Machine& machine,
                                               const ReproduceOptions& options) {
  // Published GEMMs lose all that the missing units would have done (17 % with 32 of 304 fewer): their clock did not
  // rise, so the board was not at its cap.
  Machine fixed = machine;
  fixed.clock = ClockMode::fixed;
  return reproduce_cases<Conccl>(publication, fixed, options);
}

}  // namespace cortado::pipeline
