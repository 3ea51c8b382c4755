#include "gemm/bound.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "gemm/real.hpp"
#include "gemm/stages.hpp"

namespace cortado {
namespace {

/// Weights of rounds that are tried are multiples of one over this.
constexpr std::size_t kWeights = 16;

class LeastBeside {
 public:
  LeastBeside(const GemmShape& shape, const Tiling& tiling, const Machine& machine, std::uint32_t least_units)
      : compute_(*machine.timing->compute),
        model_(shape, tiling, machine, L2Windows::modelled,
               compute_.stages ? ResultPath::streamed : ResultPath::cached),
        units_(machine.compute_units),
        least_units_(least_units),
        rounds_((model_.workgroups() - 1) / units_),
        speeds_(units_ + 1),
        memory_(units_ + 1) {
    // GEMMs in stages read and write the memory as flows of their own, which others may hide.
    const double once = real(read_bytes(shape).value) / machine.timing->memory.rate.bytes_per_second();
    double least_memory = std::numeric_limits<double>::infinity();
    for (std::uint32_t units = units_; units > 0; --units) {
      const double clock = gemm_clock_ghz(model_, machine, units);
      const WorkgroupDemand demand = model_.demand({.running = units, .units = units}, clock);
      speeds_[units] = 1 / demand.seconds;
      const double memory = compute_.stages ? once / real(model_.workgroups()) : demand.memory_seconds;
      least_memory = std::min(least_memory, memory);
      memory_[units] = least_memory;
    }
    for (std::size_t i = 0; i < fastest_.size(); ++i) {
      const double weight = real(i) / kWeights;
      for (std::uint32_t units = least_units; units <= units_; ++units) {
        const double share = real(units) / units_;
        fastest_[i] = std::max(fastest_[i], speeds_[units] * (weight + (1 - weight) * share));
      }
    }
  }

  double seconds() const {
    const std::uint64_t left = model_.workgroups() - rounds_ * units_;
    return std::min(from(left, rounds_), from(1, rounds_ + 1));
  }

 private:
  /// If at least `least` workgroups run when the last have started, behind so many rounds.
  double from(std::uint64_t least, std::uint64_t rounds) const {
    double seconds = std::numeric_limits<double>::infinity();
    const std::uint64_t most = std::min<std::uint64_t>(units_, model_.workgroups());
    for (std::uint64_t running = least; running <= most; ++running) {
      const double of_units = before(running, rounds) + last(running, rounds > 0);
      const double of_memory =
          real(model_.workgroups() - running) * memory_[least_units_] + real(running) * memory_[running];
      seconds = std::min(seconds, std::max(of_units, of_memory));
    }
    return seconds;
  }

  double before(std::uint64_t running, std::uint64_t rounds) const {
    const double work = real(model_.workgroups() - running) / units_;
    double seconds = 0;
    for (std::size_t i = 0; i < fastest_.size(); ++i) {
      const double weight = real(i) / kWeights;
      seconds = std::max(seconds, (weight * real(rounds) + (1 - weight) * work) / fastest_[i]);
    }
    return seconds;
  }

  /// Workgroups are cut for all units if others of the GEMM have ended before them.
  double last(std::uint64_t running, bool cut) const {
    double seconds = std::numeric_limits<double>::infinity();
    for (std::uint64_t units = running; units <= units_; ++units) {
      const double filled = cut ? real(running) / real(units) : 1;
      seconds = std::min(seconds, (filled + compute_.wave_rounding * (1 - filled)) / speeds_[units]);
    }
    return seconds;
  }

  const ComputeTiming& compute_;
  GemmModel model_;
  std::uint32_t units_;
  std::uint32_t least_units_;
  std::uint64_t rounds_;
  std::vector<double> speeds_;  // by units: workgroups per second of each
  std::vector<double> memory_;  // by units: seconds of a workgroup on as many or more, at the least
  std::array<double, kWeights + 1> fastest_{};
};

}  // namespace

double least_seconds_beside(const GemmShape& shape, const Tiling& tiling, const Machine& machine,
                            std::uint32_t least_units) {
  CORTADO_CHECK(least_units > 0 && least_units <= machine.compute_units, "units of the machine");
  return LeastBeside(shape, tiling, machine, least_units).seconds();
}

namespace {

/// Rows first, past the cache.
StageReads reads_by_rows(const GemmShape& shape, const Tiling& tiling, const Machine& machine) {
  Gemm gemm = gemm_command(shape, tiling, {}, {}, {});
  gemm.outputs = {{.rows = shape.m, .columns = shape.n}};
  return {gemm, machine, machine.compute_units};
}

}  // namespace

double least_seconds_in_stages(const GemmShape& shape, const Tiling& tiling, const Machine& machine,
                               StageStarts starts) {
  const GemmModel model(shape, tiling, machine, L2Windows::modelled, ResultPath::streamed);
  GemmShape turned = shape;
  std::swap(turned.m, turned.n);
  const StageReads by_rows = reads_by_rows(shape, tiling, machine);
  const StageReads by_columns = reads_by_rows(turned, {tiling.tile_n, tiling.tile_m, tiling.split_k}, machine);
  const StageReads& reads = by_columns.total() < by_rows.total() ? by_columns : by_rows;
  const std::uint32_t units = machine.compute_units;
  const double clock = gemm_clock_ghz(model, machine, units);
  const double rate = machine.timing->memory.rate.bytes_per_second();
  const double share = machine.timing->compute->stages->read_share;
  const double full = model.demand({.running = units, .units = units}, clock).seconds;
  double of_units = 0;
  double seconds = 0;
  for (std::uint64_t stage = 0; stage < reads.stages(); ++stage) {
    const std::uint64_t running = std::min<std::uint64_t>(units, reads.workgroups() - stage * units);
    const double multiplying =
        running == units ? full : model.demand({.running = running, .units = units, .last = stage > 0}, clock).seconds;
    const double read = reads.of_stage(stage) / rate;
    of_units += multiplying;
    seconds += share * read + std::max(multiplying, (1 - share) * read);
  }
  return starts == StageStarts::together ? seconds : std::max(of_units, reads.total() / rate);
}

}  // namespace cortado
