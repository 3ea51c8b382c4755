#include "pipeline/characterize.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "pipeline/overlap/characterize_parts.hpp"
#include "pipeline/overlap/decomposition.hpp"
#include "pipeline/overlap/times.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::pipeline {
namespace {

constexpr std::array<std::uint32_t, 6> kDegrees{2, 4, 8, 16, 32, 64};

/// Of the whole matrix that moves: A or, after a GEMM, C.
Bytes travelling_bytes(const DependentRequest& request) {
  const GemmShape& gemm = request.gemm;
  const bool product_first = request.dependence == Dependence::product_first;
  return size_of(gemm.dtype) * gemm.m * (product_first ? gemm.n : gemm.k);
}

class Characterizer {
 public:
  Characterizer(const DependentRequest& request, const Machine& machine) : request_(request), machine_(machine) {
    if (request_.ranks == 0) request_.ranks = machine.gpus;
    for (const FiccoSchedule& schedule : usual_schedules()) {
      for (const CollectiveMeans means : {CollectiveMeans::dma, CollectiveMeans::cores}) {
        Job& job = jobs_.emplace_back();
        job.schedule = schedule;
        job.schedule.means = means;
      }
    }
    for (const FiccoSchedule& schedule : usual_schedules()) {
      if (schedule.grain != Grain::chunks) continue;
      for (const std::uint32_t chunks : kDegrees) {
        Job& job = jobs_.emplace_back();
        job.schedule = schedule;
        job.schedule.chunks = chunks;
        job.cut_only = true;
      }
    }
  }

  Outcome<report::Characterization> run(const CharacterizeOptions& options) {
    const auto serial = plan_ficco(request_, kSerial, machine_);
    if (!serial) return fail_at(Stage::plan, serial.error());
    whole_ = pieces_of(serial->program, machine_);
    if (const auto done = do_all(jobs_.size(), options, [&](std::size_t i) { work(jobs_[i]); }); !done) {
      return fail(done.error());
    }
    set_basis();
    for (const Job& job : jobs_) {
      if (!job.outcome) {
        const Diagnostic& reason = job.outcome.error().errors.front();
        if (job.outcome.error().stage != Stage::plan) return fail(job.outcome.error());
        skip(job, reason);
      } else {
        job.cut_only ? add_decomposition(job) : add_contention(job);
      }
    }
    return std::move(report_);
  }

 private:
  struct Job {
    FiccoSchedule schedule;
    bool cut_only = false;  // only the pieces are looked at
    Outcome<OverlapTimes> outcome{};
    Pieces pieces{};
    std::uint32_t steps = 0;
  };

  void work(Job& job) const {
    auto plan = plan_ficco(request_, job.schedule, machine_);
    if (!plan) {
      job.outcome = fail_at(Stage::plan, plan.error());
      return;
    }
    job.steps = plan->steps;
    job.pieces = pieces_of(plan->program, machine_);
    if (!job.cut_only) {
      job.outcome = time_program(*target_, std::move(plan->program), machine_, {.contention = true});
    }
  }

  void set_basis() {
    report_.gemm = to_string(whole_.largest);
    report_.collective = request_.collective.name();
    report_.product_first = request_.dependence == Dependence::product_first;
    report_.bytes = travelling_bytes(request_);
    report_.ranks = request_.ranks;
    report_.machine = machine_.name;
    report_.kernel = whole_.kernels;
    report_.gemm_alone = {std::llround(whole_.time.sum() * 1e9)};
    report_.whole = causes_of(whole_.time, {.products = whole_.time.sum()});
    report_.serial = jobs_.front().outcome ? jobs_.front().outcome->time : Nanoseconds{};
  }

  void skip(const Job& job, const Diagnostic& reason) {
    std::string name = name_of(job.schedule);
    if (job.cut_only) name += fmt::format("/{}", job.schedule.chunks);
    if (job.schedule.means == CollectiveMeans::cores) name += " on compute units";
    report_.skipped.push_back({std::move(name), reason});
  }

  void add_decomposition(const Job& job) {
    report::DecompositionRow row;
    row.schedule = name_of(job.schedule);
    row.chunks = job.steps;
    row.pieces = job.pieces.count;
    const GemmShape& largest = job.pieces.largest;
    row.largest = fmt::format("{}x{}x{}", largest.m, largest.n, largest.k);
    row.kernels = job.pieces.kernels;
    row.time_us = job.pieces.time.sum() * 1e6;
    row.dil = job.pieces.time.sum() / whole_.time.sum();
    row.causes = causes_of(job.pieces.time, whole_.time);
    const double start = static_cast<double>(gemm_start(machine_).value) * 1e-9;
    row.kernel_starts = static_cast<double>(job.pieces.count - whole_.count) * start / whole_.time.sum();
    report_.decomposition.push_back(std::move(row));
  }

  void add_contention(const Job& job) {
    const OverlapTimes& times = *job.outcome;
    report::ContentionRow row;
    row.schedule = name_of(job.schedule);
    row.chunks = job.steps;
    row.on_cores = job.schedule.means == CollectiveMeans::cores;
    row.time = times.time;
    row.speedup = ratio(report_.serial, times.time);
    row.cil_gemm = times.contention->gemm();
    row.cil_comm = times.contention->comm();
    row.products_alone = times.contention->products_alone;
    row.products = times.contention->products;
    row.other_kernels = times.contention->other_kernels;
    row.first_wait = times.contention->first_wait;
    row.later_waits = times.contention->later_waits;
    row.energy = times.energy;
    report_.contention.push_back(std::move(row));
  }

  DependentRequest request_;
  const Machine& machine_;
  std::vector<Job> jobs_;  // the first is serial on DMA engines
  const std::unique_ptr<Target> target_ = simulator();
  Pieces whole_;
  report::Characterization report_;
};

}  // namespace

std::vector<FiccoSchedule> usual_schedules() {
  std::vector<FiccoSchedule> schedules;
  for (const FiccoScheduleInfo& info : list_schedules()) {
    if (!info.published && info.schedule.grain == Grain::chunks) continue;
    FiccoSchedule& schedule = schedules.emplace_back(info.schedule);
    if (schedule.grain != Grain::whole) schedule.exchange = ExchangeVariant::automatic;
  }
  return schedules;
}

Outcome<report::Characterization> characterize(const DependentRequest& request, const Machine& machine,
                                               const CharacterizeOptions& options) {
  if (const Status timed = sim::check_timing(machine); !timed) return fail_at(Stage::plan, timed.error());
  return Characterizer(request, machine).run(options);
}

}  // namespace cortado::pipeline
