#include "pipeline/overlap/study.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/check.hpp"
#include "cortado/plan/choose.hpp"

#include "pipeline/overlap/objective.hpp"

namespace cortado::pipeline {
namespace {

constexpr double kEqualWithin = 1.15;
constexpr double kLevelWithin = 1.001;
constexpr const char* kAutoPolicy = "auto";

/// The names asked for, each known; in their order.
Result<std::vector<std::string>> policies_of(const OverlapOptions& options) {
  std::vector<std::string> names = options.policies;
  for (const std::string& name : names) CORTADO_RETURN_IF_ERROR(check_policy(name));
  if (!names.empty()) return names;
  for (const PolicyInfo& info : list_policies()) names.push_back(info.name);
  return names;
}

Status check_units(const std::optional<std::uint32_t>& units, const char* whose, const Machine& machine) {
  if (!units || (*units > 0 && *units <= machine.compute_units)) return {};
  return fail("c3.compute_units",
              fmt::format("{} compute units for the {} on GPUs that have {}", *units, whose, machine.compute_units),
              fmt::format("give 1 to {}, or leave them out", machine.compute_units));
}

/// Nothing was decided for a reason that does not lie in this one policy.
bool concerns_policy(const Diagnostic& reason) {
  return reason.code == "c3.variant" || reason.code == "c3.partition" || reason.code.starts_with("plan.");
}

class OverlapStudy {
 public:
  OverlapStudy(const OverlapRequest& request, const Machine& machine, const OverlapOptions& options, Times times,
               const TimeProgram& time)
      : machine_(machine), options_(options), time_(time), cost_(simulated_overlap_cost(machine)) {
    report_.request = request;
    report_.simulated = times == Times::simulated;
  }

  Outcome<OverlapReport> run() {
    if (const Status checked = check(); !checked) return fail_at(Stage::plan, checked.error());
    const Times kind = report_.simulated ? Times::simulated : Times::measured;
    const auto times = time_all(baselines_and_policies(), kind, options_.threads, options_.progress);
    if (!times) return tl::unexpected(times.error());
    for (std::size_t i = 0; i < kBaselines; ++i) {
      if (!(*times)[i]) return tl::unexpected((*times)[i].error());
    }
    const OverlapTimes& serial = *(*times)[2];
    set_baseline(*(*times)[0], *(*times)[1], serial);
    for (std::size_t i = 0; i < policies_.size(); ++i) {
      const Outcome<OverlapTimes>& result = (*times)[kBaselines + i];
      if (result) {
        add_row(policies_[i], *ways_[i], ways_[i]->order == LaunchOrder::serial ? serial : *result);
        continue;
      }
      const Diagnostic& reason = result.error().errors.front();
      if (!concerns_policy(reason)) return tl::unexpected(result.error());
      report_.skipped.push_back({policies_[i], reason});
    }
    if (report_.simulated) confirm_auto();
    drop_what_nobody_asked_for();
    if (report_.rows.empty()) return fail_at(Stage::plan, report_.skipped.front().reason);
    choose();
    return std::move(report_);
  }

 private:
  static constexpr std::size_t kBaselines = 3;

  /// The product alone, the collective alone, one after the other: what all compare with. Then each policy.
  std::vector<TimeOne> baselines_and_policies() {
    std::vector<TimeOne> jobs{
        [this] { return time_planned(plan_product(report_.request.gemm, {}, baseline_.collective.ranks, machine_)); },
        [this] {
          CollectiveRequest alone = baseline_.collective;
          alone.host = HostThreads::per_rank;
          return time_planned(plan_collective(alone, machine_));
        },
        [this] { return time_planned(plan_overlap(report_.request, baseline_, machine_)); }};
    CORTADO_CHECK(jobs.size() == kBaselines, "policies come behind the baselines");
    ways_.resize(policies_.size());
    for (std::size_t i = 0; i < policies_.size(); ++i) jobs.push_back([this, i] { return time_policy(i); });
    return jobs;
  }

  Status check() {
    const Times kind = report_.simulated ? Times::simulated : Times::measured;
    CORTADO_RETURN_IF_ERROR(check_objective(options_.objective, machine_, kind));
    CORTADO_ASSIGN_OR_RETURN(policies_, policies_of(options_));
    asked_for_ = policies_.size();
    if (report_.simulated && std::ranges::count(policies_, kAutoPolicy) > 0) {  // it is compared with all others
      for (const PolicyInfo& info : list_policies()) {
        if (std::ranges::count(policies_, info.name) == 0) policies_.push_back(info.name);
      }
    }
    CORTADO_RETURN_IF_ERROR(check_units(options_.gemm_units, "product", machine_));
    CORTADO_RETURN_IF_ERROR(check_units(options_.comm_units, "collective", machine_));
    auto way = choose_way("serial", report_.request, machine_, *cost_);
    if (!way && way.error().code == "c3.variant") {  // no library does it: plain copies, then
      OverlapWay copies;
      copies.collective = report_.request.collective;
      copies.collective.variant = "pcpy";
      copies.collective.ranks = copies.collective.ranks == 0 ? machine_.gpus : copies.collective.ranks;
      way = copies;
    }
    CORTADO_ASSIGN_OR_RETURN(baseline_, std::move(way));
    // A program that does not fit is not a matter of policies.
    CORTADO_RETURN_IF_ERROR(plan_overlap(report_.request, baseline_, machine_));
    return {};
  }

  Outcome<OverlapTimes> time_planned(Result<Program> program) const {
    return pipeline::time_planned(std::move(program), machine_, time_);
  }

  auto cost() const {
    return [this](const report::OverlapRow& row) { return cost_of(row, options_.objective); };
  }

  /// `auto` chose by a model that is fast, not exact, and knows times only; where the simulator finds another policy
  /// better, it does as that.
  void confirm_auto() {
    const auto first = report_.rows.begin();
    const auto itself = std::ranges::find(report_.rows, kAutoPolicy, &report::OverlapRow::policy);
    if (itself == report_.rows.end()) return;
    const auto best = std::ranges::min_element(report_.rows, {}, cost());
    if (cost()(*itself) <= cost()(*best)) return;
    OverlapWay& way = report_.ways[static_cast<std::size_t>(itself - first)];
    way = report_.ways[static_cast<std::size_t>(best - first)];
    way.why = fmt::format("as {}: {}", best->policy, way.why);
    *itself = *best;
    itself->policy = kAutoPolicy;
    itself->why = way.why;
  }

  void drop_what_nobody_asked_for() {
    const auto asked = [this](const std::string& policy) {
      const auto end = policies_.begin() + static_cast<std::ptrdiff_t>(asked_for_);
      return std::find(policies_.begin(), end, policy) != end;
    };
    for (std::size_t i = report_.rows.size(); i-- > 0;) {
      if (asked(report_.rows[i].policy)) continue;
      report_.rows.erase(report_.rows.begin() + static_cast<std::ptrdiff_t>(i));
      report_.ways.erase(report_.ways.begin() + static_cast<std::ptrdiff_t>(i));
    }
    std::erase_if(report_.skipped, [&](const report::SkippedWay& skipped) { return !asked(skipped.name); });
  }

  /// What a policy decides. Measured times are noise to `auto`: it decides by simulated ones.
  Outcome<OverlapWay> way_of(const std::string& policy) const {
    if (policy == kAutoPolicy && !report_.simulated) {
      auto predicted = simulate_overlap(report_.request, machine_, {.policies = {policy}});
      if (!predicted) return tl::unexpected(predicted.error());
      return predicted->ways.front();
    }
    auto way = choose_way(policy, report_.request, machine_, *cost_);
    if (!way) return fail_at(Stage::plan, way.error());
    return *std::move(way);
  }

  Outcome<OverlapTimes> time_policy(std::size_t i) {
    if (!ways_[i]) {  // the first round; every one by one thread
      auto way = way_of(policies_[i]);
      if (!way) return tl::unexpected(way.error());
      if (way->order != LaunchOrder::serial) {
        if (options_.gemm_units) way->gemm_units = *options_.gemm_units;
        if (options_.comm_units && way->on_cores()) way->collective.compute_units = *options_.comm_units;
      }
      ways_[i] = *std::move(way);
    }
    if (ways_[i]->order == LaunchOrder::serial) return OverlapTimes{};  // the baseline, which is timed once
    return time_planned(plan_overlap(report_.request, *ways_[i], machine_));
  }

  void set_baseline(const OverlapTimes& gemm, const OverlapTimes& comm, const OverlapTimes& serial) {
    gemm_alone_ = gemm.gemm;
    comm_alone_ = comm.comm;
    const OverlapRequest& request = report_.request;
    report_.gemm = to_string(request.gemm);
    report_.collective = request.collective.collective.name();
    report_.bytes = request.collective.bytes;
    report_.ranks = baseline_.collective.ranks;
    report_.machine = machine_.name;
    set_times(report_, gemm.time, comm.time, serial.time);
    report_.memory_bound = is_memory_bound(request.gemm, machine_);
  }

  void add_row(const std::string& policy, const OverlapWay& way, const OverlapTimes& times) {
    const auto units = [&](std::uint32_t given) { return given == 0 ? machine_.compute_units : given; };
    report::OverlapRow row;
    row.policy = policy;
    row.variant = way_name(way.collective);
    fill_row(row, report_, times);
    const bool serial = way.order == LaunchOrder::serial;
    row.gemm_slowdown = ratio(times.gemm, gemm_alone_);
    row.comm_slowdown = ratio(serial ? times.comm - times.gemm : times.comm, comm_alone_);
    row.gemm_units = units(way.gemm_units);
    row.comm_units = way.on_cores() ? units(way.collective.compute_units) : 0;
    row.why = way.why;
    report_.rows.push_back(std::move(row));
    report_.ways.push_back(way);
  }

  void choose() {
    // Of those that are level the first: it is the simplest.
    const double least = cost()(*std::ranges::min_element(report_.rows, {}, cost()));
    const auto best = std::ranges::find_if(
        report_.rows, [&](const report::OverlapRow& row) { return cost()(row) <= kLevelWithin * least; });
    const std::vector<NamedRow> rows = named_rows(report_.rows, &report::OverlapRow::policy);
    add_cap_note(report_, rows, machine_);
    report_.objective = options_.objective;
    report_.choice = best->policy;
    report_.reason = options_.objective == report::Objective::time ? overlap_reason(report_)
                                                                   : energy_reason(rows, *best, options_.objective);
  }

  const Machine& machine_;
  const OverlapOptions& options_;
  const TimeProgram& time_;
  std::unique_ptr<OverlapCost> cost_;
  std::vector<std::string> policies_;
  std::size_t asked_for_ = 0;  // the first of policies_
  OverlapWay baseline_;
  Nanoseconds gemm_alone_{};  // begin to the end of the product, without what the host does then
  Nanoseconds comm_alone_{};
  std::vector<std::optional<OverlapWay>> ways_;  // of policies_
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

const OverlapWay& OverlapReport::chosen() const {
  const report::OverlapRow* best = row(choice);
  CORTADO_CHECK(best != nullptr, "the choice is one of the rows");
  return ways[static_cast<std::size_t>(best - rows.data())];
}

double ratio(Nanoseconds over, Nanoseconds under) {
  return under.value == 0 ? 0 : static_cast<double>(over.value) / static_cast<double>(under.value);
}

void set_times(report::OverlapBasis& basis, Nanoseconds gemm, Nanoseconds comm, Nanoseconds serial) {
  basis.gemm_alone = gemm;
  basis.comm_alone = comm;
  basis.serial = serial;
  basis.ideal = std::max(gemm, comm);
  basis.scenario = overlap_class(gemm, comm);
}

void fill_row(report::WayRow& row, const report::OverlapBasis& basis, const OverlapTimes& times) {
  row.time = times.time;
  row.speedup = ratio(basis.serial, times.time);
  row.share_of_ideal = report::share_of_ideal(basis.serial, basis.ideal, times.time);
  row.gemm = times.gemm;
  row.comm = times.comm;
  row.hbm_bytes = times.hbm_bytes;
  row.wrong = times.wrong;
  row.energy = times.energy;
}

Outcome<OverlapReport> study_overlap(const OverlapRequest& request, const Machine& machine,
                                     const OverlapOptions& options, Times times, const TimeProgram& time) {
  return OverlapStudy(request, machine, options, times, time).run();
}

}  // namespace cortado::pipeline
