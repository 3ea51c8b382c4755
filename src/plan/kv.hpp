// Programs that move KV blocks between host memory and every GPU of a tensor-parallel group: one list of strategies.
//
// A block is some tokens of all layers. Its bytes stand in fragments, in pools of places on both sides: place p of
// fragment f is at (f x places + p) x fragment bytes. A seeded block table says in which place each block stands, as a
// pool has it that was used for a while; all GPUs have the same table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado::plan {

enum class KvDirection {
  fetch,  ///< host memory to GPU memory
  store,
  both,  ///< at once, of different blocks
};

struct KvRequest {
  std::uint32_t ranks = 1;
  std::uint32_t group = 1;  ///< ranks in a row that hold the same bytes; divides `ranks`
  std::uint64_t blocks = 1;
  std::uint64_t layers = 1;     ///< that can be released apart; divides `fragments`, or is 1
  std::uint64_t fragments = 1;  ///< of a block on one GPU, ordered by layer
  Bytes fragment{};
  std::uint64_t seed = 1;  ///< of the block tables
  KvDirection direction = KvDirection::fetch;
  std::uint32_t engines = 1;        ///< of a GPU, where a strategy can use several
  std::uint32_t compute_units = 0;  ///< of copy kernels; 0 = what the machine says
  std::uint64_t call = 0;           ///< most copies of a batch call; 0 = any number
};

struct KvStrategy {
  std::string_view name;
  std::string_view summary;
  Result<Program> (*plan)(const KvRequest& request, const Machine& machine);
  bool replicated = false;     ///< only where ranks hold the same bytes
  bool engines = false;        ///< takes a number of engines
  bool compute_units = false;  ///< copies by compute units
};

/// In the order of tables.
const std::vector<KvStrategy>& kv_strategies();

struct NamedKvStrategy {
  const KvStrategy* strategy = nullptr;
  std::uint32_t engines = 1;
};
/// "b2b", or "b2b/4" with a number of engines. Refuses unknown names (kv.strategy).
Result<NamedKvStrategy> find_kv_strategy(std::string_view name);

/// Engines of a GPU that may serve the direction (not both), the best first.
std::vector<EngineId> kv_engines(const Machine& machine, KvDirection direction);

/// Refuses empty requests, tables that fit no memory, and fragments beyond one packet (kv.request, kv.memory).
Status check_kv_request(const KvRequest& request, const Machine& machine);

}  // namespace cortado::plan
