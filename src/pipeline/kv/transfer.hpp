// KV transfers of a model as programs, simulated: of a number of blocks, or as a line through two simulations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "plan/kv.hpp"

namespace cortado::pipeline {

/// What of a block stands in one piece.
struct KvLayoutInfo {
  std::string_view name;
  std::string_view summary;
};
/// per-layer (keys and values of each layer apart), layer (together), cross-layer (a block is one piece).
const std::vector<KvLayoutInfo>& kv_layouts();

struct KvBlocks {
  std::uint32_t tp = 1;
  DType dtype = DType::bf16;
  std::uint64_t tokens = 16;  ///< of a block
  std::string layout = "per-layer";
};

/// A request for one block. Where there are fewer KV heads than GPUs, or latents, GPUs in a row hold the same bytes.
/// Refuses layouts that there are not, or not for the model (kv.layout), and degrees that do not divide heads or exceed
/// the machine (kv.tp).
Result<plan::KvRequest> kv_request(const Model& model, const KvBlocks& blocks, const Machine& machine);

struct KvTransfer {
  double seconds = 0;
  double host_seconds = 0;  ///< of the busiest host thread, waiting left out
  double joules = 0;        ///< of all GPUs; 0 where the machine says nothing of power
};

/// Simulates a request. Ranks that share nothing with others are simulated once for all.
Outcome<KvTransfer> simulate_kv(const plan::NamedKvStrategy& strategy, const plan::KvRequest& request,
                                const Machine& machine);

/// fixed + n x per block.
struct KvLine {
  KvTransfer fixed{};
  KvTransfer per_block{};
  std::uint64_t from_blocks = 0;  ///< it is a line from here on; batches of the runtime fill up before

  KvTransfer at(std::uint64_t blocks) const;
};
Outcome<KvLine> kv_line(const plan::NamedKvStrategy& strategy, const plan::KvRequest& request, const Machine& machine);

/// By simulation up to where the line begins, by the line beyond.
Outcome<KvTransfer> kv_transfer(const plan::NamedKvStrategy& strategy, const plan::KvRequest& request,
                                const Machine& machine, const KvLine& line);

/// Compute units that the strategy holds on each GPU.
std::uint32_t kv_compute_units(const plan::NamedKvStrategy& strategy, const Machine& machine);

/// Bytes of the request over the host link of the busiest GPU.
double kv_link_bytes(const plan::NamedKvStrategy& strategy, const plan::KvRequest& request);

}  // namespace cortado::pipeline
