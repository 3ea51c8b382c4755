#include "cortado/study.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "base/check.hpp"
#include "gemm/gemm.hpp"
#include "pipeline/choose.hpp"
#include "pipeline/parallel.hpp"
#include "pipeline/power/over_time.hpp"
#include "pipeline/power/settled.hpp"
#include "plan/choose.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::pipeline {
namespace {

constexpr std::uint32_t kLeastIterations = 20;  // of programs that are short against a control interval
constexpr double kSamples = 400;                ///< of power over time: a picture cannot show more

/// One program, alone or both at once, and how often it is repeated.
struct Case {
  std::string what;
  VerifiedProgram program;
  std::uint32_t iterations = 0;
  std::optional<Nanoseconds> sample{};  ///< of power over time; none: not asked for
  std::optional<ArbitrationPolicy> arbitration{};
};

/// None: clocks are not managed.
using Policy = const sim::PowerPolicy*;

/// Without a cap, nothing keeps GEMMs from their highest clock.
Machine uncapped(Machine machine) {
  if (machine.power) machine.power->cap_w = std::numeric_limits<double>::infinity();
  return machine;
}

class PowerStudy {
 public:
  PowerStudy(const PowerRequest& request, const Machine& machine, const PowerOptions& options)
      : request_(request), machine_(options.managed ? machine : uncapped(machine)), options_(options) {}

  Outcome<report::PowerReport> run() {
    if (const Status checked = check(); !checked) return fail_at(Stage::plan, checked.error());
    auto programs = plan();
    if (!programs) return fail(programs.error());
    total_ = programs->size() * (1 + policies_.size());
    if (const auto prepared = prepare(*std::move(programs)); !prepared) return fail(prepared.error());
    if (const auto simulated = simulate_rows(); !simulated) return fail(simulated.error());
    describe();
    return std::move(report_);
  }

 private:
  Status check() {
    if (!request_.gemm && !request_.collective) {
      return fail("power.request", "no GEMM and no collective given", "pass one of them, or both");
    }
    CORTADO_RETURN_IF_ERROR(sim::check_timing(machine_));
    if (!options_.managed) return check_unmanaged();
    CORTADO_RETURN_IF_ERROR(sim::check_power_management(management(&sim::kNoPowerPolicy), machine_));
    policies_ = {&sim::kNoPowerPolicy};
    if (options_.policies) {
      for (Policy policy : *options_.policies) {
        CORTADO_RETURN_IF_ERROR(sim::check_power_management(management(policy), machine_));
        if (policy != &sim::kNoPowerPolicy) policies_.push_back(policy);
      }
    } else {
      for (Policy policy : sim::power_policies()) {
        if (policy == &sim::kNoPowerPolicy) continue;
        Status possible = sim::check_power_management(management(policy), machine_);
        const bool usual_limit = policy->has_limit && !options_.limit_w;
        if (!possible && possible.error().about != About::machine && !usual_limit) return possible;
        if (possible) policies_.push_back(policy);
        if (!possible) report_.skipped.push_back({std::string(policy->name), possible.error()});
      }
    }
    const auto by_component = [](Policy policy) { return !policy->components.empty(); };
    if (options_.components && std::ranges::none_of(policies_, by_component)) {
      return sim::check_power_management({.policy = policies_.back(), .components = options_.components}, machine_);
    }
    if (options_.limit_w && limited_policy() == nullptr) {
      return sim::check_power_management({policies_.back(), options_.cap_w, options_.limit_w}, machine_);
    }
    return {};
  }

  Status check_unmanaged() {
    const auto asks = [](Policy policy) { return policy != &sim::kNoPowerPolicy; };
    const bool policies = options_.policies && std::ranges::any_of(*options_.policies, asks);
    if (policies || options_.cap_w || options_.limit_w || options_.components) {
      return fail("power.unmanaged", "clocks are not managed, but a policy, cap, limit or component was given",
                  "drop these, or drop --cap none");
    }
    CORTADO_RETURN_IF_ERROR(sim::check_power(machine_));
    policies_ = {nullptr};
    return {};
  }

  /// The requested policy that has a limit; nullptr if there is none.
  Policy limited_policy() const {
    const auto found = std::ranges::find_if(policies_, [](Policy policy) { return policy && policy->has_limit; });
    return found == policies_.end() ? nullptr : *found;
  }

  sim::PowerManagement management(Policy policy) const {
    sim::PowerManagement management{policy, options_.cap_w, {}};
    if (policy->has_limit) management.limit_w = options_.limit_w;
    if (!sim::managed_components(management).empty()) management.components = options_.components;
    return management;
  }

  struct Planned {
    std::string what;
    Program program;
    std::optional<ArbitrationPolicy> arbitration{};
  };

  Outcome<std::vector<Planned>> plan() {
    std::optional<CollectiveRequest> collective;
    auto programs = plan_alone(collective);
    if (!programs) return fail_at(Stage::plan, programs.error());
    if (const Status fits = check_lowest_clocks(); !fits) return fail_at(Stage::plan, fits.error());
    if (!request_.gemm || !collective) return *std::move(programs);
    if (request_.strategy.empty()) {
      auto both = plan_overlap({.gemms = {*request_.gemm}, .collectives = {*collective}, .ranks = collective->ranks},
                               way_at_once({*collective}), machine_);
      if (!both) return fail_at(Stage::plan, both.error());
      programs->push_back({"both", *std::move(both)});
    } else {
      auto both = plan_strategy(problem(), machine_, request_.strategy, request_.knobs, options_.threads);
      if (!both) return fail(both.error());
      report_.strategy = both->name;
      programs->push_back({"both", std::move(both->program), both->arbitration});
    }
    return *std::move(programs);
  }

  /// No policy keeps a GEMM within a cap or a limit that it exceeds even there.
  Status check_lowest_clocks() const {
    if (!request_.gemm || !options_.managed) return {};
    const GemmShape& shape = *request_.gemm;
    const GemmModel model(shape, choose_tiling(shape, machine_, machine_.compute_units), machine_);
    const double least = least_gemm_watts(model, machine_, machine_.compute_units);
    const double cap = options_.cap_w.value_or(machine_.power->cap_w);
    CORTADO_RETURN_IF_ERROR(check_least_watts("this GEMM draws", least, "cap", cap));
    if (!options_.limit_w) return {};
    return check_least_watts("this GEMM draws", least, "limit", *options_.limit_w);
  }

  /// The strategy decides how the collective runs.
  OverlapProblem problem() const {
    CollectiveRequest collective;
    collective.collective = request_.collective->collective;
    collective.bytes = request_.collective->bytes;
    collective.own_block = request_.collective->own_block;
    collective.in_place = default_in_place(collective.collective, collective.variant);
    return {.relation = request_.relation,
            .gemms = {*request_.gemm},
            .collectives = {collective},
            .ranks = request_.ranks,
            .tokens = request_.tokens};
  }

  /// Each alone; sets the collective if there is one.
  Result<std::vector<Planned>> plan_alone(std::optional<CollectiveRequest>& collective) {
    std::vector<Planned> programs;
    std::uint32_t ranks = request_.ranks == 0 ? machine_.gpus : request_.ranks;
    if (ranks > machine_.gpus) {
      return fail("plan.ranks",
                  fmt::format("{} ranks requested on {}, which has {} GPUs", ranks, machine_.name, machine_.gpus),
                  fmt::format("use 1 to {} ranks", machine_.gpus));
    }
    if (request_.collective) {
      CollectiveRequest asked = *request_.collective;
      if (request_.gemm && request_.relation != Relation::independent) {
        CORTADO_ASSIGN_OR_RETURN(const OverlapProblem whole, check_problem(problem(), machine_));
        asked = whole.collective();
        asked.variant = request_.collective->variant;
        asked.in_place = default_in_place(asked.collective, asked.variant);
      }
      CORTADO_ASSIGN_OR_RETURN(collective, settled(asked));
      ranks = collective->ranks;
    }
    if (request_.gemm) {
      CORTADO_ASSIGN_OR_RETURN(Program product, plan_gemms({*request_.gemm}, {}, ranks, machine_));
      programs.push_back({"gemm", std::move(product)});
    }
    if (collective) {
      CORTADO_ASSIGN_OR_RETURN(Program alone, plan_collective(*collective, machine_));
      programs.push_back({"collective", std::move(alone)});
    }
    return programs;
  }

  /// With its final variant and number of ranks.
  Result<CollectiveRequest> settled(CollectiveRequest collective) {
    collective.host = HostThreads::per_rank;
    if (collective.ranks == 0) collective.ranks = machine_.gpus;
    if (collective.variant == kCoresVariants) {
      CORTADO_RETURN_IF_ERROR(list_candidates({.base = collective, .among = {kCoresVariants}}));
      const auto cost = simulated_cost(machine_);
      CORTADO_ASSIGN_OR_RETURN(collective, library_collective(collective, machine_, *cost));
    }
    report_.collective = collective.collective.name();
    report_.bytes = collective.bytes;
    report_.variant = way_name(collective);
    return collective;
  }

  /// Proves the programs and simulates each once, to know how often it must be repeated.
  Outcome<void> prepare(std::vector<Planned> programs) {
    std::vector<std::optional<Outcome<Case>>> prepared(programs.size());
    const auto work = [&](std::size_t i) {
      prepared[i] = prepared_case(std::move(programs[i]), i + 1 == programs.size() && options_.over_time);
    };
    if (auto done = in_parallel(programs.size(), 0, work); !done) return done;
    for (auto& one : prepared) {
      if (!*one) return fail(one->error());
      cases_.push_back(**std::move(one));
    }
    return {};
  }

  Outcome<Case> prepared_case(Planned planned, bool over_time) const {
    auto verified = prove(std::move(planned.program), machine_);
    if (!verified) return fail(verified.error());
    const auto once = target_->run(*verified, {.sim = {.arbitration = planned.arbitration}});
    if (!once) return fail(once.error());
    const double time = std::max(to_seconds(once->time), 1e-9);
    Case made{planned.what, *std::move(verified)};
    made.arbitration = planned.arbitration;
    made.iterations = settled_iterations(time, *machine_.power, kLeastIterations);
    if (over_time) made.sample = Nanoseconds{std::max(1LL, std::llround(1e9 * time * made.iterations / kSamples))};
    return made;
  }

  Outcome<void> simulate_rows() {
    std::vector<std::optional<Outcome<report::PowerRow>>> rows(cases_.size() * policies_.size());
    const auto work = [&](std::size_t i) {
      rows[i] = simulated_row(cases_[i / policies_.size()], policies_[i % policies_.size()]);
    };
    if (auto done = in_parallel(rows.size(), cases_.size(), work); !done) return done;
    for (auto& row : rows) {
      if (!*row) return fail(row->error());
      report_.rows.push_back(**std::move(row));
    }
    for (report::PowerRow& row : report_.rows) {
      const report::PowerRow* none = report_.row(row.what, sim::kNoPowerPolicy.name);
      if (none != nullptr) row.change = change_of(row.use, none->use);
    }
    return {};
  }

  static report::PowerChange change_of(const EnergyUse& use, const EnergyUse& from) {
    const auto percent = [](double now, double before) { return before == 0 ? 0 : 100 * (now / before - 1); };
    return {percent(use.seconds, from.seconds), percent(use.joules(), from.joules())};
  }

  Outcome<report::PowerRow> simulated_row(const Case& what, Policy policy) const {
    RunOptions options{.iterations = what.iterations};
    if (policy) options.sim.manage = management(policy);
    options.sim.power_samples = what.sample;
    options.sim.arbitration = what.arbitration;
    const auto report = target_->run(what.program, options);
    if (!report) return fail(report.error());
    const Timeline& timeline = report->timeline;
    report::PowerRow row;
    row.what = what.what;
    row.policy = policy ? policy->name : "unmanaged";
    row.iterations = what.iterations;
    row.use = settled_use(timeline);
    if (const auto& clocks = report->predicted->clocks) {
      row.clocks_ghz = clocks->mean_ghz;
      row.peak_w = clocks->peak_w;
      const double interval = to_seconds(what.program.machine().power->control_interval);
      row.above_cap = clocks->longest_above_cap > interval * (1 + 1e-9);
    }
    if (request_.gemm && row.what != "collective") row.tflops = flops(*request_.gemm) / row.use.seconds / 1e12;
    if (what.sample) row.over_time = power_over_time(timeline);
    return row;
  }

  /// Calls work(0) to work(count - 1) on all threads; `before` counts what was done already.
  template <class Work>
  Outcome<void> in_parallel(std::size_t count, std::size_t before, const Work& work) const {
    const bool all = for_each_in_parallel(count, options_.threads, work, [&](std::size_t done) {
      return !options_.progress || options_.progress(before + done, total_);
    });
    if (!all) return fail_at(Stage::run, {"power.interrupted", "interrupted before it was finished", ""});
    return {};
  }

  void describe() {
    if (request_.gemm) report_.gemm = to_string(*request_.gemm);
    report_.ranks = cases_.front().program.program().ranks;
    report_.machine = machine_.name;
    report_.where = "simulated " + machine_.name;
    report_.idle_w = machine_.power->idle_w();
    if (!options_.managed) return;
    report_.cap_w = options_.cap_w.value_or(machine_.power->cap_w);
    if (const Policy limited = limited_policy()) {
      report_.limit_w = sim::watts_allowed(management(limited), *machine_.power);
    }
  }

  const PowerRequest& request_;
  const Machine machine_;
  const PowerOptions& options_;
  const std::unique_ptr<Target> target_ = simulator();
  std::vector<Policy> policies_;  // nullptr: clocks are not managed
  std::vector<Case> cases_;
  std::size_t total_ = 0;
  report::PowerReport report_;
};

}  // namespace

Outcome<report::PowerReport> study_power(const PowerRequest& request, const Machine& machine,
                                         const PowerOptions& options) {
  return PowerStudy(request, machine, options).run();
}

}  // namespace cortado::pipeline
