#include "cortado/pipeline/dependent.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "cortado/base/check.hpp"
#include "cortado/pipeline/choose_schedule.hpp"
#include "cortado/pipeline/overlap.hpp"
#include "cortado/sim/simulate.hpp"

#include "pipeline/overlap/dependent_parts.hpp"
#include "pipeline/overlap/objective.hpp"
#include "pipeline/overlap/study.hpp"

namespace cortado::pipeline {
namespace {

/// A schedule by the name that it was asked for.
struct NamedSchedule {
  std::string name;
  FiccoSchedule schedule;
  std::optional<ChosenBy> chosen_by{};  ///< of kAutoSchedule
};

Result<NamedSchedule> open_schedule(const DependentRequest& request, const Machine& machine,
                                    const DependentOptions& options) {
  CORTADO_RETURN_IF_ERROR(
      check_auto(options.means, options.schedules.size() == 1 ? options.chunks : 0, options.exchange));
  CORTADO_ASSIGN_OR_RETURN(const ScheduleChoice choice, ScheduleChooser().choose(request, machine));
  return NamedSchedule{kAutoSchedule, choice.schedule, choice.by};
}

Result<std::vector<NamedSchedule>> schedules_of(const DependentRequest& request, const Machine& machine,
                                                const DependentOptions& options) {
  std::vector<NamedSchedule> schedules;
  if (options.schedules.empty()) {
    for (const FiccoSchedule& schedule : usual_schedules()) schedules.push_back({name_of(schedule), schedule, {}});
  }
  const auto has = [&](std::string_view name) { return std::ranges::count(options.schedules, name) > 0; };
  if (has(kAutoSchedule) && !has("serial")) schedules.push_back({"serial", kSerial, {}});
  for (const std::string& name : options.schedules) {
    if (name == kAutoSchedule) {
      CORTADO_ASSIGN_OR_RETURN(schedules.emplace_back(), open_schedule(request, machine, options));
    } else {
      CORTADO_ASSIGN_OR_RETURN(const FiccoSchedule schedule, find_schedule(name));
      schedules.push_back({name, schedule, {}});
    }
  }
  for (auto& [name, schedule, chosen_by] : schedules) {
    if (schedule.grain == Grain::chunks && schedule.chunks == 0) schedule.chunks = options.chunks;
    schedule.means = options.means;
    if (schedule.grain != Grain::whole) schedule.exchange = options.exchange;
  }
  return schedules;
}

class DependentStudy {
 public:
  DependentStudy(const DependentRequest& request, const Machine& machine, const DependentOptions& options, Times kind,
                 TimeProgram time)
      : machine_(machine), options_(options), kind_(kind), time_(std::move(time)), roomy_(machine) {
    report_.request = request;
    if (request.ranks == 0) report_.request.ranks = machine.gpus;
    report_.simulated = kind == Times::simulated;
  }

  Outcome<DependentReport> run() {
    if (const Status checked = check(); !checked) return fail_at(Stage::plan, checked.error());
    std::vector<TimeOne> jobs{
        [this] { return time_planned(plan_product(whole_, {}, report_.request.ranks, roomy_), roomy_, time_); },
        [this] { return time_schedule(serial_schedule(), roomy_, serial_); }};
    const std::size_t alone = jobs.size();
    plans_.resize(schedules_.size());
    for (std::size_t i = 0; i < schedules_.size(); ++i) {
      if (is_serial(i)) {  // timed already
        jobs.push_back([this]() -> Outcome<OverlapTimes> {
          if (serial_refused_) return fail_at(Stage::plan, *serial_refused_);
          return OverlapTimes{};
        });
      } else {
        jobs.push_back([this, i] { return time_schedule(schedules_[i].schedule, machine_, plans_[i]); });
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
      if (result) {
        add_row(schedules_[i], is_serial(i) ? serial_ : plans_[i], is_serial(i) ? serial : *result);
        continue;
      }
      const Diagnostic& reason = result.error().errors.front();
      if (!concerns_schedule(reason)) return tl::unexpected(result.error());
      report_.skipped.push_back({schedules_[i].name, reason});
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

  bool is_serial(std::size_t i) const { return schedules_[i].schedule.grain == Grain::whole; }
  bool product_first() const { return report_.request.dependence == Dependence::product_first; }

  FiccoSchedule serial_schedule() const {
    FiccoSchedule serial = kSerial;
    serial.means = options_.means;
    return serial;
  }

  Status check() {
    CORTADO_RETURN_IF_ERROR(check_objective(options_.objective, machine_, kind_));
    CORTADO_ASSIGN_OR_RETURN(schedules_, schedules_of(report_.request, machine_, options_));
    auto serial = plan_ficco(report_.request, serial_schedule(), roomy_);
    if (!serial && serial.error().code == "ficco.memory" && kind_ == Times::simulated) {
      serial_refused_ = serial.error();
      roomy_.memory_bytes = Bytes{std::numeric_limits<std::int64_t>::max()};
      serial = plan_ficco(report_.request, serial_schedule(), roomy_);
    }
    if (!serial) return tl::unexpected(serial.error());
    whole_ = largest_product(serial->program);
    return check_memory(*serial);
  }

  /// Of this computer, where it is really run.
  Status check_memory(const FiccoPlan& plan) const {
    if (kind_ == Times::simulated) return {};
    const std::uint32_t ranks = report_.request.ranks;
    return check_host_memory(static_cast<double>(plan.footprint.value) * ranks, ranks);
  }

  Outcome<OverlapTimes> time_schedule(const FiccoSchedule& schedule, const Machine& machine, Planned& planned) const {
    auto plan = plan_ficco(report_.request, schedule, machine);
    if (!plan) return fail_at(Stage::plan, plan.error());
    planned = {plan->footprint, plan->staging, plan->steps, seconds_of_products(plan->program, machine)};
    if (const Status fits = check_memory(*plan); !fits) return fail_at(Stage::plan, fits.error());
    return time_planned(std::move(plan->program), machine, time_);
  }

  void set_basis(const OverlapTimes& gemm, const OverlapTimes& serial) {
    report_.gemm = to_string(whole_);
    report_.collective = report_.request.collective.name();
    report_.product_first = product_first();
    report_.on_cores = options_.means == CollectiveMeans::cores;
    report_.bytes = travelling_bytes(report_.request);
    report_.ranks = report_.request.ranks;
    report_.machine = machine_.name;
    const Nanoseconds comm = product_first() ? std::max(serial.comm - serial.gemm, Nanoseconds{}) : serial.comm;
    set_times(report_, gemm.time, comm, serial.time);
    // Sums and copies of own rows run on the units that multiply: however well it overlaps, these do one after the
    // other.
    const Nanoseconds sums = product_first() ? std::max(serial.comm - serial.sent, Nanoseconds{}) : Nanoseconds{};
    report_.ideal = std::max(gemm.time + sums, comm - sums);
    report_.memory_bound = is_memory_bound(whole_, machine_);
    if (serial_refused_) {
      report_.note = fmt::format(
          "serial needs more memory than a GPU of {} has: what the others are compared with is its time on such GPUs "
          "with enough memory",
          machine_.name);
    }
  }

  void add_row(const NamedSchedule& named, const Planned& planned, const OverlapTimes& times) {
    report::DependentRow row;
    row.schedule = named.name;
    if (named.chosen_by) {
      row.chosen = full_name(named.schedule);
      row.chosen_by = name_of(*named.chosen_by);
    }
    row.chunks = planned.steps;
    fill_row(row, report_, times);
    row.exposed = std::max(times.time - report_.gemm_alone, Nanoseconds{});
    row.dil = planned.pieces_seconds / serial_.pieces_seconds;
    row.footprint = planned.footprint;
    row.staging = planned.staging;
    if (times.contention) {
      row.cil_gemm = times.contention->gemm();
      row.cil_comm = times.contention->comm();
    }
    report_.rows.push_back(std::move(row));
    report_.schedules.push_back(named.schedule);
  }

  void choose() {
    const auto best = std::ranges::min_element(
        report_.rows, {}, [this](const report::DependentRow& row) { return cost_of(row, options_.objective); });
    const std::vector<NamedRow> rows = named_rows(report_.rows, &report::DependentRow::schedule);
    add_cap_note(report_, rows, machine_);
    report_.objective = options_.objective;
    report_.choice = best->schedule;
    report_.reason = options_.objective == report::Objective::time ? dependent_reason(report_)
                                                                   : energy_reason(rows, *best, options_.objective);
  }

  const Machine& machine_;
  const DependentOptions& options_;
  const Times kind_;
  const TimeProgram time_;
  Machine roomy_;                             // with memory for one after the other
  std::optional<Diagnostic> serial_refused_;  // on the machine itself
  GemmShape whole_;
  std::vector<NamedSchedule> schedules_;
  std::vector<Planned> plans_;  // of schedules_; every one is written by one thread
  Planned serial_;
  DependentReport report_;
};

}  // namespace

std::string full_name(const FiccoSchedule& schedule) {
  const std::string name = name_of(schedule);
  return schedule.grain == Grain::chunks ? fmt::format("{}/{}", name, schedule.chunks) : name;
}

std::string_view name_of(ChosenBy by) {
  return by == ChosenBy::heuristic ? "heuristic" : "search";
}

Status check_auto(CollectiveMeans means, std::uint32_t chunks, ExchangeVariant exchange) {
  if (means != CollectiveMeans::dma) {
    return fail("ficco.schedule", "auto chooses among schedules whose bytes DMA engines move",
                "name the schedules whose bytes compute units shall move");
  }
  if (chunks != 0) {
    return fail("ficco.schedule", fmt::format("auto chooses the number of chunks, too; {} are asked for", chunks),
                "leave the number out, or name the schedules that are to be cut so far");
  }
  if (exchange != ExchangeVariant::automatic && exchange != ExchangeVariant::pcpy) {
    return fail("ficco.schedule", fmt::format("auto knows how long plain copies take, not {}", name_of(exchange)),
                "leave the exchange out, or name the schedules whose steps it shall carry");
  }
  return {};
}

const FiccoSchedule& DependentReport::chosen() const {
  const report::DependentRow* best = row(choice);
  CORTADO_CHECK(best != nullptr, "the choice is one of the rows");
  return schedules[static_cast<std::size_t>(best - rows.data())];
}

Outcome<DependentReport> simulate_dependent(const DependentRequest& request, const Machine& machine,
                                            const DependentOptions& options) {
  if (const Status timed = sim::check_timing(machine); !timed) return fail_at(Stage::plan, timed.error());
  auto report = DependentStudy(request, machine, options, Times::simulated,
                               options.contention ? traced_times_and_contention : traced_times)
                    .run();
  if (report) report->where = "simulated " + machine.name;
  return report;
}

Outcome<DependentReport> run_dependent(const DependentRequest& request, const Machine& machine, device::Driver& driver,
                                       const RunSettings& settings, const DependentOptions& options) {
  auto report = DependentStudy(request, machine, options, Times::measured, measured_times(driver, settings)).run();
  if (report) describe_run(*report, driver, settings);
  return report;
}

}  // namespace cortado::pipeline
