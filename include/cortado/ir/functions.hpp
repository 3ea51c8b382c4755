// The one table of functions that a Call (program.hpp) can name: what a transformer layer has beside GEMMs, copies and
// sums. Verifier, simulator and devices derive from it.
//
// All matrices are f32 and row-major, but for numbers of tokens and of positions, which are i32, one a row. Every
// function is total: whatever the bytes, there is a result.
//
//   rms_norm   y = x * w / sqrt(mean over the row of x^2 + epsilon);  parameter epsilon in units of 1e-9
//   rope       every head of a row is turned by its position p: with h = head_dim / 2 and f = p * theta^(-i / h),
//              (x[i], x[i + h]) -> (x[i] cos f - x[i + h] sin f, x[i + h] cos f + x[i] sin f);
//              parameters head_dim, theta
//   swiglu     y = g / (1 + exp(-g)) * u
//   embedding  row (token modulo rows of the table) of the table
//   argmax     the first column that has the largest number of the row
//   append     the cache of `sequences` sequences, one below another, each with the same number of rows (its capacity);
//              new rows stand sequence by sequence. A new row replaces row (its position modulo capacity) of its
//              sequence, first to last; parameter sequences
//   attention  row i of q, of sequence s at position p, over rows 0 .. p (at most all) of sequence s of the caches of
//              keys and values: softmax(q k / sqrt(head_dim)) v, for each head; heads / kv_heads heads in turn share one
//              of the caches; parameters sequences, heads, kv_heads
//   route      gates of experts: the softmax over the `top_k` largest numbers of the row, of equals the first; 0 for all
//              others; parameter top_k
//   scale      y = x * (column `column` of the row of gates); parameter column
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cortado {

enum class Function { rms_norm, rope, swiglu, embedding, argmax, append, attention, route, scale };

/// What row i of the result depends on.
enum class OperandKind {
  rows,   ///< row i of the operand
  whole,  ///< all of it
};

struct OperandInfo {
  std::string_view name;
  OperandKind kind = OperandKind::rows;
  bool integers = false;  ///< i32, one a row; else f32
};

struct FunctionInfo {
  Function function;
  std::string_view name;
  std::array<OperandInfo, 4> operands{};  ///< those that have a name
  std::array<std::string_view, 3> parameters{};
  bool integers = false;  ///< the result is i32, one a row

  constexpr std::size_t operand_count() const { return count(operands, [](const auto& o) { return o.name; }); }
  constexpr std::size_t parameter_count() const { return count(parameters, [](auto p) { return p; }); }
  /// Some operand is taken row by row: row i of the result is a function of rows i, so rows may be computed apart.
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
    FunctionInfo{
        Function::rms_norm, "rms_norm", {{{"x"}, {"weight", OperandKind::whole}}}, {"epsilon of 1e-9"}},
    FunctionInfo{Function::rope, "rope", {{{"x"}, {"positions", OperandKind::rows, true}}}, {"head_dim", "theta"}},
    FunctionInfo{Function::swiglu, "swiglu", {{{"gate"}, {"up"}}}, {}},
    FunctionInfo{Function::embedding,
                 "embedding",
                 {{{"tokens", OperandKind::rows, true}, {"table", OperandKind::whole}}},
                 {}},
    FunctionInfo{Function::argmax, "argmax", {{{"logits"}}}, {}, true},
    FunctionInfo{Function::append,
                 "append",
                 {{{"cache", OperandKind::whole},
                   {"rows", OperandKind::whole},
                   {"positions", OperandKind::whole, true}}},
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
