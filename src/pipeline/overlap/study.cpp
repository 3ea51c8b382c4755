#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>
#include <unistd.h>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "pipeline/choose.hpp"
#include "pipeline/overlap/ideal.hpp"
#include "pipeline/overlap/reasons.hpp"
#include "pipeline/overlap/times.hpp"
#include "plan/overlap.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::pipeline {
namespace {

constexpr double kEqualWithin = 1.15;
constexpr double kLevelWithin = 1.001;

/// Of the memory of this computer; the rest is for everything else.
constexpr double kUsable = 0.75;

/// A strategy as it was asked for; without one, the searched best.
struct Asked {
  std::string name;
  NamedStrategy named{};
  bool by_name = false;  ///< the caller named it: if it cannot be done, the caller is told why
};

/// Whether the failure lies in one strategy: nothing was planned, or not within the limits of the machine, or trackers
/// run out. What is wrong with the problem itself the GEMM and the collective alone would have told.
bool concerns_strategy(const Failure& failure) {
  const std::string& code = failure.errors.front().code;
  return failure.stage == Stage::plan || code == "verify.machine" || code == "sim.stall";
}

/// All GEMMs of a rank one after the other, each alone on all compute units, without launches: of the rank for which
/// that takes longest.
double seconds_of_gemms(const Program& program, const Machine& machine) {
  struct Known {
    GemmShape shape;
    Tiling tiling;
    double seconds;
  };
  std::vector<Known> known;  // pieces are alike
  const auto seconds_of = [&](const Gemm& gemm) {
    const GemmShape shape = shape_of(gemm);
    const Tiling tiling = tiling_of(gemm);
    const auto same = [&](const Known& one) { return one.shape == shape && one.tiling == tiling; };
    const auto found = std::ranges::find_if(known, same);
    if (found != known.end()) return found->seconds;
    known.push_back({shape, tiling, estimate_gemm(shape, tiling, machine, machine.compute_units).seconds});
    return known.back().seconds;
  };
  std::vector<double> seconds(program.ranks);
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      if (const auto* gemm = std::get_if<Gemm>(&command)) seconds[queue.rank->value] += seconds_of(*gemm);
    }
  }
  return *std::max_element(seconds.begin(), seconds.end());
}

/// A program that is proved when it is first run; the proof then has it.
class ProvedOnce {
 public:
  explicit ProvedOnce(Result<Program> program) : program_(std::move(program)) {}

  const Outcome<VerifiedProgram>& proof(const Machine& machine) {
    if (!proof_) proof_ = prove(std::move(program_), machine);
    return *proof_;
  }
  /// One that was planned, and not refused.
  const Program& program() const { return proof_ ? (*proof_)->program() : *program_; }

 private:
  Result<Program> program_;
  std::optional<Outcome<VerifiedProgram>> proof_;
};

struct Planned {
  explicit Planned(PlannedOverlap made) : overlap(std::move(made)), program(std::move(overlap.program)) {}

  PlannedOverlap overlap;  // without the program
  ProvedOnce program;

  PlannedOverlap with_program() const {
    PlannedOverlap whole = overlap;
    whole.program = program.program();
    return whole;
  }
};

class OverlapStudy {
 public:
  OverlapStudy(const OverlapProblem& problem, const Machine& machine, Target& target, const OverlapOptions& options)
      : machine_(machine),
        roomy_(machine),
        target_(target),
        options_(options),
        cost_(simulated_cost(machine)),
        costs_(strategy_costs(*cost_, machine)) {
    report_.problem = problem;
    report_.simulated = target.predicts();
  }

  Outcome<OverlapReport> run() {
    if (const Status checked = check(); !checked) return fail_at(Stage::plan, checked.error());
    const std::size_t basis = jobs_.size();
    plans_.resize(asked_.size());
    std::vector<std::optional<std::size_t>> job_of(asked_.size());
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      if (!has_program(asked_[i])) continue;
      job_of[i] = jobs_.size();
      jobs_.push_back([this, i] { return time_strategy(i); });
    }
    const auto times = time_all(jobs_, report_.simulated, options_.threads, options_.progress);
    if (!times) return tl::unexpected(times.error());
    for (std::size_t i = 0; i < basis; ++i) {
      if (!(*times)[i]) return tl::unexpected((*times)[i].error());
    }
    set_basis(*times);
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      if (!job_of[i]) {
        add_computed(asked_[i]);
      } else if (const auto& timed = (*times)[*job_of[i]]; timed) {
        add_row(*plans_[i], *timed);
      } else if (!concerns_strategy(timed.error())) {
        return tl::unexpected(timed.error());
      } else {
        report_.skipped.push_back({asked_[i].name, timed.error().errors.front()});
      }
    }
    const bool planned = std::ranges::any_of(report_.rows, [](const OverlapRow& row) { return !row.bound; });
    if (!planned && !report_.skipped.empty()) return fail_at(Stage::plan, report_.skipped.front().reason);
    choose();
    return std::move(report_);
  }

 private:
  const OverlapProblem& problem() const { return report_.problem; }
  bool independent() const { return problem().relation == Relation::independent; }
  bool is_serial(const Asked& asked) const { return asked.named.strategy && asked.named.strategy->name == "serial"; }
  /// serial is part of the basis, ideals follow from it.
  bool has_program(const Asked& asked) const {
    return !is_serial(asked) && (!asked.named.strategy || asked.named.strategy->plan);
  }
  OverlapQuestion question(const StrategyKnobs& knobs = {}) const { return {problem(), machine_, costs_, knobs}; }

  // --- What is asked -------------------------------------------------------------------------------------------------

  Status check() {
    if (options_.objective != report::Objective::time) {
      if (!report_.simulated) {
        return fail("overlap.objective",
                    fmt::format("strategies cannot be ranked by {} on a device, whose energy is not measured",
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
    if (!checked) return tl::unexpected(checked.error());
    report_.problem = *std::move(checked);
    CORTADO_RETURN_IF_ERROR(check_units());
    CORTADO_RETURN_IF_ERROR(find_strategies());
    return independent() ? add_independent_basis() : add_dependent_basis();
  }

  Status check_units() const {
    for (const auto& [cus, whose] :
         {std::pair{options_.knobs.gemm_cus, "GEMM"}, {options_.knobs.comm_cus, "collective"}}) {
      if (!cus || (*cus > 0 && *cus <= machine_.compute_units)) continue;
      return fail("c3.compute_units",
                  fmt::format("{} compute units for the {} on GPUs that have {}", *cus, whose, machine_.compute_units),
                  fmt::format("give 1 to {}, or leave them out", machine_.compute_units));
    }
    return {};
  }

  Status find_strategies() {
    const auto& names = options_.strategies;
    const auto add = [&](std::string_view name, bool by_name) -> Status {
      CORTADO_ASSIGN_OR_RETURN(const NamedStrategy named, find_strategy(name, options_.knobs));
      const Status applies = named.strategy->applies(problem(), machine_);
      if (applies) {
        asked_.push_back({std::string(name), named, by_name});
      } else if (by_name) {
        report_.skipped.push_back({std::string(name), applies.error()});
      }
      return {};
    };
    if (names.empty()) {
      for (const bool bounds : {false, true}) {
        for (const Strategy& strategy : strategies()) {
          if (strategy.by_default && bounds == !strategy.plan) CORTADO_RETURN_IF_ERROR(add(strategy.name, false));
        }
        if (!bounds && independent()) asked_.push_back({std::string(kAutoStrategy)});
      }
      return {};
    }
    for (const std::string& name : names) {
      if (name == kAllStrategies) {
        for (const Strategy& strategy : strategies()) CORTADO_RETURN_IF_ERROR(add(strategy.name, false));
        continue;
      }
      if (name != kAutoStrategy) {
        CORTADO_RETURN_IF_ERROR(add(name, true));
        continue;
      }
      if (std::ranges::count(names, "serial") == 0) CORTADO_RETURN_IF_ERROR(add("serial", true));
      if (independent()) {
        asked_.push_back({name});
      } else {
        // The search is over the schedules of FiCCO and tiles, and c3.
        if (find_strategy("ficco")->strategy->applies(problem(), machine_)) asked_.push_back({name});
        for (const char* best : {"t3", "t3-mca"}) CORTADO_RETURN_IF_ERROR(add(best, false));
      }
    }
    if (asked_.empty()) return fail(report_.skipped.front().reason);
    return {};
  }

  // --- What all are compared with ------------------------------------------------------------------------------------

  Status add_independent_basis() {
    auto serial = find_strategy("serial")->strategy->plan(question());
    if (!serial) return tl::unexpected(serial.error());
    Bytes memory;
    for (const GemmShape& gemm : problem().gemms) memory += operand_bytes(gemm);
    std::vector<CollectiveRequest> library;
    for (const CollectiveRequest& collective : problem().collectives) {
      memory += 2 * collective.bytes;
      CORTADO_ASSIGN_OR_RETURN(library.emplace_back(), library_of(collective));
    }
    CORTADO_RETURN_IF_ERROR(check_memory(memory));
    add_basis(plan_gemms(problem().gemms, {}, problem().ranks, machine_));
    add_basis(plan_collectives(library, machine_));
    add_serial(*std::move(serial));
    return {};
  }

  Status add_dependent_basis() {
    CORTADO_RETURN_IF_ERROR(check_memory(3 * operand_bytes(problem().gemm())));
    OverlapProblem part = overlapping_part(problem());
    part.collectives.front().runtime = RuntimeMode::raw;  // libraries run on compute units
    auto gemm = plan_gemms({largest_gemm()}, {}, problem().ranks, roomy_);
    if (!gemm) return tl::unexpected(gemm.error());
    gemm_seconds_ = seconds_of_gemms(*gemm, machine_);
    add_basis(std::move(gemm));
    if (problem().tokens.empty()) {
      CORTADO_ASSIGN_OR_RETURN(const CollectiveRequest library, library_of(part.collective()));
      library_cus_ = library.compute_units;
      add_basis(plan_collective(library, roomy_));
    } else {  // libraries send as many rows to all; uneven ones are one program with the GEMM
      StrategyKnobs on_cores;
      on_cores.means = CollectiveMeans::cores;
      CORTADO_ASSIGN_OR_RETURN(PlannedOverlap serial, find_strategy("serial-dma")->strategy->plan(question(on_cores)));
      add_serial(std::move(serial));
    }
    if (is_all_reduce()) {
      CollectiveRequest gather = part.collective();
      gather.collective = "all-gather";
      CORTADO_ASSIGN_OR_RETURN(const CollectiveRequest behind, library_of(gather));
      behind_job_ = jobs_.size();
      add_basis(plan_collective(behind, roomy_));
      CollectiveRequest whole = problem().collective();
      whole.runtime = RuntimeMode::raw;
      CORTADO_ASSIGN_OR_RETURN(const CollectiveRequest library, library_of(whole));
      library_cus_ = library.compute_units;
      library_job_ = jobs_.size();
      add_basis(plan_collective(library, roomy_));
    }
    if (wants("ideal-rs+nmc")) {
      in_memory_job_ = jobs_.size();
      add_basis(plan_in_memory(part.collective()));
    }
    return {};
  }

  /// Strategies overlap the reduce-scatter of it, and the library's all-gather comes behind.
  bool is_all_reduce() const { return !independent() && problem().collective().collective == "all-reduce"; }

  void add_basis(Result<Program> program) {
    ProvedOnce& once = basis_.emplace_back(std::move(program));
    jobs_.push_back([this, &once] { return timed(once, roomy_, {}, false); });
  }

  void add_serial(PlannedOverlap serial) {
    serial_.emplace(std::move(serial));
    jobs_.push_back([this] { return timed(serial_->program, machine_, {}, false); });
  }

  bool wants(std::string_view name) const {
    return std::ranges::any_of(asked_, [&](const Asked& asked) { return asked.name == name; });
  }

  /// What the GPU with most rows multiplies.
  GemmShape largest_gemm() const {
    GemmShape gemm = problem().gemm();
    const TokenTable& tokens = problem().tokens;
    for (std::size_t rank = 0; rank < tokens.size(); ++rank) {
      std::uint64_t rows = 0;
      for (std::size_t other = 0; other < tokens.size(); ++other) {
        rows += problem().relation == Relation::gemm_needs_collective ? tokens[other][rank] : tokens[rank][other];
      }
      gemm.m = rank == 0 ? rows : std::max(gemm.m, rows);
    }
    return gemm;
  }

  /// As a library does it on compute units; where none does, as plain copies.
  Result<CollectiveRequest> library_of(CollectiveRequest asked) const {
    asked.in_place = independent() ? asked.in_place : default_in_place(asked.collective, asked.variant);
    auto library = library_collective(asked, machine_, *cost_);
    if (library || library.error().code != "c3.variant") return library;
    asked.variant = "pcpy";
    return asked;
  }

  /// The reduce-scatter by adding memory, its engines programmed ahead as those of T3 are.
  Result<Program> plan_in_memory(CollectiveRequest asked) const {
    asked.variant = "add";
    asked.host = HostThreads::per_rank;
    asked.prelaunch = true;
    asked.in_place = default_in_place(asked.collective, asked.variant);
    auto direct = plan_collective(asked, machine_);
    if (direct) return direct;
    asked.variant = "add-ring";
    asked.in_place = default_in_place(asked.collective, asked.variant);
    return plan_collective(asked, machine_);
  }

  /// Of this computer, where it is really run.
  Status check_memory(Bytes of_a_rank) const {
    if (report_.simulated) return {};
    const double bytes = static_cast<double>(of_a_rank.value) * problem().ranks;
    const double present =
        static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
    if (present <= 0 || bytes <= kUsable * present) return {};
    return fail("overlap.memory",
                fmt::format("operands and buffers of {} ranks take {:.1f} GiB, this computer has {:.1f} GiB",
                            problem().ranks, bytes / (1 << 30), present / (1 << 30)),
                "make the GEMM or the collective smaller, use fewer ranks, or predict with --on sim");
  }

  // --- Times ---------------------------------------------------------------------------------------------------------

  Outcome<OverlapTimes> timed(ProvedOnce& program, const Machine& machine, std::optional<ArbitrationPolicy> arbitration,
                              bool contention) const {
    const Outcome<VerifiedProgram>& proof = program.proof(machine);
    if (!proof) return tl::unexpected(proof.error());
    return time_program(
        target_, *proof,
        {.by_command = !independent(), .contention = contention, .arbitration = arbitration, .run = options_.run});
  }

  Outcome<OverlapTimes> time_strategy(std::size_t i) {
    if (!plans_[i]) {  // the first round; every one by one thread
      const Asked& asked = asked_[i];
      auto planned =
          asked.named.strategy ? asked.named.strategy->plan(question(asked.named.knobs)) : plan_searched(question());
      if (!planned) return fail_at(Stage::plan, planned.error());
      plans_[i].emplace(*std::move(planned));
    }
    Planned& plan = *plans_[i];
    if (!report_.simulated && plan.overlap.name == "t3-mca") {
      return fail_at(Stage::plan, {"overlap.machine", "the device has no memory arbitration", "predict with --on sim"});
    }
    if (const Status fits = check_memory(plan.overlap.footprint); !fits) return fail_at(Stage::plan, fits.error());
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

  void set_basis(const std::vector<Outcome<OverlapTimes>>& times) {
    gemm_ = *times[0];
    first_ = *times[1];
    library_ = first_;
    if (behind_job_) behind_ = *times[*behind_job_];
    if (library_job_) library_ = *times[*library_job_];
    if (in_memory_job_) report_.in_memory = times[*in_memory_job_]->time;
    report_.machine = machine_.name;
    report_.where = target_.where();
    if (report_.simulated) report_.clock = clock_text(machine_);
    report_.gemm_alone = gemm_.time;
    if (independent()) {
      serial_times_ = *times[2];
    } else if (serial_) {  // uneven rows: both in one program
      serial_times_ = first_;
      const bool gemm_first = problem().relation == Relation::collective_needs_gemm;
      first_.time = gemm_first ? std::max(first_.comm - first_.gemm, Nanoseconds{}) : first_.comm;
      library_ = first_;
    } else if (problem().relation == Relation::gemm_needs_collective) {
      serial_times_ = library_;
      add_behind(gemm_, serial_times_);
      serial_times_.gemm = library_.time + gemm_.gemm;
      serial_times_.comm = library_.comm;
    } else {
      serial_times_ = gemm_;
      add_behind(library_, serial_times_);
    }
    report_.overlappable = first_.time;
    report_.behind = behind_.dram.value_or(DramTraffic{});
    report_.comm_alone = library_.time;
    report_.serial = serial_times_.time;
    report_.ideal = report_.simulated ? predicted_ideal(problem(), machine_, *cost_,
                                                        {gemm_.time, first_.time, behind_.time, library_.time})
                                      : std::max(gemm_.time, first_.time) + behind_.time;
    report_.scenario = overlap_class(report_.gemm_alone, report_.comm_alone);
    report_.memory_bound =
        std::ranges::all_of(problem().gemms, [this](const GemmShape& gemm) { return is_memory_bound(gemm, machine_); });
    if (serial_refused_) {
      report_.note = fmt::format("serial does not fit the memory of {}: its time is that on GPUs with enough memory",
                                 machine_.name);
    }
    if (is_all_reduce()) {
      OverlapTimes parts = gemm_;
      add_behind(first_, parts);
      add_behind(behind_, parts);
      report_.in_parts = row_of(parts);
    }
    if (report_.simulated) return;
    report_.iterations = measured_iterations(options_.run.iterations);
    report_.note = "CUs and priorities have no effect on the embedded node, whose kernels and engines are threads";
  }

  /// `times`, and then `behind`.
  static void add_behind(const OverlapTimes& behind, OverlapTimes& times) {
    times.time = times.time + behind.time;
    if (behind.time.value > 0) times.comm = times.time;
    if (times.hbm_bytes && behind.hbm_bytes) *times.hbm_bytes += *behind.hbm_bytes;
    if (times.dram && behind.dram) *times.dram += *behind.dram;
    if (times.energy && behind.energy) *times.energy += *behind.energy;
    if (behind.wrong) times.wrong = times.wrong.value_or(0) + *behind.wrong;
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
      row.gemm_slowdown = ratio(times.gemm, gemm_.gemm);
      row.comm_slowdown = ratio(times.comm, first_.comm);
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
    if (report_.row(plan.name) != nullptr && report_.row(plan.name)->strategy == plan.name) return;  // found by search
    add_behind(behind_, times);
    OverlapRow row = row_of(times);
    describe(plan, row);
    if (plan.steps > 0 && gemm_seconds_ > 0)
      row.dil = seconds_of_gemms(planned.program.program(), machine_) / gemm_seconds_;
    report_.rows.push_back(std::move(row));
    planned_.push_back(&planned);
  }

  /// serial, or an ideal.
  void add_computed(const Asked& asked) {
    if (is_serial(asked) && serial_refused_) {
      report_.skipped.push_back({asked.name, *serial_refused_});
      return;
    }
    OverlapRow row;
    if (is_serial(asked)) {
      row = row_of(serial_times_);
      if (independent()) row.comm_slowdown = ratio(serial_times_.comm - serial_times_.gemm, first_.comm);
      if (serial_) describe(serial_->overlap, row);
      row.gemm_cus = machine_.compute_units;
      if (!serial_) {
        row.how = "two programs";
        row.comm_cus = library_cus_;
      }
    } else {
      const Nanoseconds in_memory = std::max(gemm_.time, report_.in_memory) + behind_.time;
      row = row_of({.time = asked.name == "ideal" ? report_.ideal : in_memory});
      row.bound = true;
    }
    row.strategy = asked.named.strategy->name;
    report_.rows.push_back(std::move(row));
    planned_.push_back(is_serial(asked) && serial_ ? &*serial_ : nullptr);
  }

  void choose() {
    const auto cost = [&](const OverlapRow& row) { return report::cost_of(row.time, row.energy, options_.objective); };
    const auto has_program = [](const OverlapRow& row) { return !row.bound; };
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
      report_.reason = "only ideals were asked for, which have no program";
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

  const Machine& machine_;
  Machine roomy_;                             // with memory for one after the other
  std::optional<Diagnostic> serial_refused_;  // on the machine itself
  Target& target_;
  const OverlapOptions& options_;
  const std::unique_ptr<CostModel> cost_;
  const StrategyCosts costs_;
  std::vector<Asked> asked_;
  std::deque<ProvedOnce> basis_;               // that jobs_ refer to
  std::vector<TimeOne> jobs_;                  // of the basis, then of asked_
  std::vector<std::optional<Planned>> plans_;  // of asked_; every one is written by one thread
  std::mutex lock_;                            // of:
  std::vector<Predicted> predicted_;
  std::vector<const Planned*> planned_;     // of the report's rows; nullptr: no single program
  std::optional<Planned> serial_;           // where it is one program
  std::optional<std::size_t> behind_job_;   // the all-gather of an all-reduce
  std::optional<std::size_t> library_job_;  // all of an all-reduce
  std::optional<std::size_t> in_memory_job_;
  double gemm_seconds_ = 0;        // of the whole GEMM, by the model
  std::uint32_t library_cus_ = 0;  // of the collective alone
  OverlapTimes gemm_;
  OverlapTimes first_;  // the collective, or the reduce-scatter of an all-reduce
  OverlapTimes behind_;
  OverlapTimes library_;  // the whole collective
  OverlapTimes serial_times_;
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
