#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"
#include "gemm/gemm.hpp"
#include "gemm/matrix_timing.hpp"

namespace cortado {
namespace {

/// No operand can then overflow a count of bytes.
constexpr std::uint64_t kLargestDimension = std::uint64_t{1} << 28;

Status check_dtype(const GemmShape& shape, const Machine& machine) {
  const ComputeTiming& compute = *machine.timing->compute;
  if (matrix_timing(compute, shape.dtype).flops_per_clock > 0) return {};
  std::vector<std::string> known;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8, DType::i8}) {
    if (matrix_timing(compute, dtype).flops_per_clock > 0) known.emplace_back(to_string(dtype));
  }
  return fail("gemm.dtype", fmt::format("machine {} has no GEMMs of type {}", machine.name, to_string(shape.dtype)),
              "it has " + join(known));
}

/// C is as wide as A and B, or wider; GEMMs of integers have integer or rounded results.
Status check_result(const GemmShape& shape) {
  const DType result = result_type(shape);
  const bool whole = shape.dtype == DType::i8;
  const bool wide = size_of(result) >= size_of(shape.dtype) && result != DType::u8;
  if (wide && (is_float(result) || whole)) return {};
  return fail("gemm.dtype",
              fmt::format("no library has a GEMM of {} with results of {}", to_string(shape.dtype), to_string(result)),
              whole ? "use i32, bf16, f16, f32 or i8" : "use a floating-point type that is at least as wide");
}

Status check_scales(const GemmShape& shape, const Machine& machine) {
  constexpr std::uint32_t kMostBlock = 4096;
  if (shape.scale_block == 0) return {};
  if (size_of(shape.dtype).value != 1 || shape.scale_block > kMostBlock) {
    return fail(
        "gemm.scales",
        fmt::format("block scales of {} do not work for elements of {}", shape.scale_block, to_string(shape.dtype)),
        fmt::format("block scales are for f8 and i8, in blocks of 1 to {}, usually 128", kMostBlock));
  }
  if (machine.timing->compute->block_scale_efficiency > 0) return {};
  return fail(About::machine, "gemm.scales",
              fmt::format("machine {} does not describe the cost of block scales", machine.name),
              "add compute.block_scale_efficiency to its file (machines/README.md)");
}

Status check_groups(const GemmShape& shape) {
  if (shape.groups.empty()) return {};
  std::uint64_t rows = 0;
  for (const RowGroup& group : shape.groups) {
    if (group.rows == 0 || group.count == 0 || group.rows > kLargestDimension || group.count > kLargestDimension) {
      return fail("gemm.shape", fmt::format("a group of {} x {} rows", group.count, group.rows),
                  fmt::format("use 1 to {}", kLargestDimension));
    }
    rows += group.rows * group.count;
  }
  if (rows == shape.m) return {};
  return fail("gemm.shape", fmt::format("groups with {} rows in a GEMM with {} rows", rows, shape.m),
              "make them add up");
}

Status check_memory(const GemmShape& shape, const Machine& machine, Bytes beside) {
  if (group_count(shape) > 1 && group_count(shape) > machine.memory_bytes.value / (shape.k * shape.n)) {
    return fail(About::machine, "gemm.memory",
                fmt::format("{} has {} matrices B, more than fit in the memory of a GPU of {}", to_string(shape),
                            group_count(shape), machine.name),
                "use fewer groups");
  }
  const Bytes operands = operand_bytes(shape);
  if (operands.value <= machine.memory_bytes.value && beside.value <= machine.memory_bytes.value - operands.value) {
    return {};
  }
  const Bytes element = size_of(shape.dtype);
  std::string what = fmt::format("the GEMM {} needs {} (A {}, B {}, C {})", to_string(shape), readable_bytes(operands),
                                 readable_bytes(element * (shape.m * shape.k)),
                                 readable_bytes(element * (group_count(shape) * shape.k * shape.n)),
                                 readable_bytes(size_of(result_type(shape)) * (shape.m * shape.n)));
  if (beside.value > 0) what += fmt::format(" in addition to {} for the collective", readable_bytes(beside));
  return fail(About::machine, "gemm.memory",
              fmt::format("{}, but a GPU of {} has {}", what, machine.name, readable_bytes(machine.memory_bytes)),
              "use a smaller dimension, for example by splitting the GEMM over the GPUs");
}

}  // namespace

Status check_dimensions(const GemmShape& shape, std::uint32_t gpus) {
  struct Dimension {
    const char* name;
    std::uint64_t extent;
    std::uint64_t largest;
  };
  for (const Dimension& d : {Dimension{"M", shape.m, kLargestDimension * gpus},
                             Dimension{"N", shape.n, kLargestDimension}, Dimension{"K", shape.k, kLargestDimension}}) {
    if (d.extent > 0 && d.extent <= d.largest) continue;
    return fail("gemm.shape", fmt::format("{} of the GEMM {} is {}", d.name, to_string(shape), d.extent),
                fmt::format("use 1 to {}", d.largest));
  }
  return {};
}

Status check_gemm(const GemmShape& shape, const Machine& machine, Bytes beside) {
  if (shape.dtype == DType::i8 || shape.result || shape.scale_block > 0 || !shape.groups.empty()) {
    return fail("gemm.program", fmt::format("programs cannot contain the GEMM {}", to_string(shape)),
                "use f32, f16, bf16 or f8 with a C of the same type; cortado bench gemm predicts the others alone");
  }
  return check_gemm_alone(shape, machine, beside);
}

Status check_gemm_alone(const GemmShape& shape, const Machine& machine, Bytes beside) {
  CORTADO_RETURN_IF_ERROR(check_groups(shape));
  CORTADO_RETURN_IF_ERROR(check_dimensions(shape));
  if (!machine.timing || !machine.timing->compute) {
    Diagnostic diagnostic{"gemm.compute", fmt::format("machine {} does not describe the cost of GEMMs", machine.name),
                          "add the section [compute] (machines/README.md), or choose a machine that has one"};
    diagnostic.place.file = machine.file;
    return fail(std::move(diagnostic));
  }
  CORTADO_RETURN_IF_ERROR(check_dtype(shape, machine));
  CORTADO_RETURN_IF_ERROR(check_result(shape));
  CORTADO_RETURN_IF_ERROR(check_scales(shape, machine));
  return check_memory(shape, machine, beside);
}

}  // namespace cortado
