#include "gemm/time_parts.hpp"

#include <algorithm>
#include <cmath>

#include "gemm/matrix_timing.hpp"

namespace cortado {
namespace {

GemmShape written_only(GemmShape shape) {
  shape.accumulate = false;
  return shape;
}

void add(const GemmTimeParts& parts, double times, GemmTimeParts& sum) {
  sum.products += times * parts.products;
  sum.tiles += times * parts.tiles;
  sum.operands += times * parts.operands;
  sum.results += times * parts.results;
  sum.starts += times * parts.starts;
  sum.idle += times * parts.idle;
}

}  // namespace

GemmTimeParts& GemmTimeParts::operator+=(const GemmTimeParts& other) {
  add(other, 1, *this);
  return *this;
}

GemmTimeParts gemm_time_parts(const GemmShape& shape, const Tiling& tiling, const Machine& machine) {
  const std::uint32_t units = machine.compute_units;
  const GemmModel model(shape, tiling, machine);
  const double clock = sustained_clock_ghz(shape.dtype, machine);
  // C libraries differ in the last bit of powers. Where differences of estimates are printed, that bit would be seen.
  constexpr double kResolution = 1e-16;  // seconds
  const auto estimate = [&](const GemmShape& of) {
    return std::round(estimate_gemm(of, tiling, machine, units, clock).seconds / kResolution) * kResolution;
  };
  const GemmModel::Terms terms = model.terms(units, clock);
  // The same with its last wave cut for all units: as many units as leave no one idle.
  const double waves = static_cast<double>(model.workgroups()) / units;
  const double filled = std::min(1.0, waves / terms.waves);
  const double whole = estimate(shape);
  const double products = flops(shape) / (units * unit_flops(*machine.timing->compute, shape.dtype));
  const double tiles = terms.products * filled;
  GemmTimeParts parts;
  parts.products = products;
  parts.tiles = tiles - products;
  parts.results = whole - estimate(written_only(shape));
  const double rest = std::max(0.0, whole - parts.results - tiles);
  parts.starts = std::min(rest, terms.overhead + terms.beside);
  parts.idle = std::min(rest - parts.starts, terms.products - tiles);
  parts.operands = rest - parts.starts - parts.idle;
  return parts;
}

}  // namespace cortado
