#include "pipeline/model/stand_ins.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gemm/gemm.hpp"
#include "gemm/kernels.hpp"

namespace cortado::pipeline {
namespace {

constexpr std::uint64_t kDepthStep = 64;
constexpr std::uint64_t kWide = 4096;  // rows and columns of a GEMM that represents attention: tiles for all units
constexpr Bytes kLine{128};

}  // namespace

std::optional<GemmShape> gemm_as_long_as(double seconds, const Machine& machine) {
  const auto time_of = [&](std::uint64_t steps) {
    const GemmShape shape{kWide, kWide, steps * kDepthStep, DType::bf16};
    const Tiling tiling = choose_tiling(shape, machine, machine.compute_units);
    return estimate_gemm(shape, tiling, machine, machine.compute_units).seconds;
  };
  if (seconds < time_of(1)) return std::nullopt;
  std::uint64_t fits = 1;
  std::uint64_t most = 2;
  while (time_of(most) < seconds) most *= 2;
  while (most - fits > 1) {
    const std::uint64_t middle = fits + (most - fits) / 2;
    (time_of(middle) <= seconds ? fits : most) = middle;
  }
  return GemmShape{kWide, kWide, fits * kDepthStep, DType::bf16};
}

Region StandIns::matrix(const char* name, std::uint64_t rows, Bytes width, BufferRole role) {
  const BufferId id = builder_.buffer(fmt::format("{}{}.{}", name, rank_.value, count_++), rank_, width * rows, role);
  return {id, {}, width, rows, rows == 1 ? Bytes{} : width};
}

Command StandIns::gemm(const GemmShape& shape) {
  const Bytes element = size_of(shape.dtype);
  const Region a = matrix("a", shape.m, element * shape.k, BufferRole::input);
  const Region b = matrix("b", shape.k, element * shape.n, BufferRole::input);
  const Region c = matrix("c", shape.m, element * shape.n, BufferRole::output);
  return gemm_command(shape, tiling_on(units_, shape, costs_.roomy()), a, b, c);
}

Command StandIns::copy(double seconds) {
  const double bytes = seconds * costs_.copy_rate();
  const Bytes whole{std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bytes / static_cast<double>(kLine.value))) *
                    kLine.value};
  const Region from = matrix("in", 1, whole, BufferRole::input);
  const Region to = matrix("out", 1, whole, BufferRole::output);
  return Kernel{.op = KernelOp::reduce, .sources = {from}, .dst = to};
}

Command StandIns::attention(const AttentionShape& shape) {
  const Machine& machine = costs_.machine();
  const double seconds = attention_seconds(shape, machine);
  const double memory =
      shape.bytes / (machine.timing->memory.rate.bytes_per_second() * machine.timing->kernels->attention_read_share);
  if (shape.fused && memory < seconds) {
    if (const auto as_long = gemm_as_long_as(seconds, costs_.roomy())) return gemm(*as_long);
  }
  return copy(seconds);
}

Command StandIns::command(const Operator& op) {
  if (const GemmWork* work = op.gemm()) return gemm(joined(*work));
  if (const auto* shape = std::get_if<AttentionShape>(&op.work)) return attention(*shape);
  return copy(stream_seconds(std::get<StreamWork>(op.work).bytes, costs_.machine()));
}

}  // namespace cortado::pipeline
