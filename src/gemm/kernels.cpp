#include "gemm/kernels.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gemm/gemm.hpp"
#include "gemm/matrix_timing.hpp"

namespace cortado {
namespace {

constexpr double kBackwardProducts = 2.5;
constexpr double kBackwardSoftmax = 2;

/// A kernel on all units that moves so many bytes a second and does `events_w` of arithmetic, at the nominal clock.
double kernel_watts(double bytes_per_second, double arithmetic_w, const Machine& machine) {
  const Power& power = *machine.power;
  const auto awake = [](const std::optional<ComponentPower>& component) {
    return component ? component->idle_w + component->leakage_w + component->clock_w : 0;
  };
  const double bytes_w = bytes_per_second * (power.l2_byte + power.cache_byte + power.hbm_byte);
  const double units_w = power.unit_w * machine.compute_units;
  const double drawn = power.rest_idle_w + (1 + power.loss) * (awake(power.xcd) + awake(power.iod) + awake(power.hbm) +
                                                               units_w + bytes_w + arithmetic_w);
  return std::min(drawn, power.cap_w);
}

}  // namespace

double flops(const AttentionShape& shape) {
  return 2 * shape.scores * static_cast<double>(shape.key_dim + shape.value_dim);
}

Status check_kernels(const Machine& machine) {
  if (machine.timing && machine.timing->compute && machine.timing->kernels) return {};
  return fail(About::machine, "model.machine",
              fmt::format("{} does not describe the cost of the kernels of a model", machine.name),
              "use a machine whose file has [compute] and [kernels], such as mi300x-8");
}

double attention_seconds(const AttentionShape& shape, const Machine& machine) {
  const ComputeTiming& compute = *machine.timing->compute;
  const KernelTiming& kernels = *machine.timing->kernels;
  const double units = machine.compute_units;
  const double clock = sustained_clock_ghz(shape.dtype, machine) * 1e9;
  const double products =
      flops(shape) / (unit_flops(compute, shape.dtype) * units) * (shape.backward ? kBackwardProducts : 1);
  const double softmax =
      shape.scores / (units * kernels.softmax_per_clock * clock) * (shape.backward ? kBackwardSoftmax : 1);
  const double memory = shape.bytes / (machine.timing->memory.rate.bytes_per_second() * kernels.attention_read_share);
  if (!shape.fused) return products + memory;
  return std::max((products + softmax) / (shape.backward ? kernels.attention_backward : 1), memory);
}

double stream_seconds(double bytes, const Machine& machine) {
  const MemoryTiming& memory = machine.timing->memory;
  return bytes / (memory.rate.bytes_per_second() * machine.timing->kernels->stream_share);
}

double call_seconds(const Call& call, const Machine& machine) {
  auto bytes = static_cast<double>(call.result.bytes().value);
  for (const Region& operand : call.operands) bytes += static_cast<double>(operand.bytes().value);
  if (call.function != Function::attention) return stream_seconds(bytes, machine);
  const std::uint64_t heads = call.parameters[1];
  const std::uint64_t head_dim = call.result.width.value / size_of(DType::f32).value / heads;
  const std::uint64_t capacity = call.operands[1].rows / call.parameters[0];
  const AttentionShape shape{.scores = static_cast<double>(call.result.rows * heads * capacity),
                             .key_dim = head_dim,
                             .value_dim = head_dim,
                             .bytes = bytes,
                             .dtype = DType::f32};
  return attention_seconds(shape, machine);
}

double attention_watts(const AttentionShape& shape, const Machine& machine) {
  const double seconds = attention_seconds(shape, machine);
  if (seconds <= 0) return machine.power->idle_w();
  const double products = flops(shape) * (shape.backward ? kBackwardProducts : 1);
  return kernel_watts(shape.bytes / seconds, products * machine.power->bf16_flop / seconds, machine);
}

double stream_watts(double bytes, const Machine& machine) {
  const double seconds = stream_seconds(bytes, machine);
  return seconds <= 0 ? machine.power->idle_w() : kernel_watts(bytes / seconds, 0, machine);
}

double kernel_gap_seconds(const Machine& machine) {
  return to_seconds(machine.timing->kernels->gap);
}

}  // namespace cortado
