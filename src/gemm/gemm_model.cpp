// What a GEMM takes. T workgroups on u units are w = T / u waves; e bytes an element, k' = k / split_k, G = tiles of
// C, f the clock over the one that rates and latencies are given for.
//
//   waves      W(x) = max(1, x + wave_rounding (ceil(x) - x)): 1 rounds up to whole waves, 0 is a perfect stream-K
//   multiply   W(w) 2 tile_m tile_n k' / (flops of a unit) (1 + operand_cost (1 / tile_m + 1 / tile_n))
//   latency    W(w / residents) k' step_latency / f: a workgroup takes no step of k sooner. A unit holds
//              residents = residency sqrt(128^2 / (tile_m tile_n)) workgroups, 1 to 4 (one if residency is 0)
//   L2         W(w) u (min(tile_m, m) + min(tile_n, n)) k' e / (dies l2_rate f): the u units that a GEMM may use share
//   the
//              rate evenly, and those of a wave that is not full get no more than in a full one
//   memory     reads / min(memory rate, min(T, u) unit_rate) + writes / memory rate + what L2 keeps of C / max(memory
//              rate, write_rate), and first_bytes (1 - exp(-that / first_bytes)) until the first bytes are there
//   reads      A and B once, less what is warm; and what waves read again, less what caches hold. A wave stands in a
//              compact block of tiles and reads rows(t), the least gm tile_m + gn tile_n with gm gn = t. Where groups
//              of tiles wait for bytes of their own, groups are not in step: a block lies within the rows of one group,
//              so every group reads B for itself, but for what caches still hold of it behind a whole pass. Where they
//              release bytes, groups come one after another: a block lies within those that are made at a time
//   types      A and B with their scales, 4 / block bytes an element of A and 4 / block^2 of B, and multiplications at
//              block_scale_efficiency of their rate; C has a type of its own. Sums are f32 or i32 in registers
//   groups     several GEMMs in one kernel: tiles of all groups share the waves, each group pads its rows to whole
//              tiles and reads a B of its own; a wave's block of tiles lies within one group
//   writes     C, less what L2 keeps until the next kernel writes it again
//   units      V = (multiply^p + latency^p + L2^p)^(1/p) + tile_overhead (W(w / residents) - 1), p = overlap_sharpness
//   body       (V^p + memory^p)^(1/p): while tiles end and start, the memory goes on. p = 0: the longest of multiply,
//              latency, L2 and of what comes from beyond L2 at unit_rate a unit, and tile_overhead; the memory is then
//              waited for as others do
//   time       body + C / write_rate / ceil(w) + [split_k > 1] (split_time + 8 split_k m n / split_rate): stores of the
//              last wave have nothing to hide behind, those of others are beneath the next one
//
// Side by side with others the GEMM holds its units for U and the memory for M seconds; alone it takes the longer of
// them, the body. With R the bytes of the memory at its full rate and g = (R / body)^p the part that the memory has in
// the body:
//
//   U = V + (body - V) min(1, 2 (1 - g))        M = R + (body - R) min(1, 2 g)
//
// and what is beside the body counts in U, and in M as much as min(1, 2 g),
// so what overlaps badly is waited for with the memory idle where units set the pace (g < 1/2), and with units idle
// where the memory does. Of U a wave takes 1 / W(w), a last one behind others (W(w) - floor(w)) / W(w); of M its share
// of the workgroups.
#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "gemm/gemm.hpp"
#include "gemm/matrix_timing.hpp"
#include "gemm/real.hpp"

namespace cortado {
namespace {

double seconds_of(Nanoseconds time) {
  return static_cast<double>(time.value) * 1e-9;
}

/// Of caches that hold so much, what is still there of so many bytes: all of little, nothing of much.
double warm(double bytes, double caches) {
  constexpr double kFade = 0.35;  // of the caches, over which it goes from all to nothing
  return caches > 0 ? std::clamp((1 - bytes / caches) / kFade, 0.0, 1.0) : 0;
}

/// Times its bytes that L2 must have room for to keep C: on H100 the time per byte rises at a C of 21 MB, of 43 MB that
/// stay warm.
constexpr double kResultsInL2 = 2;

/// Of an element of A: a scale in f32 for every `block` along k.
double scale_bytes(std::uint32_t block) {
  return block > 0 ? real(sizeof(float)) / block : 0;
}

}  // namespace

double tile_cost(const Tiling& tiling, double operand_cost) {
  return 1 + operand_cost * (1 / real(tiling.tile_m) + 1 / real(tiling.tile_n));
}

double multiply_seconds(const GemmShape& shape, const Tiling& tiling, double waves, double unit_flops,
                        const ComputeTiming& compute) {
  const double tile = real(tiling.tile_m) * real(tiling.tile_n);
  const double depth = real(shape.k) / real(tiling.split_k);
  const double seconds = waves * 2 * tile * depth / unit_flops * tile_cost(tiling, compute.operand_cost);
  return shape.scale_block > 0 ? seconds / compute.block_scale_efficiency : seconds;
}

double rounded_waves(double waves, double rounding) {
  return std::max(1.0, waves + rounding * (std::ceil(waves) - waves));
}

GemmModel::GemmModel(const GemmShape& shape, const Tiling& tiling, const Machine& machine, L2Windows windows,
                     ResultPath results, std::uint64_t rows_together)
    : machine_(&machine),
      shape_(shape),
      tiling_(tiling),
      element_(real(size_of(shape.dtype).value) + scale_bytes(shape.scale_block)),
      element_b_(real(size_of(shape.dtype).value) +
                 (shape.scale_block > 0 ? scale_bytes(shape.scale_block) / shape.scale_block : 0)),
      element_c_(real(size_of(result_type(shape)).value)),
      group_rows_(real(group_rows(shape))),
      tiles_n_((shape.n + tiling.tile_n - 1) / tiling.tile_n),
      workgroups_(cortado::workgroups(shape, tiling)),
      windows_(windows),
      results_(results),
      rows_together_(rows_together == 0 ? group_rows(shape) : std::min(rows_together, shape.m)) {}

/// Rows of A and columns of B that a compact block of so many tiles needs.
double GemmModel::operand_rows(double tiles) const {
  const double tile_m = real(tiling_.tile_m);
  const double tile_n = real(tiling_.tile_n);
  const double most_m = real((rows_together_ + tiling_.tile_m - 1) / tiling_.tile_m);
  const double most_n = real(tiles_n_);
  tiles = std::min(tiles, most_m * most_n);
  double along_m = std::clamp(std::sqrt(tiles * tile_n / tile_m), std::min(1.0, most_m), most_m);
  const double along_n = std::clamp(tiles / along_m, 1.0, most_n);
  along_m = std::clamp(tiles / along_n, 1.0, most_m);
  return std::min(along_m * tile_m, real(rows_together_)) + std::min(along_n * tile_n, real(shape_.n));
}

/// Share of the operands that L2 loses before their use. Rows and columns that only fill a tile up are not loaded: they
/// take nothing of a window.
double GemmModel::refetched(double per_die) const {
  const ComputeTiming& compute = *machine_->timing->compute;
  if (windows_ == L2Windows::ample || compute.stream_window.value == 0) return 0;
  const double tile_m = real(tiling_.tile_m);
  const double tile_n = real(tiling_.tile_n);
  const double loaded = (std::min(tile_m, group_rows_) + std::min(tile_n, real(shape_.n))) / (tile_m + tile_n);
  const double windows = per_die * loaded * real(compute.stream_window.value) / real(compute.l2_bytes.value);
  return std::clamp((windows - 1) / compute.thrash_ramp, 0.0, 1.0);
}

GemmModel::Traffic GemmModel::traffic(double units, const GemmSurroundings& beside) const {
  const ComputeTiming& compute = *machine_->timing->compute;
  const double depth = real(shape_.k) / real(tiling_.split_k);
  const double all = real(workgroups_);
  const double running = std::min(all, units);
  const double per_die = std::ceil(running / compute.dies);
  const double again = 1 + refetched(std::ceil((running + beside.streams) / compute.dies));

  const double m = real(shape_.m);
  const double n = real(shape_.n);
  const double k = real(shape_.k);
  const double a = m * k * element_;
  const double b = real(group_count(shape_)) * n * k * element_b_;
  const bool cached = results_ == ResultPath::cached;
  const double c = cached ? m * n * element_c_ : 0;
  const double l2 = compute.dies * real(compute.l2_bytes.value);
  const double kept = compute.warm_share * l2;
  const double cold = a * (1 - warm(a + b + c, kept)) + b * (1 - warm(a + c + kWeightsInTurn * b, kept));
  const double tiles_together = real((rows_together_ + tiling_.tile_m - 1) / tiling_.tile_m * tiles_n_);
  const double in_step = std::min(running, tiles_together * real(tiling_.split_k));
  const double by_waves = operand_rows(in_step / real(tiling_.split_k)) * k * element_ * all / in_step;
  const double last_level = real(machine_->timing->memory.cache_bytes.value);
  const double caches = last_level > 0 ? std::max(0.0, last_level - real(beside.cache_held.value)) : l2;
  const double held = std::min(1.0, caches / (a + b + c));
  // Groups that are not in step read B one after another, each with its rows of A and C beside it. What is left of B
  // for the next one is taken as the mean of random replacement, caches / pass, and LRU, nothing of what does not fit.
  const double groups = m / real(rows_together_);
  const double again_by_groups = shape_.groups.empty() ? (groups - 1) * b : 0;
  const double again_by_waves = std::max(0.0, by_waves - a - b - again_by_groups);
  const double pass = b + (a + c) / groups;
  const double left = (std::min(1.0, caches / pass) + warm(pass, caches)) / 2;
  const double read_again = again_by_waves * (1 - held) + again_by_groups * (1 - left);

  Traffic traffic = traffic_of_tiles();
  traffic.reads = (cold + read_again) * again + (shape_.accumulate ? c : 0);
  traffic.writes = c;
  traffic.beyond_l2 =
      operand_rows(per_die) * depth * element_ / per_die * again * all + c * (shape_.accumulate ? 2 : 1) + traffic.sums;
  return traffic;
}

GemmModel::Traffic GemmModel::traffic_of_tiles() const {
  const double depth = real(shape_.k) / real(tiling_.split_k);
  const double n = real(shape_.n);
  Traffic traffic;
  traffic.sums = sum_bytes();
  traffic.out_of_l2 = real(workgroups_) *
                      (std::min(real(tiling_.tile_m), group_rows_) + std::min(real(tiling_.tile_n), n)) * depth *
                      element_;
  return traffic;
}

double GemmModel::residents() const {
  const double tile = real(tiling_.tile_m) * real(tiling_.tile_n);
  return std::clamp(machine_->timing->compute->residency * std::sqrt(128 * 128 / tile), 1.0, 4.0);
}

void GemmModel::set_waves(Terms& terms, double units) const {
  const double rounding = machine_->timing->compute->wave_rounding;
  const double waves = real(workgroups_) / units;
  terms.last_wave = 1 / std::ceil(waves);
  terms.waves = rounded_waves(waves, rounding);
  terms.traffic.out_of_l2 *= terms.waves / std::max(1.0, waves);  // as if the last wave were full
  terms.resident_waves = rounded_waves(waves / residents(), rounding);
}

void GemmModel::set_clock(Terms& terms, double clock_ghz) const {
  const ComputeTiming& compute = *machine_->timing->compute;
  const double depth = real(shape_.k) / real(tiling_.split_k);
  const double speed = clock_ghz / reference_clock_ghz(shape_.dtype, *machine_);
  terms.products =
      multiply_seconds(shape_, tiling_, terms.waves, unit_flops_at(clock_ghz, shape_.dtype, compute), compute);
  terms.latency = terms.resident_waves * depth * compute.step_latency_ns * 1e-9 / speed;
  terms.l2 = terms.traffic.out_of_l2 / (compute.dies * compute.l2_rate.bytes_per_second() * speed);
}

void GemmModel::set_beside(Terms& terms) const {
  const ComputeTiming& compute = *machine_->timing->compute;
  // The overhead of the first wave is in the start of the kernel, where GEMMs have one of their own.
  const double first_wave = compute.start.value > 0 ? 1 : 0;
  terms.overhead = seconds_of(compute.tile_overhead) * (terms.resident_waves - first_wave);
  terms.beside = 0;
  if (compute.overlap_sharpness > 0 && compute.write_rate.value > 0 && results_ == ResultPath::cached) {
    const double c = real(shape_.m) * real(shape_.n) * element_c_;
    terms.beside += c / compute.write_rate.bytes_per_second() * terms.last_wave;
  }
  terms.beside = with_sums(terms.beside);
}

double GemmModel::sum_bytes() const {
  const bool sums = tiling_.split_k > 1 && results_ == ResultPath::cached;
  return sums ? 2 * sizeof(float) * real(tiling_.split_k) * real(shape_.m) * real(shape_.n) : 0;
}

/// `seconds`, and what the sums of a split take.
double GemmModel::with_sums(double seconds) const {
  if (tiling_.split_k == 1) return seconds;
  const ComputeTiming& compute = *machine_->timing->compute;
  seconds += seconds_of(compute.split_time);
  return compute.split_rate.value > 0 ? seconds + sum_bytes() / compute.split_rate.bytes_per_second() : seconds;
}

GemmModel::Terms GemmModel::terms_of_units(double units, double clock_ghz) const {
  Terms terms{.traffic = traffic_of_tiles()};
  set_waves(terms, units);
  set_clock(terms, clock_ghz);
  set_beside(terms);
  return terms;
}

double GemmModel::least_seconds(double units, double clock_ghz) const {
  const Terms terms = terms_of_units(units, clock_ghz);
  return std::max({terms.products, terms.latency, terms.l2}) + terms.overhead + terms.beside;
}

double GemmModel::least_of_split(double units, double clock_ghz) const {
  const ComputeTiming& compute = *machine_->timing->compute;
  const double multiply = flops(shape_) / (units * unit_flops_at(clock_ghz, shape_.dtype, compute));
  return with_sums(shape_.scale_block > 0 ? multiply / compute.block_scale_efficiency : multiply);
}

bool GemmModel::takes_longer(double seconds, double units, double clock_ghz) const {
  const double p = machine_->timing->compute->overlap_sharpness;
  const Terms terms = terms_of_units(units, clock_ghz);
  if (p == 0 || seconds <= terms.beside) return least_seconds(units, clock_ghz) > seconds;
  return powers(terms).of_units > std::pow(seconds - terms.beside, p);
}

GemmModel::Terms GemmModel::terms(double units, double clock_ghz, const GemmSurroundings& beside) const {
  const ComputeTiming& compute = *machine_->timing->compute;
  const MemoryTiming& memory = machine_->timing->memory;
  Terms terms;
  terms.traffic = traffic(units, beside);
  set_waves(terms, units);
  set_clock(terms, clock_ghz);
  const double by_units = std::min(real(workgroups_), units) * compute.unit_rate.bytes_per_second();
  const double first = seconds_of(compute.first_bytes);
  if (compute.overlap_sharpness > 0) {
    terms.memory = terms.traffic.reads / std::min(memory.rate.bytes_per_second(), by_units);
    if (compute.write_rate.value > 0) {
      const double out = memory_writes(terms.traffic);
      terms.memory += out / memory.rate.bytes_per_second() +
                      (terms.traffic.writes - out) / std::max(memory.rate, compute.write_rate).bytes_per_second();
    }
    if (first > 0) terms.memory += first * (1 - std::exp(-terms.memory / first));
  } else {
    terms.memory = terms.traffic.beyond_l2 / real(workgroups_) * terms.waves / compute.unit_rate.bytes_per_second();
  }
  set_beside(terms);
  return terms;
}

GemmModel::Powers GemmModel::powers(const Terms& terms) const {
  const double p = machine_->timing->compute->overlap_sharpness;
  double of_units = std::pow(terms.products, p) + std::pow(terms.latency, p) + std::pow(terms.l2, p);
  if (terms.overhead > 0) of_units = std::pow(std::pow(of_units, 1 / p) + terms.overhead, p);
  return {of_units, of_units + std::pow(terms.memory, p)};
}

GemmModel::Body GemmModel::body(const Terms& terms) const {
  const double p = machine_->timing->compute->overlap_sharpness;
  const double of_memory = memory_bytes(terms.traffic) / machine_->timing->memory.rate.bytes_per_second();
  if (p == 0) {
    const double units = std::max({terms.products, terms.latency, terms.l2, terms.memory});
    return {std::max(units, of_memory), units + terms.overhead + terms.beside, of_memory};
  }
  const auto [units_p, all_p] = powers(terms);
  const double all = std::max(std::pow(all_p, 1 / p), of_memory);
  const double share = std::min(1.0, std::pow(of_memory, p) / all_p);
  const double units = std::pow(units_p, 1 / p);
  const double waits = std::min(1.0, 2 * share);  // units do, for the memory
  return {all, units + (all - units) * std::min(1.0, 2 * (1 - share)) + terms.beside,
          of_memory + (all + terms.beside - of_memory) * waits};
}

double GemmModel::seconds(double units, double clock_ghz) const {
  return seconds(terms(units, clock_ghz, {}));
}

double GemmModel::seconds(const Terms& terms) const {
  const MemoryTiming& memory = machine_->timing->memory;
  const double p = machine_->timing->compute->overlap_sharpness;
  double seconds = memory_bytes(terms.traffic) / memory.rate.bytes_per_second();
  if (p == 0) {
    seconds = std::max({seconds, terms.products, terms.latency, terms.l2, terms.memory}) + terms.overhead;
  } else {
    seconds = std::max(std::pow(powers(terms).of_all, 1 / p), seconds);
  }
  if (memory.cache_bytes.value > 0) {
    seconds = std::max(seconds, terms.traffic.beyond_l2 / memory.cache_rate.bytes_per_second());
  }
  return seconds + terms.beside;
}

double GemmModel::memory_bytes(const Traffic& traffic) const {
  return traffic.reads + memory_writes(traffic);
}

/// Of what is written: all that L2 does not keep until the next kernel writes it again.
double GemmModel::memory_writes(const Traffic& traffic) const {
  const ComputeTiming& compute = *machine_->timing->compute;
  const double kept = compute.warm_share * compute.dies * real(compute.l2_bytes.value);
  return traffic.writes * (1 - warm(kResultsInL2 * traffic.writes, kept));
}

/// Of what the units take in all, that of each workgroup of the wave.
double GemmModel::share_of_work(const GemmWave& wave, const Terms& terms) const {
  const double filled = std::min(1.0, real(wave.running) / wave.units);
  const double rounding = machine_->timing->compute->wave_rounding;
  return (wave.last ? filled + rounding * (1 - filled) : 1) / terms.waves;
}

GemmModel::InWaves GemmModel::in_waves(std::uint32_t units, double clock_ghz) const {
  const Terms terms = this->terms(units, clock_ghz, {});
  const Body body = this->body(terms);
  const MemoryTiming& memory = machine_->timing->memory;
  // Memory and last-level cache serve all workgroups of a wave together.
  double served = body.of_memory;
  if (memory.cache_bytes.value > 0) {
    served = std::max(served, terms.traffic.beyond_l2 / memory.cache_rate.bytes_per_second());
  }
  const auto seconds_of_wave = [&](const GemmWave& wave) {
    return std::max(body.of_units * share_of_work(wave, terms), served * real(wave.running) / real(workgroups_));
  };
  const std::uint64_t full = workgroups_ / units;
  const std::uint64_t rest = workgroups_ % units;
  InWaves result{.memory_bytes = memory_bytes(terms.traffic), .waves = full + (rest > 0 ? 1 : 0)};
  if (full > 0) result.seconds += real(full) * seconds_of_wave({.running = units, .units = units});
  if (rest > 0) result.seconds += seconds_of_wave({.running = rest, .units = units, .last = full > 0});
  return result;
}

WorkgroupDemand GemmModel::demand(const GemmWave& wave, double clock_ghz, const GemmSurroundings& beside) const {
  CORTADO_CHECK(wave.running > 0 && wave.units > 0, "a workgroup runs");
  const double units = wave.units;
  const Terms terms = this->terms(units, clock_ghz, beside);
  const Body body = this->body(terms);
  const double all = real(workgroups_);

  WorkgroupDemand demand;
  demand.cache_bytes = terms.traffic.beyond_l2 / all;
  demand.memory_bytes = memory_bytes(terms.traffic) / all;
  demand.memory_writes = demand.memory_bytes - terms.traffic.reads / all;
  demand.memory_seconds = body.of_memory / all;
  demand.seconds = body.of_units * share_of_work(wave, terms);
  return demand;
}

}  // namespace cortado
