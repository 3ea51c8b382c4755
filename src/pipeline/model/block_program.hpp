// A block of a step as one program: all its kernels, the strategies that a system chose for its collectives, and the
// collectives next to it, on all participating GPUs of the node.
//
//   a stream     kernels that are not cut are in one compute queue per GPU
//   in line      a collective, alone or with the GEMM that it depends on by its strategy, is launched by the host when
//   it
//                has seen the end of what stands before it
//   next to it   weights and gradients have separate host threads; both begin and end the block together, as FSDP
//                does when it gathers one layer ahead
//
// GEMMs and collectives are the same as elsewhere. Kernels without a command in programs have stand-ins that take
// as long alone: a memory-bound kernel is a copy, compute-bound attention is a GEMM. So they contend with collectives
// as the real kernels do.
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

/// Simulates it without a proof.
Outcome<Run> simulate_block(const BlockProgram& block, const Machine& machine, RunOptions options);

/// Gives spans of operators their names.
void name_spans(Timeline& timeline, const BlockProgram& block);

}  // namespace cortado::pipeline
