#include "gemm/gemm.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"
#include "gemm/matrix_timing.hpp"
#include "ir/tiles.hpp"

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
    case DType::i8:
      return compute.i8;
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

double unit_flops_at(double clock_ghz, DType dtype, const ComputeTiming& compute) {
  const MatrixTiming matrix = matrix_timing(compute, dtype);
  return matrix.flops_per_clock * clock_ghz * 1e9 * matrix.efficiency;
}

double unit_flops(const ComputeTiming& compute, DType dtype) {
  return unit_flops_at(matrix_timing(compute, dtype).clock_ghz, dtype, compute);
}

DType result_type(const GemmShape& shape) {
  return shape.result.value_or(shape.dtype);
}

std::uint64_t group_count(const GemmShape& shape) {
  if (shape.groups.empty()) return 1;
  std::uint64_t count = 0;
  for (const RowGroup& group : shape.groups) count += group.count;
  return count;
}

std::uint64_t group_rows(const GemmShape& shape) {
  const std::uint64_t count = group_count(shape);
  return (shape.m + count - 1) / count;
}

GemmShape batched(GemmShape shape, std::uint64_t count) {
  if (count == 1) return shape;
  shape.groups = {{shape.m, count}};
  shape.m *= count;
  return shape;
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
  return read_bytes(shape) + size_of(result_type(shape)) * (shape.m * shape.n);
}

Bytes read_bytes(const GemmShape& shape) {
  const std::uint64_t weights = group_count(shape) * shape.k * shape.n;
  const Bytes elements = size_of(shape.dtype) * (shape.m * shape.k + weights);
  if (shape.scale_block == 0) return elements;
  const std::uint64_t block = shape.scale_block;
  return elements + Bytes{sizeof(float) * (shape.m * shape.k / block + weights / block / block)};
}

std::uint64_t workgroups(const GemmShape& shape, const Tiling& tiling) {
  const auto tiles = [](std::uint64_t extent, std::uint64_t tile) { return (extent + tile - 1) / tile; };
  std::uint64_t along_m = shape.groups.empty() ? tiles(shape.m, tiling.tile_m) : 0;
  for (const RowGroup& group : shape.groups) along_m += group.count * tiles(group.rows, tiling.tile_m);
  return along_m * tiles(shape.n, tiling.tile_n) * tiling.split_k;
}

std::string to_string(const GemmShape& shape) {
  std::string rows = shape.groups.empty() ? fmt::format("{}", shape.m) : "";
  for (const RowGroup& group : shape.groups) {
    rows += fmt::format("{}{}", rows.empty() ? "" : "+", group.rows);
    if (group.count > 1) rows += fmt::format("*{}", group.count);
  }
  std::string text = fmt::format("{}x{}x{} {}", rows, shape.n, shape.k, to_string(shape.dtype));
  if (result_type(shape) != shape.dtype) text += fmt::format(" to {}", to_string(result_type(shape)));
  if (shape.scale_block > 0) text += fmt::format(", scales of {}", shape.scale_block);
  return text;
}

std::optional<GemmShape> parse_gemm(std::string_view text, DType dtype) {
  std::string extents(text);
  std::ranges::replace(extents, 'X', 'x');
  std::vector<std::uint64_t> numbers;
  for (const std::string& extent : split(extents, 'x')) {
    const auto number = parse_count(extent);
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

namespace {

/// Different numbers of tiles among these that are not 0 and below `all`, and one.
template <class Marks>
std::uint64_t groups_of(const Marks& marks, std::uint64_t all) {
  std::uint64_t groups = 1;
  std::uint64_t last = 0;
  for (const auto& mark : marks) {
    if (mark.tiles > last && mark.tiles < all) ++groups;
    last = mark.tiles;
  }
  return groups;
}

}  // namespace

std::uint64_t rows_in_step(const Gemm& gemm, std::uint32_t units) {
  if (gemm.waits.empty() && gemm.raises.empty()) return 0;
  const std::uint64_t tiles = tile_count(gemm);
  if (!gemm.waits.empty()) return std::max<std::uint64_t>(1, gemm.m / groups_of(gemm.waits, tiles));
  const std::uint64_t groups = groups_of(gemm.raises, tiles);
  const std::uint64_t workgroups = tiles * gemm.split_k;
  const std::uint64_t side_by_side = (units * groups + workgroups - 1) / workgroups;
  return std::max<std::uint64_t>(1, std::min(gemm.m, gemm.m / groups * std::max<std::uint64_t>(1, side_by_side)));
}

}  // namespace cortado
