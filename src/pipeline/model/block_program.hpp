// A block of a step as one program: all its kernels, the strategies that a system chose for its collectives, and the
// collectives beside it, on all GPUs of the node that take part.
//
//   a stream     kernels that nothing is cut of stand in one compute queue for each GPU
//   in line      a collective, alone or with the GEMM that it depends on by its strategy, is launched by the host when
//   it
//                has seen the end of what stands before it
//   beside       weights and gradients have host threads of their own; both begin and end the block together, as FSDP
//                does that gathers one layer ahead
//
// GEMMs and collectives are what they are elsewhere. Kernels that programs have no command for have stand-ins that take
// as long alone: what memory bounds is a copy, attention that arithmetic bounds a GEMM. So they meet collectives
// beside them as such kernels do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/target.hpp"

#include "pipeline/model/composition.hpp"

namespace cortado::pipeline {

struct BlockProgram {
  Program program;
  double gaps = 0;  ///< seconds between kernels (kernel_gap_seconds) that the program does not have
  std::optional<ArbitrationPolicy> arbitration{};

  /// Names of operators, by queue and command.
  struct Name {
    std::string queue;
    std::uint32_t command = 0;
    std::string text;
  };
  std::vector<Name> names{};
};

/// Refuses blocks whose collectives are of groups of different sizes or leave the node (model.program).
Outcome<BlockProgram> plan_block(const CostedBlock& costed, std::string_view system, const Layout& layout,
                                 ModelCosts& costs);

/// Simulates it, nothing proved.
Outcome<Run> simulate_block(const BlockProgram& block, const Machine& machine, RunOptions options);

/// Gives spans of operators their names.
void name_spans(Timeline& timeline, const BlockProgram& block);

}  // namespace cortado::pipeline
