#include "gemm/gemm.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"
#include "gemm/matrix_timing.hpp"

namespace cortado {

MatrixTiming matrix_timing(const ComputeTiming& compute, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return compute.f32;
    case DType::f16:
      return compute.f16;
    case DType::bf16:
      return compute.bf16;
    case DType::f8:
      return compute.f8;
    case DType::u8:
    case DType::i32:
      return {};
  }
  return {};
}

double sustained_clock_ghz(DType dtype, const Machine& machine) {
  return matrix_timing(*machine.timing->compute, dtype).clock_ghz;
}

double reference_clock_ghz(DType dtype, const Machine& machine) {
  if (machine.power && machine.power->xcd) return machine.power->xcd->nominal_ghz;
  return sustained_clock_ghz(dtype, machine);
}

Nanoseconds gemm_start(const Machine& machine) {
  const Nanoseconds own = machine.timing->compute->start;
  return own.value > 0 ? own : machine.timing->cores.start;
}

Nanoseconds start_of(const Command& command, const Machine& machine) {
  return std::holds_alternative<Gemm>(command) ? gemm_start(machine) : machine.timing->cores.start;
}

Nanoseconds first_start(const Queue& queue, const Machine& machine) {
  return queue.commands.empty() ? machine.timing->cores.start : start_of(queue.commands.front(), machine);
}

double unit_flops(const ComputeTiming& compute, DType dtype) {
  const MatrixTiming matrix = matrix_timing(compute, dtype);
  return matrix.flops_per_clock * matrix.clock_ghz * 1e9 * matrix.efficiency;
}

GemmShape shape_of(const Gemm& gemm) {
  return {gemm.m, gemm.n, gemm.k, gemm.dtype, gemm.accumulate};
}

Tiling tiling_of(const Gemm& gemm) {
  return {gemm.tile_m, gemm.tile_n, gemm.split_k};
}

Gemm gemm_command(const GemmShape& shape, const Tiling& tiling, const Region& a, const Region& b, const Region& c) {
  return {.a = a,
          .b = b,
          .c = c,
          .m = shape.m,
          .n = shape.n,
          .k = shape.k,
          .dtype = shape.dtype,
          .accumulate = shape.accumulate,
          .tile_m = tiling.tile_m,
          .tile_n = tiling.tile_n,
          .split_k = tiling.split_k};
}

double flops(const GemmShape& shape) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
}

Bytes operand_bytes(const GemmShape& shape) {
  return size_of(shape.dtype) * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
}

Bytes read_bytes(const GemmShape& shape) {
  return size_of(shape.dtype) * (shape.m * shape.k + shape.k * shape.n);
}

std::uint64_t workgroups(const GemmShape& shape, const Tiling& tiling) {
  const auto tiles = [](std::uint64_t extent, std::uint64_t tile) { return (extent + tile - 1) / tile; };
  return tiles(shape.m, tiling.tile_m) * tiles(shape.n, tiling.tile_n) * tiling.split_k;
}

std::string to_string(const GemmShape& shape) {
  return fmt::format("{}x{}x{} {}", shape.m, shape.n, shape.k, to_string(shape.dtype));
}

std::optional<GemmShape> parse_gemm(std::string_view text, DType dtype) {
  std::string extents(text);
  std::ranges::replace(extents, 'X', 'x');
  std::vector<std::uint64_t> numbers;
  for (const std::string& extent : split(extents, 'x')) {
    const auto number = parse_number<std::uint64_t>(extent);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.size() != 3) return std::nullopt;
  return GemmShape{.m = numbers[0], .n = numbers[1], .k = numbers[2], .dtype = dtype};
}

bool is_memory_bound(const GemmShape& shape, const Machine& machine) {
  const double compute = flops(shape) / (machine.compute_units * unit_flops(*machine.timing->compute, shape.dtype));
  const double memory =
      static_cast<double>(operand_bytes(shape).value) / machine.timing->memory.rate.bytes_per_second();
  return memory > compute;
}

std::uint64_t rows_in_step(const Gemm& gemm) {
  std::uint64_t groups = 0;
  std::uint64_t last = 0;
  for (const TileWait& wait : gemm.waits) {
    if (groups == 0 || wait.tiles != last) ++groups;
    last = wait.tiles;
  }
  if (groups == 0) return 0;
  if (gemm.waits.front().tiles > 0) ++groups;
  return std::max<std::uint64_t>(1, gemm.m / groups);
}

}  // namespace cortado
