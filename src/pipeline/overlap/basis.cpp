#include "pipeline/overlap/basis.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "gemm/gemm.hpp"
#include "pipeline/choose.hpp"
#include "plan/choose.hpp"

namespace cortado::pipeline {
namespace {

/// Usable share of this computer's memory; the rest is for everything else.
constexpr double kUsable = 0.75;

}  // namespace

Status check_memory(Bytes of_a_rank, std::uint32_t ranks) {
  const double bytes = static_cast<double>(of_a_rank.value) * ranks;
  const double present = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (present <= 0 || bytes <= kUsable * present) return {};
  return fail("overlap.memory",
              fmt::format("operands and buffers of {} ranks take {:.1f} GiB, but this computer has {:.1f} GiB", ranks,
                          bytes / (1 << 30), present / (1 << 30)),
              "use a smaller GEMM or collective or fewer ranks, or predict with --on sim");
}

void add_behind(const OverlapTimes& behind, OverlapTimes& times) {
  times.time = times.time + behind.time;
  if (behind.time.value > 0) times.comm = times.time;
  if (times.hbm_bytes && behind.hbm_bytes) *times.hbm_bytes += *behind.hbm_bytes;
  if (times.dram && behind.dram) *times.dram += *behind.dram;
  if (times.energy && behind.energy) *times.energy += *behind.energy;
  if (behind.wrong) times.wrong = times.wrong.value_or(0) + *behind.wrong;
}

Status Basis::plan(const OverlapProblem& problem, bool measured, const Wanted& wanted) {
  problem_ = &problem;
  return independent() ? plan_independent(measured) : plan_dependent(measured, wanted);
}

Status Basis::plan_independent(bool measured) {
  auto serial = find_strategy("serial")->strategy->plan(question());
  if (!serial) return fail(serial.error());
  Bytes memory;
  for (const GemmShape& gemm : problem().gemms) memory += operand_bytes(gemm);
  std::vector<CollectiveRequest> library;
  for (const CollectiveRequest& collective : problem().collectives) {
    memory += 2 * collective.bytes;
    CORTADO_ASSIGN_OR_RETURN(library.emplace_back(), library_of(collective));
  }
  if (measured) CORTADO_RETURN_IF_ERROR(check_memory(memory, problem().ranks));
  add(plan_gemms(problem().gemms, {}, problem().ranks, machine_));
  add(plan_collectives(library, machine_));
  add_serial(*std::move(serial));
  return {};
}

Status Basis::plan_dependent(bool measured, const Wanted& wanted) {
  if (measured) CORTADO_RETURN_IF_ERROR(check_memory(3 * operand_bytes(problem().gemm()), problem().ranks));
  OverlapProblem part = overlapping_part(problem());
  part.collectives.front().runtime = RuntimeMode::raw;  // libraries run on compute units
  auto gemm = plan_gemms({largest_gemm()}, {}, problem().ranks, roomy_);
  if (!gemm) return fail(gemm.error());
  gemm_seconds_ = seconds_of_gemms(*gemm, machine_);
  add(std::move(gemm));
  CORTADO_ASSIGN_OR_RETURN(const CollectiveRequest first, library_of(part.collective()));
  library_cus_ = first.compute_units;
  add(plan_collective_of(part, first, roomy_));
  if (is_all_reduce()) {
    CollectiveRequest gather = part.collective();
    gather.collective = "all-gather";
    CORTADO_ASSIGN_OR_RETURN(const CollectiveRequest behind, library_of(gather));
    behind_part_ = parts_.size();
    add(plan_collective(behind, roomy_));
    CollectiveRequest whole = problem().collective();
    whole.runtime = RuntimeMode::raw;
    CORTADO_ASSIGN_OR_RETURN(const CollectiveRequest library, library_of(whole));
    library_cus_ = library.compute_units;
    library_part_ = parts_.size();
    add(plan_collective(library, roomy_));
  }
  if (wanted.direct) plan_direct();
  if (wanted.in_memory) {
    in_memory_part_ = parts_.size();
    add(plan_in_memory(part.collective()));
  }
  return {};
}

/// Of several direct kernels those that the cost model finds fastest.
void Basis::plan_direct() {
  const auto variants = list_variants(problem().collective().collective);
  direct_cus_ = machine_.timing->cores.collective_units;
  if (std::ranges::any_of(variants, &VariantInfo::both_directions)) direct_cus_ *= 2;
  direct_cus_ = std::min(direct_cus_, machine_.compute_units);
  ChoiceRequest choice{.base = problem().collective(), .among = {kCoresVariants}};
  choice.base.compute_units = direct_cus_;
  choice.base.runtime = RuntimeMode::raw;
  choice.base.host = HostThreads::per_rank;
  const auto candidates = list_candidates(choice);
  if (!candidates) return;
  const CollectiveRequest* fastest = nullptr;
  Nanoseconds least{};
  for (const CollectiveRequest& candidate : *candidates) {
    const auto time = cost_.collective(candidate);
    if (!time || (fastest != nullptr && least <= *time)) continue;
    fastest = &candidate;
    least = *time;
  }
  if (fastest == nullptr) return;
  auto program = plan_collective_of(problem(), *fastest, roomy_);
  if (!program) return;
  direct_part_ = parts_.size();
  direct_variant_ = fastest->variant;
  add(std::move(program));
}

void Basis::add(Result<Program> program) {
  parts_.push_back({&programs_.emplace_back(std::move(program)), &roomy_});
}

void Basis::add_serial(PlannedOverlap serial) {
  serial_.emplace(std::move(serial));
  parts_.push_back({&serial_->program, &machine_});
}

/// The GEMM of the GPU with the most rows.
GemmShape Basis::largest_gemm() const {
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

/// As a library runs it on compute units; if no library does, as plain copies.
Result<CollectiveRequest> Basis::library_of(CollectiveRequest asked) const {
  asked.in_place = independent() ? asked.in_place : default_in_place(asked.collective, asked.variant);
  auto library = library_collective(asked, machine_, cost_);
  if (library || library.error().code != "c3.variant") return library;
  asked.variant = "pcpy";
  return asked;
}

/// The reduce-scatter by memory that adds, with engines programmed ahead as in T3.
Result<Program> Basis::plan_in_memory(CollectiveRequest asked) const {
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

void Basis::take(const std::vector<OverlapTimes>& times) {
  gemm_ = times[0];
  first_ = times[1];
  library_ = first_;
  if (behind_part_) behind_ = times[*behind_part_];
  if (library_part_) library_ = times[*library_part_];
  if (in_memory_part_) in_memory_ = times[*in_memory_part_].time;
  serial_times_ = independent() ? times[2] : one_after_other(library_);
  if (direct_part_) direct_times_ = one_after_other(times[*direct_part_]);
}

OverlapTimes Basis::one_after_other(const OverlapTimes& collective) const {
  const bool gemm_first = problem().relation == Relation::collective_needs_gemm;
  OverlapTimes both = gemm_first ? gemm_ : collective;
  add_behind(gemm_first ? collective : gemm_, both);
  if (gemm_first) return both;
  both.gemm = collective.time + gemm_.gemm;
  both.comm = collective.comm;
  return both;
}

}  // namespace cortado::pipeline
