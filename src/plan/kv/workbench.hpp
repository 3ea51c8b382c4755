// What the strategies share: pools, block tables, the contract, and the host queues of all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

#include "plan/kv.hpp"

namespace cortado::plan::kv {

/// One fragment of one block.
struct Fragment {
  std::uint64_t block = 0;
  std::uint64_t index = 0;
};

class Workbench {
 public:
  Workbench(std::string_view strategy, const KvRequest& request, const Machine& machine);

  ProgramBuilder& builder() { return builder_; }
  const KvRequest& request() const { return request_; }
  const Machine& machine() const { return machine_; }

  /// All fragments, layer by layer.
  const std::vector<Fragment>& fragments() const { return fragments_; }

  /// fetch, store, or one after the other; each has its own pools.
  std::vector<KvDirection> directions() const;

  /// Places in pools, which are created on first use.
  Region on_gpu(RankId rank, const Fragment& fragment, KvDirection direction = KvDirection::fetch);
  Region in_host(RankId rank, const Fragment& fragment, KvDirection direction = KvDirection::fetch);
  /// Source and destination of the fragment; also adds the transfer to the contract.
  Copy transfer(RankId rank, const Fragment& fragment, KvDirection direction = KvDirection::fetch);
  /// Adds to the contract that GPU `rank` receives what `owner` has in host memory.
  void promise(RankId rank, RankId owner, const Fragment& fragment);

  /// The best engines of a GPU for the direction, at most `count`.
  std::vector<EngineId> engines(std::uint32_t count, KvDirection direction = KvDirection::fetch) const;

  /// What the host of a rank does: before the clock starts, to begin, and to wait for.
  struct Host {
    std::vector<QueueId> ahead{};
    std::vector<SignalId> ready{};  ///< raised once the caller allows its memory to be written
    std::vector<QueueId> submits{};
    std::vector<QueueId> rung{};  ///< submitted by a kernel that the host launches
    std::vector<SignalId> triggers{};
    struct Until {
      SignalId signal;
      std::uint64_t value = 1;
    };
    std::vector<Until> waits{};
  };
  Host& host(RankId rank) { return hosts_[rank.value]; }

  /// Adds the host queues and the contract, and checks the limits of the rings.
  Result<Program> finish() &&;

 private:
  /// For one rank and direction.
  struct Pools {
    std::optional<BufferId> gpu{};
    std::optional<BufferId> host{};
  };
  Pools& pools(RankId rank, KvDirection direction) {
    return pools_[rank.value * std::size_t{2} + (direction == KvDirection::store ? 1 : 0)];
  }
  Bytes pool_bytes() const;
  Region place(BufferId pool, const std::vector<std::uint64_t>& table, const Fragment& fragment) const;

  KvRequest request_;
  const Machine& machine_;
  ProgramBuilder builder_;
  std::vector<std::uint64_t> gpu_table_;  // place of each block
  std::vector<std::uint64_t> host_table_;
  std::vector<Fragment> fragments_;
  std::vector<Pools> pools_;
  std::vector<Host> hosts_;
  Contract contract_;
};

/// For names.
std::string_view suffix_of(KvDirection direction);

/// One queue per rank that copies all fragments, with the given submission; a signal after every copy, or one at the
/// end. Batches of more than `request.call` copies are several calls on one stream: queues that wait for each other.
Result<Program> plan_single_stream(std::string_view name, const KvRequest& request, const Machine& machine,
                                   Submission submission, bool signal_each);

}  // namespace cortado::plan::kv
