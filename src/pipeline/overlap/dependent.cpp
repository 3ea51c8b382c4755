#include "cortado/pipeline/dependent.hpp"

#include <algorithm>

#include "cortado/base/check.hpp"
#include "cortado/pipeline/overlap.hpp"
#include "cortado/sim/simulate.hpp"

#include "pipeline/overlap/dependent_parts.hpp"
#include "pipeline/overlap/study.hpp"

namespace cortado::pipeline {
namespace {

constexpr FiccoSchedule kSerial{.grain = Grain::whole};

Result<std::vector<FiccoSchedule>> schedules_of(const DependentOptions& options) {
  std::vector<FiccoSchedule> schedules;
  for (const FiccoScheduleInfo& info : list_schedules()) {
    const bool usual = info.published || info.schedule.grain != Grain::chunks;
    if (options.schedules.empty() && usual) schedules.push_back(info.schedule);
  }
  for (const std::string& name : options.schedules) {
    CORTADO_ASSIGN_OR_RETURN(schedules.emplace_back(), find_schedule(name));
  }
  for (FiccoSchedule& schedule : schedules) {
    if (schedule.grain == Grain::chunks) schedule.chunks = options.chunks;
  }
  return schedules;
}

/// Nothing was planned for a reason that lies in this one schedule.
bool concerns_schedule(const Diagnostic& reason) {
  return reason.code == "ficco.chunks" || reason.code == "ficco.panels" || reason.code == "ficco.memory";
}

class Study {
 public:
  Study(const DependentRequest& request, const Machine& machine, const DependentOptions& options, Times kind,
        TimeProgram time)
      : machine_(machine), options_(options), kind_(kind), time_(std::move(time)) {
    report_.request = request;
    if (request.ranks == 0) report_.request.ranks = machine.gpus;
    report_.simulated = kind == Times::simulated;
  }

  Outcome<DependentReport> run() {
    if (const Status checked = check(); !checked) return fail_at(Stage::plan, checked.error());
    std::vector<TimeOne> jobs{
        [this] { return time_planned(plan_product(whole_, {}, report_.request.ranks, machine_), machine_, time_); },
        [this] { return time_schedule(kSerial, serial_); }};
    const std::size_t alone = jobs.size();
    plans_.resize(schedules_.size());
    for (std::size_t i = 0; i < schedules_.size(); ++i) {
      if (schedules_[i].grain == Grain::whole) {  // timed already
        jobs.push_back([] { return OverlapTimes{}; });
      } else {
        jobs.push_back([this, i] { return time_schedule(schedules_[i], plans_[i]); });
      }
    }
    const auto times = time_all(jobs, kind_, options_.threads, options_.progress);
    if (!times) return tl::unexpected(times.error());
    for (std::size_t i = 0; i < alone; ++i) {
      if (!(*times)[i]) return tl::unexpected((*times)[i].error());
    }
    const OverlapTimes& serial = *(*times)[1];
    set_basis(*(*times)[0], serial);
    for (std::size_t i = 0; i < schedules_.size(); ++i) {
      const Outcome<OverlapTimes>& result = (*times)[alone + i];
      const bool whole = schedules_[i].grain == Grain::whole;
      if (result) {
        add_row(schedules_[i], whole ? serial_ : plans_[i], whole ? serial : *result);
        continue;
      }
      const Diagnostic& reason = result.error().errors.front();
      if (!concerns_schedule(reason)) return tl::unexpected(result.error());
      report_.skipped.push_back({name_of(schedules_[i]), reason});
    }
    if (report_.rows.empty()) return fail_at(Stage::plan, report_.skipped.front().reason);
    choose();
    return std::move(report_);
  }

 private:
  /// What a row needs of a plan.
  struct Planned {
    Bytes footprint{};
    Bytes staging{};
    std::uint32_t steps = 0;
    double pieces_seconds = 0;
  };

  Status check() {
    if (report_.request.dependence != Dependence::collective_first) {
      return fail("overlap.dependence",
                  "collectives that take away what a product makes are planned, but not compared yet",
                  "ask for a product of what the collective brings");
    }
    CORTADO_ASSIGN_OR_RETURN(schedules_, schedules_of(options_));
    CORTADO_ASSIGN_OR_RETURN(const FiccoPlan serial, plan_ficco(report_.request, kSerial, machine_));
    whole_ = largest_product(serial.program);
    return check_memory(serial);
  }

  /// Of this computer, where it is really run.
  Status check_memory(const FiccoPlan& plan) const {
    if (kind_ == Times::simulated) return {};
    const std::uint32_t ranks = report_.request.ranks;
    return check_host_memory(static_cast<double>(plan.footprint.value) * ranks, ranks);
  }

  Outcome<OverlapTimes> time_schedule(const FiccoSchedule& schedule, Planned& planned) const {
    auto plan = plan_ficco(report_.request, schedule, machine_);
    if (!plan) return fail_at(Stage::plan, plan.error());
    planned = {plan->footprint, plan->staging, plan->steps, seconds_of_products(plan->program, machine_)};
    if (const Status fits = check_memory(*plan); !fits) return fail_at(Stage::plan, fits.error());
    return time_planned(std::move(plan->program), machine_, time_);
  }

  void set_basis(const OverlapTimes& gemm, const OverlapTimes& serial) {
    const GemmShape& asked = report_.request.gemm;
    report_.gemm = to_string(whole_);
    report_.collective = report_.request.collective;
    report_.bytes = size_of(asked.dtype) * asked.m * asked.k;
    report_.ranks = report_.request.ranks;
    report_.machine = machine_.name;
    report_.gemm_alone = gemm.time;
    report_.comm_alone = serial.comm;
    report_.serial = serial.time;
    report_.ideal = std::max(gemm.time, serial.comm);
    report_.scenario = overlap_class(gemm.time, serial.comm);
    report_.memory_bound = is_memory_bound(whole_, machine_);
  }

  void add_row(const FiccoSchedule& schedule, const Planned& planned, const OverlapTimes& times) {
    report::DependentRow row;
    row.schedule = name_of(schedule);
    row.chunks = planned.steps;
    row.time = times.time;
    row.speedup = ratio(report_.serial, times.time);
    row.share_of_ideal = report::share_of_ideal(report_.serial, report_.ideal, times.time);
    row.gemm = times.gemm;
    row.comm = times.comm;
    row.exposed = std::max(times.time - report_.gemm_alone, Nanoseconds{});
    row.dil = planned.pieces_seconds / serial_.pieces_seconds;
    row.footprint = planned.footprint;
    row.staging = planned.staging;
    row.hbm_bytes = times.hbm_bytes;
    row.wrong = times.wrong;
    if (times.contention) {
      row.cil_gemm = times.contention->gemm();
      row.cil_comm = times.contention->comm();
    }
    report_.rows.push_back(std::move(row));
    report_.schedules.push_back(schedule);
  }

  void choose() {
    const auto best =
        std::min_element(report_.rows.begin(), report_.rows.end(),
                         [](const report::DependentRow& a, const report::DependentRow& b) { return a.time < b.time; });
    report_.choice = best->schedule;
    report_.reason = dependent_reason(report_);
  }

  const Machine& machine_;
  const DependentOptions& options_;
  const Times kind_;
  const TimeProgram time_;
  GemmShape whole_;
  std::vector<FiccoSchedule> schedules_;
  std::vector<Planned> plans_;  // of schedules_; every one is written by one thread
  Planned serial_;
  DependentReport report_;
};

}  // namespace

const FiccoSchedule& DependentReport::chosen() const {
  const report::DependentRow* best = row(choice);
  CORTADO_CHECK(best != nullptr, "the choice is one of the rows");
  return schedules[static_cast<std::size_t>(best - rows.data())];
}

Outcome<DependentReport> simulate_dependent(const DependentRequest& request, const Machine& machine,
                                            const DependentOptions& options) {
  if (const Status timed = sim::check_timing(machine); !timed) return fail_at(Stage::plan, timed.error());
  const auto& times = options.contention ? simulated_times_and_contention : simulated_times;
  auto report = Study(request, machine, options, Times::simulated, times).run();
  if (report) report->where = "simulated " + machine.name;
  return report;
}

Outcome<DependentReport> run_dependent(const DependentRequest& request, const Machine& machine, device::Driver& driver,
                                       const RunSettings& settings, const DependentOptions& options) {
  auto report = Study(request, machine, options, Times::measured, measured_times(driver, settings)).run();
  if (report) describe_run(*report, driver, settings);
  return report;
}

}  // namespace cortado::pipeline
