#include "cortado/pipeline/fused.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "cortado/base/check.hpp"
#include "cortado/base/text.hpp"
#include "cortado/pipeline/choose_schedule.hpp"
#include "cortado/pipeline/dependent.hpp"
#include "cortado/pipeline/simulate.hpp"
#include "cortado/plan/c3.hpp"
#include "cortado/plan/collective.hpp"

#include "pipeline/overlap/objective.hpp"
#include "pipeline/overlap/study.hpp"

namespace cortado::pipeline {
namespace {

constexpr std::string_view kSequential = "sequential";
constexpr std::string_view kIdealOverlap = "ideal-overlap";
constexpr std::string_view kIdealNmc = "ideal-rs+nmc";
constexpr std::string_view kT3 = "t3";
constexpr std::string_view kT3Mca = "t3-mca";
constexpr std::string_view kFicco = "ficco";
constexpr std::string_view kC3 = "c3";

constexpr std::array kWays{
    FusedWay{kSequential, "the product, then the collective on compute units"},
    FusedWay{kIdealOverlap,
             "ideal: product and collective as they are alone, all but what comes behind a reduce-scatter hidden"},
    FusedWay{kIdealNmc, "ideal: the same with a reduce-scatter by adding memory"},
    FusedWay{kT3, "trackers count stores and release DMA, memory adds; product and communication in turn"},
    FusedWay{kT3Mca, "the same; the memory serves the product first (arbitration)"},
    FusedWay{kFicco, "DMA exchanges between all ranks, both cut into steps: the schedule that auto takes"},
    FusedWay{kC3, "two halves: the collective of the first on compute units beside the product of the second"}};

/// What C3 needs is a collective that is independent of the product beside it.
constexpr FiccoSchedule kHalves{.grain = Grain::chunks,
                                .shape = CommShape::rows_1d,
                                .uniform = true,
                                .fused = true,
                                .chunks = 2,
                                .means = CollectiveMeans::cores};

bool fully_linked(const Machine& machine, std::uint32_t ranks) {
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (std::uint32_t b = 0; b < ranks; ++b) {
      if (a != b && !machine.linked[a][b]) return false;
    }
  }
  return true;
}

bool reduces(Collective collective) {
  return collective == "reduce-scatter" || collective == "all-reduce";
}

/// The part that can overlap with the product.
Collective overlapping(const FusedRequest& request) {
  return request.collective == "all-reduce" ? Collective("reduce-scatter") : request.collective;
}

Bytes output_bytes(const GemmShape& gemm) {
  return size_of(gemm.dtype) * gemm.m * gemm.n;
}

/// Of the library's collective behind the product: bytes as CollectiveRequest counts them.
CollectiveRequest library_collective(const FusedRequest& request, Collective collective, const Machine& machine) {
  CollectiveRequest asked;
  asked.collective = collective;
  const bool ring = collective != "all-to-all" && !fully_linked(machine, request.ranks);
  asked.variant = ring ? "cores-ring" : "cores-simple";
  asked.bytes = output_bytes(request.gemm);
  // A shard of every rank is gathered; behind a reduce-scatter the shards are those of one output.
  if (request.collective == "all-gather") asked.bytes = asked.bytes * request.ranks;
  asked.ranks = request.ranks;
  asked.dtype = request.gemm.dtype;
  asked.in_place = default_in_place(asked.collective, asked.variant);
  return asked;
}

DependentRequest dependent_request(const FusedRequest& request) {
  DependentRequest dependent;
  dependent.gemm = request.gemm;
  dependent.collective = overlapping(request);
  dependent.dependence = Dependence::product_first;
  dependent.ranks = request.ranks;
  if (dependent.collective == "all-to-all") dependent.gemm.m *= request.ranks;  // of all ranks together
  return dependent;
}

struct Planned {
  Program program;
  std::string how;
  std::optional<OverlapTimes> predicted{};  ///< where several were compared
};

/// A plan of T3, with its predicted times if there were any.
struct TimedT3 {
  T3Plan plan;
  std::optional<OverlapTimes> predicted{};
};

Result<Planned> plan_schedule(const FusedRequest& request, const FiccoSchedule& schedule, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(FiccoPlan plan, plan_ficco(dependent_request(request), schedule, machine));
  return Planned{
      std::move(plan.program),
      fmt::format("{}{}", full_name(schedule), schedule.means == CollectiveMeans::cores ? ", compute units" : "")};
}

/// Of the algorithms that the machine can do, along rows and along columns, the one that is predicted to be fastest;
/// the planner's own choice where nothing can be predicted.
Result<TimedT3> plan_fastest_t3(const FusedRequest& request, std::string_view way, const Machine& machine) {
  T3Request asked;
  asked.gemm = request.gemm;
  asked.collective = overlapping(request);
  asked.ranks = request.ranks;
  asked.pieces = request.pieces;
  CORTADO_ASSIGN_OR_RETURN(T3Plan usual, plan_t3(asked, machine));
  TimedT3 chosen{std::move(usual), {}};
  if (!machine.timing) return chosen;
  const auto policy = policy_of(way, machine);
  for (const T3Preset& preset : list_t3_presets()) {
    if (preset.collective != asked.collective) continue;
    asked.algorithm = preset.algorithm;
    for (const T3Axis axis : {T3Axis::rows, T3Axis::columns}) {
      asked.axis = axis;
      auto plan = plan_t3(asked, machine);
      if (!plan) continue;
      const auto times = time_planned(plan->program, machine, traced_times_under(policy));
      if (!times || (chosen.predicted && times->time >= chosen.predicted->time)) continue;
      chosen = {*std::move(plan), *times};
    }
  }
  return chosen;
}

Result<Planned> plan_way(const FusedRequest& request, std::string_view way, const Machine& machine) {
  if (way == kT3 || way == kT3Mca) {
    CORTADO_ASSIGN_OR_RETURN(TimedT3 fastest, plan_fastest_t3(request, way, machine));
    const T3Plan& plan = fastest.plan;
    std::string how = fmt::format("{}, {} chunks of {} by {} pieces", plan.algorithm, plan.chunks,
                                  plan.axis == T3Axis::rows ? "rows" : "columns", plan.pieces);
    return Planned{std::move(fastest.plan.program), std::move(how), fastest.predicted};
  }
  if (way == kFicco) {
    CORTADO_ASSIGN_OR_RETURN(const ScheduleChoice choice,
                             ScheduleChooser().choose(dependent_request(request), machine));
    return plan_schedule(request, choice.schedule, machine);
  }
  if (way == kC3) return plan_schedule(request, kHalves, machine);
  CORTADO_ASSIGN_OR_RETURN(const FiccoSchedule schedule, find_schedule(way));
  return plan_schedule(request, schedule, machine);
}

/// Of the rows wanted, by the report's objective; nullptr if there is none.
template <class Wanted>
const report::FusedRow* best_row(const report::FusedReport& report, const Wanted& wanted) {
  const report::FusedRow* best = nullptr;
  for (const report::FusedRow& row : report.rows) {
    if (!wanted(row)) continue;
    if (best == nullptr || cost_of(row, report.objective) < cost_of(*best, report.objective)) best = &row;
  }
  return best;
}

/// Nothing was planned, or not within the limits of the machine, or it runs out of tracker entries: a reason that lies
/// in the way or in what the machine has. Of what is wrong with the request itself the product alone would have told.
bool concerns_way(const Failure& failure) {
  const std::string& code = failure.errors.front().code;
  return failure.stage == Stage::plan || code == "verify.machine" || code == "sim.stall";
}

class FusedStudy {
 public:
  FusedStudy(const FusedRequest& request, const Machine& machine, const FusedOptions& options, Times kind,
             TimeProgram measure)
      : machine_(machine), options_(options), kind_(kind), measure_(std::move(measure)) {
    report_.request = request;
    if (request.ranks == 0) report_.request.ranks = machine.gpus;
    report_.simulated = kind == Times::simulated;
  }

  Outcome<FusedReport> run() {
    if (const Status checked = check(); !checked) return fail_at(Stage::plan, checked.error());
    std::vector<TimeOne> jobs;
    const auto add = [&](TimeOne job) {
      jobs.push_back(std::move(job));
      return jobs.size() - 1;
    };
    const std::size_t gemm = add([this] { return time(plan_product(whole(), {}, ranks(), machine_), {}); });
    const std::size_t first = add([this] { return time_collective(overlapping(report_.request)); });
    std::optional<std::size_t> behind;
    if (report_.request.collective == "all-reduce") behind = add([this] { return time_collective("all-gather"); });
    std::optional<std::size_t> in_memory;
    if (wants(kIdealNmc)) in_memory = add([this] { return time_in_memory(); });
    std::vector<std::optional<std::size_t>> of_way(ways_.size());
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      if (has_program(ways_[i])) of_way[i] = add([this, i] { return time_way(i); });
    }
    const auto times = time_all(jobs, kind_, options_.threads, options_.progress);
    if (!times) return tl::unexpected(times.error());
    for (const std::size_t i : {gemm, first, behind.value_or(gemm)}) {
      if (!(*times)[i]) return tl::unexpected((*times)[i].error());
    }
    gemm_ = *(*times)[gemm];
    first_ = *(*times)[first];
    if (behind) behind_ = *(*times)[*behind];
    set_basis();
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      const auto job = of_way[i] ? of_way[i] : ways_[i] == kIdealNmc ? in_memory : std::nullopt;
      if (job && !(*times)[*job]) {
        const Failure& failure = (*times)[*job].error();
        if (!concerns_way(failure)) return tl::unexpected(failure);
        report_.skipped.push_back({ways_[i], failure.errors.front()});
        continue;
      }
      add_row(i, job ? &*(*times)[*job] : nullptr);
    }
    if (report_.rows.empty()) return fail_at(Stage::plan, report_.skipped.front().reason);
    choose();
    return std::move(report_);
  }

 private:
  static bool has_program(std::string_view way) {
    return way != kSequential && way != kIdealOverlap && way != kIdealNmc;
  }
  bool wants(std::string_view way) const { return std::ranges::count(ways_, way) > 0; }
  std::uint32_t ranks() const { return report_.request.ranks; }

  /// The product as a library runs it.
  GemmShape whole() const { return report_.request.gemm; }

  Status check() {
    CORTADO_RETURN_IF_ERROR(check_objective(options_.objective, machine_, kind_));
    if (report_.request.ranks < 2 || report_.request.ranks > machine_.gpus) {
      return fail("fused.ranks", fmt::format("{} ranks on the {} GPUs of {}", ranks(), machine_.gpus, machine_.name),
                  fmt::format("give 2 to {}", machine_.gpus));
    }
    static const std::vector<std::string> known{"all-gather", "all-reduce", "all-to-all", "reduce-scatter"};
    if (std::ranges::count(known, report_.request.collective.name()) == 0) {
      return fail("fused.collective", fmt::format("no way takes a product away by \"{}\"", report_.request.collective),
                  fmt::format("there are {}", join(known)));
    }
    for (const std::string& way : options_.ways) {
      if (way == kIdealSchedule) {
        ways_.emplace_back(kIdealOverlap);
        continue;
      }
      if (!is_fused_way(way) && !find_schedule(way)) {
        std::vector<std::string> names;
        for (const FusedWay& one : kWays) names.emplace_back(one.name);
        for (const FiccoScheduleInfo& info : list_schedules()) names.push_back(info.name);
        const std::string near = nearest_name(way, names);
        return fail(
            "ficco.schedule", fmt::format("unknown schedule '{}'", way),
            fmt::format("{}known: {}", near.empty() ? "" : fmt::format("did you mean {}? ", near), join(names)));
      }
      ways_.push_back(way);
    }
    if (ways_.empty()) {
      for (const FusedWay& way : kWays) ways_.emplace_back(way.name);
    }
    how_.resize(ways_.size());
    return {};
  }

  Outcome<OverlapTimes> time(Result<Program> program, std::optional<ArbitrationPolicy> policy) const {
    if (kind_ == Times::measured) return time_planned(std::move(program), machine_, measure_);
    return time_planned(std::move(program), machine_, traced_times_under(policy));
  }

  Outcome<OverlapTimes> time_collective(Collective collective) const {
    return time(plan_collective(library_collective(report_.request, collective, machine_), machine_), {});
  }

  Outcome<OverlapTimes> time_in_memory() const {
    if (kind_ == Times::measured || !reduces(report_.request.collective)) {
      return fail_at(Stage::plan, {"fused.way",
                                   kind_ == Times::measured ? "an ideal of hardware that this device has not got"
                                                            : "there is nothing to add",
                                   "leave it out"});
    }
    CollectiveRequest asked = library_collective(report_.request, "reduce-scatter", machine_);
    asked.variant = fully_linked(machine_, ranks()) ? "add" : "add-ring";
    asked.in_place = default_in_place(asked.collective, asked.variant);
    asked.host = HostThreads::per_rank;
    asked.prelaunch = true;  // T3 programs its engines ahead
    return time(plan_collective(asked, machine_), {});
  }

  Outcome<OverlapTimes> time_way(std::size_t i) {
    const std::string& way = ways_[i];
    if (way == kT3Mca && (kind_ == Times::measured || !machine_.timing->memory.arbitration)) {
      return fail_at(Stage::plan, {"fused.arbitration",
                                   fmt::format("{} has no memory_arbitration",
                                               kind_ == Times::measured ? "the device" : machine_.name),
                                   "give a machine with [arbitration]; what-if: add mca"});
    }
    auto planned = plan_way(report_.request, way, machine_);
    if (!planned) return fail_at(Stage::plan, planned.error());
    how_[i] = planned->how;
    if (kind_ == Times::simulated && planned->predicted) return *planned->predicted;
    return time(std::move(planned->program), policy_of(way, machine_));
  }

  void set_basis() {
    report_.gemm = to_string(report_.request.gemm);
    report_.collective = report_.request.collective.name();
    report_.bytes = output_bytes(report_.request.gemm);
    report_.ranks = ranks();
    report_.machine = machine_.name;
    report_.overlappable = first_.time;
    report_.behind = behind_.dram.value_or(DramTraffic{});
    const Nanoseconds comm = first_.time + behind_.time;
    set_times(report_, gemm_.time, comm, gemm_.time + comm);
    report_.ideal = std::max(gemm_.time, first_.time) + behind_.time;
    report_.memory_bound = is_memory_bound(report_.request.gemm, machine_);
  }

  /// Times of the part that overlaps, with what comes behind it.
  void add_row(std::size_t i, const OverlapTimes* overlapped) {
    const std::string& way = ways_[i];
    report::FusedRow row;
    row.way = way;
    row.how = how_[i];
    OverlapTimes times;
    if (way == kSequential) {
      times = gemm_;
      add_behind(first_, times);
    } else if (way == kIdealOverlap) {
      row.bound = true;
      times.time = std::max(gemm_.time, first_.time);
    } else if (way == kIdealNmc) {
      row.bound = true;
      report_.reduced_in_memory = overlapped->time;
      times.time = std::max(gemm_.time, overlapped->time);
    } else {
      times = *overlapped;
    }
    if (row.bound) {
      times.time = times.time + behind_.time;
    } else {
      add_behind(behind_, times);
    }
    fill_row(row, report_, times);
    row.exposed = std::max(times.time - report_.gemm_alone, Nanoseconds{});
    row.dram = times.dram;
    row.tracker_entries_peak = times.tracker_entries_peak;
    row.tracker_wait = times.tracker_wait;
    report_.rows.push_back(std::move(row));
  }

  static void add_behind(const OverlapTimes& behind, OverlapTimes& times) {
    times.time = times.time + behind.time;
    times.comm = times.time;
    if (times.hbm_bytes && behind.hbm_bytes) *times.hbm_bytes += *behind.hbm_bytes;
    if (times.dram && behind.dram) *times.dram += *behind.dram;
    if (times.energy && behind.energy) *times.energy += *behind.energy;
    if (behind.wrong) times.wrong = times.wrong.value_or(0) + *behind.wrong;
  }

  void choose() {
    add_cap_note(report_, named_rows(report_.rows, &report::FusedRow::way), machine_);
    report_.objective = options_.objective;
    const report::FusedRow* best = best_row(report_, [](const report::FusedRow& row) { return !row.bound; });
    if (best == nullptr) best = &report_.rows.front();
    report_.choice = best->way;
    report_.reason = reason(*best);
  }

  std::string reason(const report::FusedRow& best) const {
    if (best.bound) return "only ideals were asked for, which have no program";
    if (options_.objective != report::Objective::time) {
      std::vector<NamedRow> programs;
      for (const report::FusedRow& row : report_.rows) {
        if (!row.bound) programs.push_back({row.way, &row});
      }
      return energy_reason(programs, best, options_.objective);
    }
    if (best.way == kSequential) return "nothing that overlaps is faster than one after the other";
    if (best.time > report_.serial) return "of those asked for it is the fastest, but slower than one after the other";
    std::vector<std::string> sentences{fmt::format("the {} is the bottleneck, and {:.0f} % of ideal is reached",
                                                   gemm_.time < first_.time ? "collective" : "product",
                                                   100 * best.share_of_ideal)};
    for (const report::FusedRow& row : report_.rows) {
      if (row.bound || &row == &best || row.time <= best.time) continue;
      sentences.push_back(fmt::format("{} takes {:.0f} % longer", row.way,
                                      100 * (microseconds(row.time) / microseconds(best.time) - 1)));
    }
    return join(sentences, "; ");
  }

  const Machine& machine_;
  const FusedOptions& options_;
  const Times kind_;
  const TimeProgram measure_;
  std::vector<std::string> ways_;
  std::vector<std::string> how_;  // of ways_
  OverlapTimes gemm_;
  OverlapTimes first_;   // the collective, or the reduce-scatter of an all-reduce
  OverlapTimes behind_;  // the all-gather of an all-reduce
  FusedReport report_;
};

}  // namespace

std::vector<FusedWay> list_fused_ways() {
  return {kWays.begin(), kWays.end()};
}

bool is_fused_way(std::string_view name) {
  return name == kIdealSchedule || std::ranges::any_of(kWays, [&](const FusedWay& way) { return way.name == name; });
}

std::optional<ArbitrationPolicy> policy_of(std::string_view way, const Machine& machine) {
  if (!machine.timing || !machine.timing->memory.arbitration) return {};
  if (way == kT3) return ArbitrationPolicy::round_robin;
  if (way == kT3Mca) return ArbitrationPolicy::mca;
  return {};
}

Outcome<FusedReport> simulate_fused(const FusedRequest& request, const Machine& machine, const FusedOptions& options) {
  if (const Status timed = sim::check_timing(machine); !timed) return fail_at(Stage::plan, timed.error());
  auto report = FusedStudy(request, machine, options, Times::simulated, {}).run();
  if (report) report->where = "simulated " + machine.name;
  return report;
}

Outcome<FusedReport> run_fused(const FusedRequest& request, const Machine& machine, device::Driver& driver,
                               const RunSettings& settings, const FusedOptions& options) {
  const auto ranks = request.ranks == 0 ? machine.gpus : request.ranks;
  const double bytes = 3 * static_cast<double>(operand_bytes(request.gemm).value) * ranks;
  if (const Status fits = check_host_memory(bytes, ranks); !fits) return fail_at(Stage::plan, fits.error());
  auto report = FusedStudy(request, machine, options, Times::measured, measured_times(driver, settings)).run();
  if (report) describe_run(*report, driver, settings);
  return report;
}

std::string best_program(const FusedReport& report) {
  const report::FusedRow* best =
      best_row(report, [](const report::FusedRow& row) { return !row.bound && row.way != kSequential; });
  return best == nullptr ? report.choice : best->way;
}

Result<Program> plan_fused(const FusedRequest& request, std::string_view way, const Machine& machine) {
  if (way == kSequential || way == kIdealOverlap || way == kIdealNmc) {
    return fail("fused.program",
                fmt::format("{} has no program of its own: {}", way,
                            way == kSequential ? "it is the product and then the collective" : "it is an ideal"),
                "ask for t3, ficco or c3");
  }
  if (request.collective == "all-reduce") {
    return fail("fused.program", "an all-reduce is a program that overlaps and an all-gather behind it",
                "ask for reduce-scatter, and for the all-gather by itself");
  }
  FusedRequest whole = request;
  if (whole.ranks == 0) whole.ranks = machine.gpus;
  CORTADO_ASSIGN_OR_RETURN(Planned planned, plan_way(whole, way, machine));
  return std::move(planned.program);
}

}  // namespace cortado::pipeline
