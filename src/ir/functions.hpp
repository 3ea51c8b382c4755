// The single table of functions that a Call can name. Verifier, simulator and devices derive from it; what each
// function computes is in cortado/program.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "cortado/program.hpp"

namespace cortado {

/// What row i of the result depends on.
enum class OperandKind {
  rows,   ///< row i of the operand
  whole,  ///< all of it
};

struct OperandInfo {
  std::string_view name;
  OperandKind kind = OperandKind::rows;
  bool integers = false;  ///< i32, one per row; otherwise f32
};

struct FunctionInfo {
  Function function;
  std::string_view name;
  std::array<OperandInfo, 4> operands{};  ///< only those with a name are used
  std::array<std::string_view, 3> parameters{};
  bool integers = false;  ///< the result is i32, one per row

  constexpr std::size_t operand_count() const {
    return count(operands, [](const auto& o) { return o.name; });
  }
  constexpr std::size_t parameter_count() const {
    return count(parameters, [](auto p) { return p; });
  }
  /// True if operands are taken row by row: row i of the result depends on their rows i, so rows may be computed
  /// separately.
  constexpr bool by_rows() const { return operands.front().kind == OperandKind::rows; }

 private:
  template <class List, class Name>
  static constexpr std::size_t count(const List& list, Name name) {
    std::size_t named = 0;
    for (const auto& item : list) {
      if (!name(item).empty()) ++named;
    }
    return named;
  }
};

/// In the order of Function.
inline constexpr std::array kFunctionTable{
    FunctionInfo{Function::rms_norm, "rms_norm", {{{"x"}, {"weight", OperandKind::whole}}}, {"epsilon of 1e-9"}},
    FunctionInfo{Function::rope, "rope", {{{"x"}, {"positions", OperandKind::rows, true}}}, {"head_dim", "theta"}},
    FunctionInfo{Function::swiglu, "swiglu", {{{"gate"}, {"up"}}}, {}},
    FunctionInfo{
        Function::embedding, "embedding", {{{"tokens", OperandKind::rows, true}, {"table", OperandKind::whole}}}, {}},
    FunctionInfo{Function::argmax, "argmax", {{{"logits"}}}, {}, true},
    FunctionInfo{
        Function::append,
        "append",
        {{{"cache", OperandKind::whole}, {"rows", OperandKind::whole}, {"positions", OperandKind::whole, true}}},
        {"sequences"}},
    FunctionInfo{Function::attention,
                 "attention",
                 {{{"q", OperandKind::whole},
                   {"keys", OperandKind::whole},
                   {"values", OperandKind::whole},
                   {"positions", OperandKind::whole, true}}},
                 {"sequences", "heads", "kv_heads"}},
    FunctionInfo{Function::route, "route", {{{"logits"}}}, {"top_k"}},
    FunctionInfo{Function::scale, "scale", {{{"x"}, {"gates"}}}, {"column"}},
};

constexpr const FunctionInfo& info(Function function) {
  return kFunctionTable[static_cast<std::size_t>(function)];
}

}  // namespace cortado
