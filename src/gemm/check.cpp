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
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8}) {
    if (matrix_timing(compute, dtype).flops_per_clock > 0) known.emplace_back(to_string(dtype));
  }
  return fail("gemm.dtype", fmt::format("machine {} has no GEMMs of {}", machine.name, to_string(shape.dtype)),
              "it has those of " + join(known));
}

Status check_memory(const GemmShape& shape, const Machine& machine, Bytes beside) {
  const Bytes operands = operand_bytes(shape);
  if (operands.value <= machine.memory_bytes.value && beside.value <= machine.memory_bytes.value - operands.value) {
    return {};
  }
  const Bytes element = size_of(shape.dtype);
  std::string what =
      fmt::format("the GEMM {} takes {} (A {}, B {}, C {})", to_string(shape), format_bytes(operands),
                  format_bytes(element * (shape.m * shape.k)), format_bytes(element * (shape.k * shape.n)),
                  format_bytes(element * (shape.m * shape.n)));
  if (beside.value > 0) what += fmt::format(" beside {} of the collective", format_bytes(beside));
  return fail(About::machine, "gemm.memory",
              fmt::format("{}, but a GPU of {} has {}", what, machine.name, format_bytes(machine.memory_bytes)),
              "make a dimension smaller, as a split over the GPUs would");
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
                fmt::format("give 1 to {}", d.largest));
  }
  return {};
}

Status check_gemm(const GemmShape& shape, const Machine& machine, Bytes beside) {
  CORTADO_RETURN_IF_ERROR(check_dimensions(shape));
  if (!machine.timing || !machine.timing->compute) {
    Diagnostic diagnostic{"gemm.compute", fmt::format("machine {} does not say what GEMMs cost", machine.name),
                          "add the section [compute] (machines/README.md), or choose a machine that has one"};
    diagnostic.place.file = machine.file;
    return fail(std::move(diagnostic));
  }
  CORTADO_RETURN_IF_ERROR(check_dtype(shape, machine));
  return check_memory(shape, machine, beside);
}

}  // namespace cortado
