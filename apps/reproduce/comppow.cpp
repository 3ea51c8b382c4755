// CompPow (arXiv 2605.21847): GEMMs and all-gathers of language models, alone and at once, under power-management
// policies; and the rates that long GEMMs sustain under the cap of the board.
//
// The all-gather runs on GPU cores, as in a library. Averages are arithmetic, over the scenarios; performance is
// the inverse of time.
#include <algorithm>
#include <array>
#include <map>

#include "cortado/program.hpp"
#include "cortado/study.hpp"

#include "base/check.hpp"
#include "plan/choose.hpp"
#include "reproduce/published/scenarios.hpp"
#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

/// Tiles of 256 x 256 fill 304 compute units twice, and k is long: nearly all of the time is multiplication. Ours.
constexpr GemmShape kLongProduct{4864, 8192, 16384};
constexpr std::array kSustained{DType::f16, DType::bf16, DType::f8};

double performance(const report::PowerChange& change) {
  return 100 * (1 / (1 + change.time / 100) - 1);
}

class CompPow {
 public:
  CompPow(const published::Publication&, const Machine& machine) : machine_(machine) {}

  std::vector<report::Table> own_tables() const { return {changes(), draws(), sustained()}; }

  Status collect() {
    CORTADO_ASSIGN_OR_RETURN(scenarios_, published::load_scenarios("comppow"));
    for (const published::OverlapScenario& scenario : scenarios_) {
      PowerRequest request;
      CORTADO_ASSIGN_OR_RETURN(const DType dtype, parse_dtype(scenario.dtype));
      request.gemm = GemmShape{scenario.m, scenario.n, scenario.k, dtype};
      request.collective = CollectiveRequest{.collective = find_collective(scenario.collective).value(),
                                             .variant = kCoresVariants,
                                             .bytes = scenario.bytes};
      request.collective->in_place = default_in_place(request.collective->collective, kCoresVariants);
      requests_.push_back(std::move(request));
    }
    for (const DType dtype : kSustained) {
      PowerRequest request;
      request.gemm = kLongProduct;
      request.gemm->dtype = dtype;
      request.ranks = 1;  // all GPUs do the same
      requests_.push_back(std::move(request));
    }
    return {};
  }

  Outcome<void> simulate_all(const ReproduceOptions& options) {
    reports_.resize(requests_.size());
    return run_all(requests_.size(), options, [&](std::size_t i) -> Outcome<void> {
      PowerOptions power;
      power.policies.emplace();
      for (const sim::PowerPolicy* policy : sim::power_policies()) {
        const bool needed = i < scenarios_.size() || policy == &sim::kNoPowerPolicy;
        if (needed) power.policies->push_back(policy);
      }
      CORTADO_ASSIGN_OR_RETURN(reports_[i], study_power(requests_[i], machine_, power));
      return {};
    });
  }

  const report::PowerRow& row(std::size_t report, std::string_view what, std::string_view policy) const {
    const report::PowerRow* found = reports_[report].row(what, policy);
    CORTADO_CHECK(found != nullptr, "every scenario has every row");
    return *found;
  }

  template <class Value>
  double average(std::string_view what, std::string_view policy, const Value& value) const {
    double sum = 0;
    for (std::size_t i = 0; i < scenarios_.size(); ++i) sum += value(*row(i, what, policy).change);
    return sum / static_cast<double>(scenarios_.size());
  }

  const report::PowerRow& long_product(DType dtype) const {
    const auto place = std::find(kSustained.begin(), kSustained.end(), dtype) - kSustained.begin();
    return row(scenarios_.size() + static_cast<std::size_t>(place), "gemm", "none");
  }

  double figure_value(const std::string& name) const {
    std::map<std::string, std::function<double()>> figures{
        {"all-gather energy",
         [&] { return average("collective", "component-cap", [](const auto& change) { return change.energy; }); }},
        {"all-gather time",
         [&] { return average("collective", "component-cap", [](const auto& change) { return change.time; }); }},
        {"gemm shift", [&] { return average("gemm", "component-shift", performance); }},
        {"both shift", [&] { return average("both", "component-shift", performance); }},
        {"idle", [&] { return machine_.power->idle_w(); }}};
    for (const DType dtype : kSustained) {
      figures["clock " + std::string(to_string(dtype))] = [&, dtype] { return (*long_product(dtype).clocks_ghz)[0]; };
      figures["rate " + std::string(to_string(dtype))] = [&, dtype] { return *long_product(dtype).tflops; };
    }
    const auto found = figures.find(name);
    CORTADO_CHECK(found != figures.end(), "every figure of comppow.toml is computed here");
    return found->second();
  }

  static constexpr std::array<std::string_view, 3> kCases{"gemm", "collective", "both"};
  static constexpr std::array<std::string_view, 3> kManaged{"uniform-cap", "component-cap", "component-shift"};

  report::Table changes() const {
    report::Table table =
        report::own_table("changes", "Time and energy relative to no policy, %", {{"scenario"}, {"what"}});
    for (const std::string_view policy : kManaged) {
      table.columns.push_back(report::OwnColumn{std::string(policy) + " time", 1});
      table.columns.push_back(report::OwnColumn{std::string(policy) + " energy", 1});
    }
    for (std::size_t i = 0; i < scenarios_.size(); ++i) {
      for (const std::string_view what : kCases) {
        auto& cells = table.rows.emplace_back();
        cells = {scenarios_[i].name, std::string(what)};
        for (const std::string_view policy : kManaged) {
          const report::PowerChange& change = *row(i, what, policy).change;
          cells.emplace_back(change.time);
          cells.emplace_back(change.energy);
        }
      }
    }
    return table;
  }

  report::Table draws() const {
    report::Table table = report::own_table(
        "draws", "Without a policy: mean watts per GPU by component, and the clock of the compute dies",
        {{"scenario"}, {"what"}, {"time us", 1}, {"W"}});
    for (const std::string_view component : kComponentNames)
      table.columns.push_back(report::OwnColumn{std::string(component)});
    table.columns.push_back(report::OwnColumn{"xcd GHz", 3});
    for (std::size_t i = 0; i < scenarios_.size(); ++i) {
      for (const std::string_view what : kCases) {
        const report::PowerRow& none = row(i, what, "none");
        auto& cells = table.rows.emplace_back();
        cells = {scenarios_[i].name, std::string(what), none.time_us(), none.use.watts()};
        for (const Component component : kComponents) cells.emplace_back(none.use.watts(component));
        cells.emplace_back((*none.clocks_ghz)[0]);
      }
    }
    return table;
  }

  report::Table sustained() const {
    report::Table table = report::own_table("sustained", "Long GEMMs under the cap of the board",
                                            {{"GEMM"}, {"xcd GHz", 3}, {"TFLOP/s", 1}, {"W"}, {"peak W"}});
    for (const DType dtype : kSustained) {
      const report::PowerRow& product = long_product(dtype);
      GemmShape shape = kLongProduct;
      shape.dtype = dtype;
      table.rows.push_back(
          {to_string(shape), (*product.clocks_ghz)[0], *product.tflops, product.use.watts(), *product.peak_w});
    }
    return table;
  }

 private:
  const Machine& machine_;
  std::vector<published::OverlapScenario> scenarios_;
  std::vector<PowerRequest> requests_;        // of scenarios_, then of kSustained
  std::vector<report::PowerReport> reports_;  // of requests_
};

}  // namespace

Outcome<report::Reproduction> reproduce_comppow(const published::Publication& publication, const Machine& machine,
                                                const ReproduceOptions& options) {
  return reproduce_cases<CompPow>(publication, machine, options);
}

}  // namespace cortado::pipeline
