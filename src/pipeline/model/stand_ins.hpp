// Commands of programs for operators of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cortado/program.hpp"

#include "pipeline/model/costs.hpp"
#include "plan/c3.hpp"

namespace cortado::pipeline {

class StandIns {
 public:
  /// Of one GPU; its buffers are added to the builder.
  StandIns(ProgramBuilder& builder, RankId rank, const GemmUnits& units, ModelCosts& costs)
      : builder_(builder), rank_(rank), units_(units), costs_(costs) {}

  /// A GEMM as it is; for any other kernel, one that takes as long alone. The operator is not a collective.
  Command command(const Operator& op);

 private:
  Region matrix(const char* name, std::uint64_t rows, Bytes width, BufferRole role);
  Command gemm(const GemmShape& shape);
  Command copy(double seconds);
  Command attention(const AttentionShape& shape);

  ProgramBuilder& builder_;
  RankId rank_;
  GemmUnits units_;
  ModelCosts& costs_;
  std::size_t count_ = 0;
};

/// A GEMM whose depth is chosen so that it takes about this long alone, without its start. None: all take longer.
std::optional<GemmShape> gemm_as_long_as(double seconds, const Machine& machine);

}  // namespace cortado::pipeline
