#include "gemm/fit/fit.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

namespace cortado::fit {
namespace {

ComputeTiming& compute(Machine& machine) {
  return *machine.timing->compute;
}
const ComputeTiming& compute(const Machine& machine) {
  return *machine.timing->compute;
}

template <class Member>
Constant of_compute(std::string_view key, double least, double most, Member member) {
  return {key, least, most, [member](const Machine& m) { return static_cast<double>(compute(m).*member); },
          [member](Machine& m, double value) { compute(m).*member = value; }};
}

Constant time_of(std::string_view key, double least, double most, Nanoseconds ComputeTiming::*member) {
  return {key, least, most, [member](const Machine& m) { return static_cast<double>((compute(m).*member).value); },
          [member](Machine& m, double value) { compute(m).*member = Nanoseconds{std::llround(value)}; }};
}

Constant rate_of(std::string_view key, double least, double most, GBps ComputeTiming::*member) {
  return {key, least, most, [member](const Machine& m) { return (compute(m).*member).value; },
          [member](Machine& m, double value) { (compute(m).*member).value = value; }};
}

MatrixTiming ComputeTiming::*matrix_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return &ComputeTiming::f32;
    case DType::f16:
      return &ComputeTiming::f16;
    case DType::f8:
      return &ComputeTiming::f8;
    case DType::i8:
      return &ComputeTiming::i8;
    default:
      return &ComputeTiming::bf16;
  }
}

double Power::*flop_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return &Power::f32_flop;
    case DType::f16:
      return &Power::f16_flop;
    case DType::f8:
      return &Power::f8_flop;
    case DType::i8:
      return &Power::i8_flop;
    default:
      return &Power::bf16_flop;
  }
}

}  // namespace

std::vector<Constant> constants(DType dtype) {
  MatrixTiming ComputeTiming::*matrix = matrix_of(dtype);
  double Power::*flop = flop_of(dtype);
  return {
      time_of("compute.start_ns", 500, 8000, &ComputeTiming::start),
      {"memory.rate_GBps", 100, 20000, [](const Machine& m) { return m.timing->memory.rate.value; },
       [](Machine& m, double value) { m.timing->memory.rate.value = std::min(value, m.timing->memory.peak.value); }},
      {"compute.efficiency", 0.3, 1, [matrix](const Machine& m) { return (compute(m).*matrix).efficiency; },
       [matrix](Machine& m, double value) { (compute(m).*matrix).efficiency = value; }},
      rate_of("compute.l2_rate_GBps", 100, 100000, &ComputeTiming::l2_rate),
      rate_of("compute.unit_rate_GBps", 5, 500, &ComputeTiming::unit_rate),
      of_compute("compute.operand_cost", 1, 100, &ComputeTiming::operand_cost),
      of_compute("compute.step_latency_ns", 0.05, 5, &ComputeTiming::step_latency_ns),
      time_of("compute.tile_overhead_ns", 50, 5000, &ComputeTiming::tile_overhead),
      of_compute("compute.wave_rounding", 0.02, 1, &ComputeTiming::wave_rounding),
      of_compute("compute.residency", 0.3, 4, &ComputeTiming::residency),
      of_compute("compute.overlap_sharpness", 1.5, 12, &ComputeTiming::overlap_sharpness),
      rate_of("compute.write_rate_GBps", 300, 20000, &ComputeTiming::write_rate),
      time_of("compute.first_bytes_ns", 20, 3000, &ComputeTiming::first_bytes),
      time_of("compute.split_ns", 100, 8000, &ComputeTiming::split_time),
      rate_of("compute.split_rate_GBps", 300, 30000, &ComputeTiming::split_rate),
      of_compute("compute.warm_share", 0.1, 1, &ComputeTiming::warm_share),
      {"power.flop_pJ", 0.05, 5, [flop](const Machine& m) { return m.power ? (*m.power).*flop * 1e12 : 0; },
       [flop](Machine& m, double value) { (*m.power).*flop = value * 1e-12; }},
      {"power.burst_ms", 1, 1000, [](const Machine& m) { return m.power ? m.power->burst_ms : 0; },
       [](Machine& m, double value) { m.power->burst_ms = value; }},
  };
}

double mean_error(std::span<const Point> points, const Machine& machine) {
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<double> sums(threads, 0);
  std::vector<std::jthread> workers;
  for (unsigned worker = 0; worker < threads; ++worker) {
    workers.emplace_back([&, worker] {
      double sum = 0;
      for (std::size_t i = worker; i < points.size(); i += threads) sum += std::abs(error_of(points[i], machine));
      sums[worker] = sum;
    });
  }
  workers.clear();
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum / static_cast<double>(points.size());
}

Machine fitted(Machine machine, std::span<const Point> points, std::span<const Constant> free, int rounds) {
  double best = mean_error(points, machine);
  std::vector<double> steps(free.size(), 0.15);  // of the logarithm
  for (int round = 0; round < rounds; ++round) {
    bool moved = false;
    for (std::size_t i = 0; i < free.size(); ++i) {
      const double value = free[i].get(machine);
      if (value <= 0) continue;
      bool better = false;
      for (const double direction : {1.0, -1.0}) {
        const double next = std::clamp(value * std::exp(direction * steps[i]), free[i].least, free[i].most);
        if (next == value) continue;
        free[i].set(machine, next);
        const double error = mean_error(points, machine);
        if (error < best - 1e-6) {
          best = error;
          better = true;
          break;
        }
        free[i].set(machine, value);
      }
      steps[i] *= better ? 1.3 : 0.5;
      moved = moved || better || steps[i] > 0.005;
    }
    if (!moved) break;
  }
  return machine;
}

}  // namespace cortado::fit
