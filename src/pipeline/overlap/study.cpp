#include <algorithm>
#include <limits>
#include <mutex>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "pipeline/choose.hpp"
#include "pipeline/overlap/asked.hpp"
#include "pipeline/overlap/basis.hpp"
#include "pipeline/overlap/ideal.hpp"
#include "pipeline/overlap/planned.hpp"
#include "pipeline/overlap/reasons.hpp"
#include "pipeline/overlap/study_cost.hpp"
#include "pipeline/overlap/times.hpp"
#include "plan/overlap.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::pipeline {
namespace {

constexpr double kEqualWithin = 1.15;

/// Whether the failure lies in one strategy: nothing was planned, or not within the limits of the machine, or trackers
/// run out. What is wrong with the problem itself the GEMM and the collective alone would have told.
bool concerns_strategy(const Failure& failure) {
  const std::string& code = failure.errors.front().code;
  return failure.stage == Stage::plan || code == "verify.machine" || code == "sim.stall";
}

/// Every proof and every simulation copies the machine; where its numbers come from is most of it.
Machine without_provenance(Machine machine) {
  machine.provenance.clear();
  return machine;
}

class OverlapStudy {
 public:
  OverlapStudy(const OverlapProblem& problem, const Machine& machine, Target& target, const OverlapOptions& options)
      : machine_(without_provenance(machine)),
        roomy_(machine_),
        target_(target),
        options_(options),
        cost_(machine_, rows_of_search(problem)),
        costs_(strategy_costs(cost_, machine_)),
        basis_(machine_, roomy_, cost_, costs_) {
    report_.problem = problem;
    report_.simulated = target.predicts();
    const auto named = [&](std::string_view name) { return std::ranges::count(options.strategies, name) > 0; };
    report_.among_requested = options.strategies.size() > 1 && !named(kAutoStrategy) && !named(kAllStrategies);
  }

  Outcome<OverlapReport> run() {
    if (const Status checked = check(); !checked) return fail_at(Stage::plan, checked.error());
    std::vector<TimeOne> jobs;  // of the basis, then of asked_
    for (const Basis::Part& part : basis_.parts()) {
      jobs.push_back([this, part] { return timed(*part.program, *part.machine, {}, false); });
    }
    const std::size_t basis = jobs.size();
    plans_.resize(asked_.size());
    std::vector<std::optional<std::size_t>> job_of(asked_.size());
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      if (!asked_[i].has_program()) continue;
      job_of[i] = jobs.size();
      jobs.push_back([this, i] { return time_strategy(i); });
    }
    const auto times = time_all(jobs, report_.simulated, options_.threads, options_.progress);
    if (!times) return fail(times.error());
    std::vector<OverlapTimes> of_basis;
    for (std::size_t i = 0; i < basis; ++i) {
      if (!(*times)[i]) return fail((*times)[i].error());
      of_basis.push_back(*(*times)[i]);
    }
    basis_.take(of_basis);
    report_basis();
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      if (!job_of[i]) {
        add_computed(asked_[i]);
      } else if (const auto& timed = (*times)[*job_of[i]]; timed) {
        add_row(*plans_[i], *timed);
      } else if (!concerns_strategy(timed.error())) {
        return fail(timed.error());
      } else {
        report_.skipped.push_back({asked_[i].name, timed.error().errors.front()});
      }
    }
    leave_out_slow_kernels();
    const bool planned = std::ranges::any_of(report_.rows, [](const OverlapRow& row) { return !row.bound; });
    if (!planned && !report_.skipped.empty()) return fail_at(Stage::plan, report_.skipped.front().reason);
    choose();
    return std::move(report_);
  }

 private:
  const OverlapProblem& problem() const { return report_.problem; }
  bool independent() const { return problem().relation == Relation::independent; }
  OverlapQuestion question(const StrategyKnobs& knobs = {}) const { return {problem(), machine_, costs_, knobs}; }

  // --- What is asked -------------------------------------------------------------------------------------------------

  Status check() {
    if (options_.objective != report::Objective::time) {
      if (!report_.simulated) {
        return fail("overlap.objective",
                    fmt::format("strategies cannot be ranked by {} on a device: energy is not measured there",
                                name_of(options_.objective)),
                    "predict with --on sim, or rank by time");
      }
      CORTADO_RETURN_IF_ERROR(sim::check_power(machine_));
    }
    auto checked = check_problem(problem(), machine_);
    if (!checked && checked.error().code == "gemm.memory" && !independent() && report_.simulated) {
      serial_refused_ = checked.error();
      roomy_.memory_bytes = Bytes{std::numeric_limits<std::int64_t>::max()};
      checked = check_problem(problem(), roomy_);
    }
    if (!checked) return fail(checked.error());
    report_.problem = *std::move(checked);
    CORTADO_RETURN_IF_ERROR(check_units());
    CORTADO_ASSIGN_OR_RETURN(asked_, find_asked(problem(), machine_, options_, report_.skipped));
    // What is measured varies too much to say which rows are of interest.
    if (!report_.simulated) std::erase_if(asked_, [](const Asked& one) { return one.is_direct() && !one.by_name; });
    const auto any = [&](std::string_view name) {
      return std::ranges::any_of(asked_, [&](const Asked& asked) { return asked.is(name); });
    };
    return basis_.plan(problem(), !report_.simulated,
                       {.in_memory = any("ideal-rs+nmc"), .direct = any("serial-direct")});
  }

  Status check_units() const {
    for (const auto& [cus, whose] :
         {std::pair{options_.knobs.gemm_cus, "GEMM"}, {options_.knobs.comm_cus, "collective"}}) {
      if (!cus || (*cus > 0 && *cus <= machine_.compute_units)) continue;
      return fail(
          "c3.compute_units",
          fmt::format("{} compute units requested for the {}, but GPUs have {}", *cus, whose, machine_.compute_units),
          fmt::format("use 1 to {}, or leave it out", machine_.compute_units));
    }
    return {};
  }

  // --- Times ---------------------------------------------------------------------------------------------------------

  TimeOptions times_of_rows(Relation relation) const {
    return {.by_command = relation != Relation::independent, .run = options_.run};
  }

  /// Rows that a search may share its simulations with: searches compare single iterations on the plain simulator.
  std::optional<TimeOptions> rows_of_search(const OverlapProblem& problem) const {
    const sim::SimulateOptions& sim = options_.run.sim;
    const bool alike = target_.predicts() && !options_.contention && options_.run.iterations == 1 &&
                       !options_.run.watts && !options_.run.on_stage && !sim.sharing.local && !sim.manage &&
                       !sim.progress;
    return alike ? std::optional(times_of_rows(problem.relation)) : std::nullopt;
  }

  Outcome<OverlapTimes> timed(ProvedOnce& program, const Machine& machine, std::optional<ArbitrationPolicy> arbitration,
                              bool contention) const {
    const Outcome<VerifiedProgram>& proof = program.proof(machine);
    if (!proof) return fail(proof.error());
    if (!arbitration) {
      if (auto times = cost_.times_of(proof->program())) return *std::move(times);
    }
    TimeOptions options = times_of_rows(problem().relation);
    options.contention = contention;
    options.arbitration = arbitration;
    return time_program(target_, *proof, options);
  }

  Outcome<OverlapTimes> time_strategy(std::size_t i) {
    if (!plans_[i]) {  // the first round; every one by one thread
      const Asked& asked = asked_[i];
      auto planned = asked.named.strategy ? asked.named.strategy->plan(question(asked.named.knobs))
                                          : plan_searched(question(), asked.searched);
      if (!planned) return fail_at(Stage::plan, planned.error());
      plans_[i].emplace(*std::move(planned));
    }
    Planned& plan = *plans_[i];
    if (!report_.simulated && plan.overlap.name == "t3-mca") {
      return fail_at(Stage::plan, {"overlap.machine", "the device has no memory arbitration", "predict with --on sim"});
    }
    if (!report_.simulated) {
      const Status fits = check_memory(plan.overlap.footprint, problem().ranks);
      if (!fits) return fail_at(Stage::plan, fits.error());
    }
    return report_.simulated ? predicted_once(plan) : timed(plan.program, machine_, plan.overlap.arbitration, false);
  }

  /// Strategies may come to the same program: conccl-rp does what conccl does unless the memory bounds the GEMM.
  Outcome<OverlapTimes> predicted_once(Planned& plan) {
    const auto same = [&](const Predicted& other) {
      return other.plan->overlap.arbitration == plan.overlap.arbitration &&
             other.plan->program.program() == plan.program.program();
    };
    {
      const std::scoped_lock guard(lock_);
      const auto known = std::ranges::find_if(predicted_, same);
      if (known != predicted_.end()) return known->times;
    }
    auto times = timed(plan.program, machine_, plan.overlap.arbitration, options_.contention && plan.overlap.steps > 0);
    if (!times) return times;
    const std::scoped_lock guard(lock_);
    predicted_.push_back({&plan, *times});
    return times;
  }

  void report_basis() {
    report_.machine = machine_.name;
    report_.where = target_.where();
    if (report_.simulated) report_.clock = clock_text(machine_);
    report_.gemm_alone = basis_.gemm().time;
    report_.in_memory = basis_.in_memory();
    report_.overlappable = basis_.first().time;
    report_.behind = basis_.behind().dram.value_or(DramTraffic{});
    report_.comm_alone = basis_.library().time;
    report_.serial = basis_.serial().time;
    report_.ideal =
        report_.simulated
            ? predicted_ideal(problem(), machine_, costs_,
                              {basis_.gemm().time, basis_.first().time, basis_.behind().time, basis_.library().time})
            : std::max(basis_.gemm().time, basis_.first().time) + basis_.behind().time;
    report_.scenario = overlap_class(report_.gemm_alone, report_.comm_alone);
    report_.memory_bound =
        std::ranges::all_of(problem().gemms, [this](const GemmShape& gemm) { return is_memory_bound(gemm, machine_); });
    if (serial_refused_) {
      report_.note = fmt::format("serial does not fit in the memory of {}: its time assumes GPUs with enough memory",
                                 machine_.name);
    }
    if (!independent() && problem().collective().collective == "all-reduce") {
      OverlapTimes parts = basis_.gemm();
      add_behind(basis_.first(), parts);
      add_behind(basis_.behind(), parts);
      report_.in_parts = row_of(parts);
    }
    if (report_.simulated) return;
    report_.iterations = measured_iterations(options_.run.iterations);
    report_.note =
        "CUs and priorities have no effect on the embedded node, whose kernels and engines are threads; ideal is "
        "computed from GEMM and collective measured alone, so rows may beat it within the spread of measurements";
  }

  // --- Rows ----------------------------------------------------------------------------------------------------------

  OverlapRow row_of(const OverlapTimes& times) const {
    OverlapRow row;
    row.time = times.time;
    row.speedup = ratio(report_.serial, times.time);
    row.share_of_ideal = share_of_ideal(report_.serial, report_.ideal, times.time);
    row.exposed = std::max(times.time - report_.gemm_alone, Nanoseconds{});
    row.gemm = times.gemm;
    row.comm = times.comm;
    row.sent = times.sent;
    if (independent()) {
      row.gemm_slowdown = ratio(times.gemm, basis_.gemm().gemm);
      row.comm_slowdown = ratio(times.comm, basis_.first().comm);
    }
    row.hbm_bytes = times.hbm_bytes;
    row.dram = times.dram;
    row.tracker_entries_peak = times.tracker_entries_peak;
    row.tracker_wait = times.tracker_wait;
    row.wrong = times.wrong;
    row.energy = times.energy;
    if (times.contention) {
      row.cil_gemm = times.contention->gemm();
      row.cil_comm = times.contention->comm();
    }
    return row;
  }

  void describe(const PlannedOverlap& plan, OverlapRow& row) const {
    row.strategy = plan.name;
    row.how = plan.how;
    row.gemm_cus = plan.gemm_cus;
    row.comm_cus = plan.comm_cus;
    row.steps = plan.steps;
    row.footprint = plan.footprint;
    row.staging = plan.staging;
  }

  void add_row(const Planned& planned, OverlapTimes times) {
    const PlannedOverlap& plan = planned.overlap;
    add_behind(basis_.behind(), times);
    // What a search finds may be a row already, with other exchanges: the faster one stays.
    if (const auto known = std::ranges::find(report_.rows, plan.name, &OverlapRow::strategy);
        known != report_.rows.end()) {
      if (!report_.simulated || known->time <= times.time) return;
      planned_.erase(planned_.begin() + (known - report_.rows.begin()));
      report_.rows.erase(known);
    }
    OverlapRow row = row_of(times);
    describe(plan, row);
    if (plan.steps > 0 && basis_.gemm_seconds() > 0) {
      row.dil = seconds_of_gemms(planned.program.program(), machine_) / basis_.gemm_seconds();
    }
    report_.rows.push_back(std::move(row));
    planned_.push_back(&planned);
  }

  /// Direct kernels that nobody asked for are of interest where nothing else without overlap is as fast.
  void leave_out_slow_kernels() {
    const bool named = std::ranges::any_of(asked_, [](const Asked& one) { return one.is_direct() && one.by_name; });
    const OverlapRow* const direct = report_.row("serial-direct");
    if (named || direct == nullptr) return;
    const bool fastest = std::ranges::none_of(report_.rows, [&](const OverlapRow& row) {
      return &row != direct && row.strategy.starts_with("serial") && row.time <= direct->time;
    });
    if (fastest) return;
    const auto place = direct - report_.rows.data();
    report_.rows.erase(report_.rows.begin() + place);
    planned_.erase(planned_.begin() + place);
  }

  void add_direct(const Asked& asked) {
    if (report_.row(asked.name) != nullptr) return;
    if (serial_refused_) {
      report_.skipped.push_back({asked.name, *serial_refused_});
      return;
    }
    if (!basis_.direct()) {
      if (!asked.by_name) return;
      report_.skipped.push_back({asked.name,
                                 {.code = "overlap.collective",
                                  .message = "no direct kernels of the collective can be planned here",
                                  .hint = "use serial",
                                  .about = About::strategy}});
      return;
    }
    OverlapRow row = row_of(*basis_.direct());
    row.strategy = asked.named.strategy->name;
    row.how = "two programs, " + basis_.direct_variant();
    row.gemm_cus = machine_.compute_units;
    row.comm_cus = basis_.direct_cus();
    report_.rows.push_back(std::move(row));
    planned_.push_back(nullptr);
  }

  /// What follows from the basis: serial, serial-direct, or an ideal.
  void add_computed(const Asked& asked) {
    if (asked.is_direct()) return add_direct(asked);
    if (asked.is_serial() && serial_refused_) {
      report_.skipped.push_back({asked.name, *serial_refused_});
      return;
    }
    const Planned* const serial = asked.is_serial() ? basis_.serial_program() : nullptr;
    OverlapRow row;
    if (asked.is_serial()) {
      const OverlapTimes& times = basis_.serial();
      row = row_of(times);
      if (independent()) row.comm_slowdown = ratio(times.comm - times.gemm, basis_.first().comm);
      if (serial != nullptr) describe(serial->overlap, row);
      row.gemm_cus = machine_.compute_units;
      if (serial == nullptr) {
        row.how = "two programs";
        row.comm_cus = basis_.library_cus();
      }
    } else {
      // Memory that can add need not: it is a bound, too.
      const Nanoseconds in_memory = std::max(basis_.gemm().time, report_.in_memory) + basis_.behind().time;
      row = row_of({.time = asked.name == "ideal" ? report_.ideal : std::min(report_.ideal, in_memory)});
      row.bound = true;
    }
    row.strategy = asked.named.strategy->name;
    report_.rows.push_back(std::move(row));
    planned_.push_back(serial);
  }

  void choose() {
    const auto cost = [&](const OverlapRow& row) { return report::cost_of(row.time, row.energy, options_.objective); };
    const auto has_program = [&](const OverlapRow& row) {
      return !row.bound && (!options_.one_program || planned_[static_cast<std::size_t>(&row - report_.rows.data())]);
    };
    report_.objective = options_.objective;
    double least = std::numeric_limits<double>::infinity();
    for (const OverlapRow& row : report_.rows) {
      if (has_program(row)) least = std::min(least, cost(row));
    }
    // Of those that are level the first: it is the simplest.
    const auto best = std::ranges::find_if(
        report_.rows, [&](const OverlapRow& row) { return has_program(row) && cost(row) <= kLevelWithin * least; });
    add_cap_note(report_, machine_);
    if (best == report_.rows.end()) {
      report_.choice = report_.rows.front().strategy;
      report_.reason = "only ideal bounds were requested, which have no program";
      return;
    }
    report_.choice = best->strategy;
    report_.reason = overlap_reason(report_, *best);
    if (const Planned* plan = planned_[static_cast<std::size_t>(best - report_.rows.begin())]) {
      report_.chosen = std::make_shared<const PlannedOverlap>(plan->with_program());
    }
  }

  struct Predicted {
    const Planned* plan;  // of plans_
    OverlapTimes times;
  };

  const Machine machine_;
  Machine roomy_;                             // with memory for one after the other
  std::optional<Diagnostic> serial_refused_;  // on the machine itself
  Target& target_;
  const OverlapOptions& options_;
  const StudyCost cost_;
  const StrategyCosts costs_;
  Basis basis_;
  std::vector<Asked> asked_;
  std::vector<std::optional<Planned>> plans_;  // of asked_; every one is written by one thread
  std::mutex lock_;                            // of:
  std::vector<Predicted> predicted_;
  std::vector<const Planned*> planned_;  // of the report's rows; nullptr: no single program
  OverlapReport report_;
};

}  // namespace

std::string_view overlap_class(Nanoseconds gemm, Nanoseconds collective) {
  const auto longer = [](Nanoseconds a, Nanoseconds b) {
    return static_cast<double>(a.value) > kEqualWithin * static_cast<double>(b.value);
  };
  if (longer(gemm, collective)) return "G-long";
  return longer(collective, gemm) ? "C-long" : "GC-equal";
}

const OverlapRow* OverlapReport::row(std::string_view strategy) const {
  const auto exact = std::ranges::find(rows, strategy, &OverlapRow::strategy);
  if (exact != rows.end()) return &*exact;
  const auto named = std::ranges::find_if(rows, [&](const OverlapRow& row) {
    return std::string_view(row.strategy).substr(0, row.strategy.find('/')) == strategy;
  });
  return named == rows.end() ? nullptr : &*named;
}

Outcome<OverlapReport> study_overlap(const OverlapProblem& problem, const Machine& machine, Target& target,
                                     const OverlapOptions& options) {
  if (const Status timed = sim::check_timing(machine); !timed) return fail_at(Stage::plan, timed.error());
  return OverlapStudy(problem, machine, target, options).run();
}

Outcome<OverlapReport> study_overlap(const OverlapProblem& problem, const Machine& machine,
                                     const OverlapOptions& options) {
  const auto target = open_target({.name = std::string(kSimulator)}, machine);
  if (!target) return fail_at(Stage::plan, target.error());
  return study_overlap(problem, machine, **target, options);
}

}  // namespace cortado::pipeline
