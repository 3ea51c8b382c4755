// verify.bounds for calls of functions.
#include <string>

#include <fmt/format.h>

#include "ir/functions.hpp"
#include "verify/fit_check.hpp"

namespace cortado::verifier {
namespace {

/// The region is a matrix of this many rows, of f32 or, for integers, of one i32 per row.
void check_rows(FitCheck& fit, const Region& region, const std::string& name, std::uint64_t rows, bool integers) {
  const DType dtype = integers ? DType::i32 : DType::f32;
  const std::uint64_t columns = integers ? 1 : region.width.value / size_of(dtype).value;
  fit.matrix(region, name, rows, columns, dtype);
}

/// How the widths and parameters of a function must relate; the numbers of rows of all operands are already checked.
void check_widths(FitCheck& fit, const Call& call) {
  const std::uint64_t element = size_of(DType::f32).value;
  const auto width = [&](std::size_t operand) { return call.operands[operand].width.value / element; };
  const std::uint64_t result = call.result.width.value / element;
  const auto& p = call.parameters;
  const auto wants = [&](bool good, const char* what) {
    if (!good)
      fit.error(fmt::format("{}: {}", info(call.function).name, what), "see cortado/program.hpp for what it takes");
  };
  const auto divides = [](std::uint64_t part, std::uint64_t whole) { return part > 0 && whole % part == 0; };
  switch (call.function) {
    case Function::rms_norm:
      return wants(width(0) == width(1) && call.operands[1].rows == 1 && result == width(0),
                   "x, weight and result must have rows of the same width, and weight a single row");
    case Function::rope:
      return wants(divides(p[0], width(0)) && p[0] % 2 == 0 && p[1] > 0 && result == width(0),
                   "rows must be whole heads of an even width, and theta must be positive");
    case Function::swiglu:
      return wants(width(0) == width(1) && result == width(0), "gate, up and result must have rows of the same width");
    case Function::embedding:
      return wants(result == width(1), "rows of table and result must have the same width");
    case Function::argmax:
      return;
    case Function::append:
      return wants(width(0) == width(1) && result == width(0) && call.result.rows == call.operands[0].rows &&
                       call.operands[1].rows == call.operands[2].rows && divides(p[0], call.result.rows) &&
                       divides(p[0], call.operands[1].rows),
                   "rows must have the same width; sequences must divide the rows of the cache and the new ones");
    case Function::attention: {
      const bool heads = divides(p[1], width(0)) && divides(p[2], p[1]) && width(1) == width(0) / p[1] * p[2];
      return wants(heads && width(2) == width(1) && result == width(0) &&
                       call.operands[1].rows == call.operands[2].rows && divides(p[0], call.operands[1].rows) &&
                       divides(p[0], call.result.rows) && call.operands[0].rows == call.result.rows &&
                       call.operands[3].rows == call.result.rows,
                   "heads, kv_heads and sequences must divide what they count");
    }
    case Function::route:
      return wants(p[0] > 0 && p[0] <= width(0) && result == width(0), "top_k must be from 1 to the number of experts");
    case Function::scale:
      return wants(p[0] < width(1) && result == width(0), "the gates have no such column");
  }
}

}  // namespace

void check_call(FitCheck& fit, const Call& call) {
  const FunctionInfo& function = info(call.function);
  if (call.operands.size() != function.operand_count() || call.parameters.size() != function.parameter_count()) {
    fit.error(fmt::format("{} with {} operands and {} parameters", function.name, call.operands.size(),
                          call.parameters.size()),
              fmt::format("it takes {} and {}", function.operand_count(), function.parameter_count()));
    return;
  }
  check_rows(fit, call.result, "the result", call.result.rows, function.integers);
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const OperandInfo& operand = function.operands[i];
    const Region& region = call.operands[i];
    const std::uint64_t rows = operand.kind == OperandKind::rows ? call.result.rows : region.rows;
    check_rows(fit, region, std::string(operand.name), rows, operand.integers);
    const bool in_place = call.function == Function::append && i == 0 && region == call.result;
    if (!in_place) fit.apart(region, call.result);
  }
  check_widths(fit, call);
}

}  // namespace cortado::verifier
