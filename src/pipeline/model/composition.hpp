// A step put together from its operators, by one system after another.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cortado/study.hpp"

#include "pipeline/model/costs.hpp"

namespace cortado::pipeline {

/// The GEMM of a block that a collective depends on, or that depends on it.
struct Partner {
  std::size_t gemm;  ///< index in the block
  Relation relation;
};
/// Related row by row; none if there is no such GEMM.
std::optional<Partner> partner_of(const Block& block, std::size_t op);

/// All ways of one collective of a block.
struct Meeting {
  std::size_t op = 0;  ///< index in the block
  std::vector<Way> ways{};
  std::size_t gemm = 0;  ///< that it depends on
  bool has_gemm = false;
  double gemm_seconds = 0;
};

/// A block with the costs of everything in it.
struct CostedBlock {
  const Block* block = nullptr;
  std::vector<KernelCost> kernels{};  ///< of the operators; nothing for collectives
  KernelCost compute{};               ///< all kernels
  std::vector<Meeting> meetings{};
  std::vector<BesideWay> beside{};
  double beside_alone = 0;  ///< seconds, by the library, in sequence
  double last_beside = 0;   ///< the last of them: at the end of a step, no work is left to hide it
  double beside_joules = 0;
};

Outcome<CostedBlock> cost_block(const Block& block, const Layout& layout, bool inference, ModelCosts& costs);

/// What a system does with a block.
struct BlockTime {
  double seconds = 0;
  double joules = 0;
  std::string beside;              ///< name of the way; empty: none
  double ends = 0;                 ///< once per step: nothing can hide the first weights and the last gradients
  std::vector<const Way*> chosen;  ///< of the meetings
};

BlockTime block_time(const CostedBlock& block, std::string_view system);

/// By one system: time, tokens, exposed time, energy.
SystemRow system_row(const std::vector<CostedBlock>& blocks, const Step& step, std::string_view system,
                     const ModelRequest& request, const Machine& machine);

/// "8192x1280x8192 bf16", "all-reduce of 16KiB", "12.5 MB"
std::string text_of(const Operator& op);

/// Prefill and decode steps of a generation, or the step itself, each with its number of repetitions.
std::vector<std::pair<ModelRequest, double>> steps_of(const ModelRequest& request);

/// Whether the machine has what the system needs.
bool has_system(std::string_view system, const Machine& machine);

}  // namespace cortado::pipeline
