// KV transfers of a model as simulated programs: for a number of blocks, or as a line through two simulations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "plan/kv.hpp"

namespace cortado::pipeline {

/// Which part of a block is contiguous.
struct KvLayoutInfo {
  std::string_view name;
  std::string_view summary;
};
/// per-layer (keys and values of each layer separately), layer (together), cross-layer (a block is one piece).
const std::vector<KvLayoutInfo>& kv_layouts();

struct KvBlocks {
  std::uint32_t tp = 1;
  DType dtype = DType::bf16;
  std::uint64_t tokens = 16;  ///< of a block
  std::string layout = "per-layer";
};

/// A request for one block. With fewer KV heads than GPUs, or with latents, consecutive GPUs hold the same bytes.
/// Refuses layouts that do not exist or do not suit the model (kv.layout), and degrees that do not divide heads or
/// exceed the machine (kv.tp).
Result<plan::KvRequest> kv_request(const Model& model, const KvBlocks& blocks, const Machine& machine);

struct KvTransfer {
  double seconds = 0;
  double host_seconds = 0;   ///< of the busiest host thread, without waiting
  double joules = 0;         ///< of all GPUs; 0 if the machine does not describe power
  double ahead_seconds = 0;  ///< of the host, before `seconds` begin: packets that wait for a trigger

  /// From the request to the last byte, if the list of blocks is known only then and no earlier step hides what is
  /// submitted ahead: one request on an idle machine.
  double alone_seconds() const { return ahead_seconds + seconds; }
};

/// Simulates a request. Of ranks that share nothing, only one is simulated.
Outcome<KvTransfer> simulate_kv(const plan::NamedKvStrategy& strategy, const plan::KvRequest& request,
                                const Machine& machine);

/// fixed + n x per block.
struct KvLine {
  KvTransfer fixed{};
  KvTransfer per_block{};
  std::uint64_t from_blocks = 0;  ///< the line begins here; before, batches of the runtime fill up

  KvTransfer at(std::uint64_t blocks) const;
};
Outcome<KvLine> kv_line(const plan::NamedKvStrategy& strategy, const plan::KvRequest& request, const Machine& machine);

/// Simulated up to where the line begins; beyond, by the line.
Outcome<KvTransfer> kv_transfer(const plan::NamedKvStrategy& strategy, const plan::KvRequest& request,
                                const Machine& machine, const KvLine& line);

/// Whether its packets walk lists of blocks.
bool kv_lists(const plan::NamedKvStrategy& strategy);

/// Compute units that the strategy holds on each GPU.
std::uint32_t kv_compute_units(const plan::NamedKvStrategy& strategy, const Machine& machine);

/// Bytes of the request over the host link of the busiest GPU.
double kv_link_bytes(const plan::NamedKvStrategy& strategy, const plan::KvRequest& request);

// The cost of fetching KV blocks from host memory into every GPU of a tensor-parallel group, as a line through
// simulated programs: the time of n blocks is seconds_fixed + n x seconds_per_block; and as the times of few blocks,
// which are not on that line. For callers that ask thousands of times, such as a simulator of serving.

struct KvFetchQuestion {
  Model model;
  std::uint32_t tp = 1;
  DType kv_dtype = DType::bf16;
  std::uint32_t block_tokens = 16;
  std::string layout = "per-layer";  ///< of fragments: "per-layer", "layer", "cross-layer"
  std::string strategy = "b2b";      ///< one of plan::kv_strategies()
  bool store = false;                ///< GPU memory to host memory instead
};

/// A block is `block_tokens` tokens of all layers. Every figure is for one GPU of the group, except the time of the
/// host, which is for the busiest thread, and energy, which is for the whole group.
struct KvFetchCost {
  double seconds_fixed = 0;
  double seconds_per_block = 0;
  double host_seconds_fixed = 0;  ///< of a host thread that submits
  double host_seconds_per_block = 0;
  double ahead_seconds_fixed = 0;  ///< of it, before the transfer's time begins
  double ahead_seconds_per_block = 0;
  double link_bytes_per_block = 0;        ///< over the host link of a GPU, in the direction of the transfer
  double energy_j_per_block = 0;          ///< of all GPUs; 0 if the machine does not describe power
  std::uint32_t compute_units = 0;        ///< occupied meanwhile
  std::uint64_t fragments_per_block = 0;  ///< copies

  struct Few {
    std::uint64_t blocks = 0;
    double seconds = 0;
    double host_seconds = 0;
    double ahead_seconds = 0;
  };
  std::vector<Few> few{};  ///< 1, 2, 4, ... blocks up to where the line begins, ascending
};

/// Refuses unsuitable models, layouts and strategies (kv.*), and machines without host links (machine.host_link).
Outcome<KvFetchCost> kv_fetch_cost(const KvFetchQuestion& question, const Machine& machine);

}  // namespace cortado::pipeline
