#include <algorithm>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>

#include "cortado/timeline/role_times.hpp"

#include "pipeline/overlap/study.hpp"

namespace cortado::pipeline {
namespace {

/// Of a run with timestamps, in every round.
constexpr std::uint32_t kTracedIterations = 2;

/// An iteration that takes longer warms up in one, and one with timestamps tells as much as two.
constexpr Nanoseconds kLong{50'000'000};

/// Of the memory of this computer; the rest is for everything else.
constexpr double kUsable = 0.75;

/// Of one rank: operands, and the buffers of the collective.
double rank_bytes(const OverlapRequest& request) {
  const Bytes collective = request.collective.bytes * (request.collective.in_place ? 1 : 2);
  return static_cast<double>(operand_bytes(request.gemm).value) + static_cast<double>(collective.value);
}

class Measurement {
 public:
  Measurement(device::Driver& driver, const RunSettings& settings) : driver_(driver), settings_(one_round(settings)) {}

  Outcome<OverlapTimes> operator()(const VerifiedProgram& program) const {
    if (!longest_) {  // threads, libraries and pages of the whole process
      RunSettings once = settings_;
      once.warmup = 0;
      once.run.iterations = 1;
      const auto first = run_verified(program, driver_, once);
      if (!first) return tl::unexpected(first.error());
      longest_ = first->time;
    }
    const bool is_long = *longest_ > kLong;
    RunSettings settings = settings_;
    if (is_long) settings.warmup = std::min(settings.warmup, 1U);
    const auto report = run_verified(program, driver_, settings);
    if (!report) return tl::unexpected(report.error());
    longest_ = std::max(*longest_, report->time);
    RunSettings traced = settings_;
    traced.prepare.trace = true;
    traced.warmup = is_long ? 0 : std::min(settings_.warmup, 1U);
    traced.run.iterations = is_long ? 1 : std::min(settings_.run.iterations, kTracedIterations);
    traced.run.check = device::CheckOutputs::none;
    const auto spans = run_verified(program, driver_, traced);
    if (!spans) return tl::unexpected(spans.error());
    const RoleTimes parts = times_by_role(spans->result.timeline, program.program());
    return OverlapTimes{report->time, parts.gemm, parts.collective, parts.sent, {}, report->result.wrong_bytes};
  }

 private:
  device::Driver& driver_;
  RunSettings settings_;
  mutable std::optional<Nanoseconds> longest_;  // of all programs so far
};

}  // namespace

TimeProgram measured_times(device::Driver& driver, const RunSettings& settings) {
  return Measurement(driver, settings);
}

Status check_host_memory(double bytes, std::uint32_t ranks) {
  const double present = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (present <= 0 || bytes <= kUsable * present) return {};
  return fail("overlap.memory",
              fmt::format("operands and buffers of {} ranks take {:.1f} GiB, this computer has {:.1f} GiB", ranks,
                          bytes / (1 << 30), present / (1 << 30)),
              "make the product or the collective smaller, use fewer ranks, or predict with --on sim");
}

void describe_run(report::OverlapBasis& basis, device::Driver& driver, const RunSettings& settings) {
  basis.where = driver.topology().node;
  basis.iterations = measured_iterations(settings);
  if (!basis.note.empty()) basis.note += "; ";
  basis.note +=
      "the embedded node has no compute units to divide and runs kernels and engines on the threads of this computer: "
      "CUs and priorities have no effect there";
}

Outcome<OverlapReport> run_overlap(const OverlapRequest& request, const Machine& machine, device::Driver& driver,
                                   const RunSettings& settings, const OverlapOptions& options) {
  const std::uint32_t ranks = request.collective.ranks == 0 ? machine.gpus : request.collective.ranks;
  const Status fits =
      check_gemm(request.gemm, machine).and_then([&] { return check_host_memory(ranks * rank_bytes(request), ranks); });
  if (!fits) return fail_at(Stage::plan, fits.error());
  auto report = study_overlap(request, machine, options, Times::measured, measured_times(driver, settings));
  if (report) describe_run(*report, driver, settings);
  return report;
}

}  // namespace cortado::pipeline
