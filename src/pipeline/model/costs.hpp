// Costs of operators, and of GEMMs with their collectives, on one machine. Everything is computed once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/target.hpp"

#include "workload/operators.hpp"

namespace cortado::pipeline {

/// The fewest rows per rank with which GEMMs are cut for overlap: the shortest tile of existing kernels.
inline constexpr std::uint64_t kLeastRows = 16;

/// GPUs of a collective: how many per node, and the number of nodes.
struct Ranks {
  std::uint32_t in_node = 1;
  std::uint32_t nodes = 1;
  friend auto operator<=>(const Ranks&, const Ranks&) = default;
};

/// Which system a way belongs to.
enum class Family { serial, c3, conccl, shards, ficco, tiles, t3, t3_mca, other, bound };

/// A way to run a collective, and its exposed time.
struct Way {
  Family family = Family::serial;
  std::string name;
  double exposed = 0;  ///< seconds
  double joules = 0;   ///< of one GPU, in addition to those of the GEMMs alone
  /// Of a collective alone. Empty: `name` is a strategy for it and a GEMM, or it is not within the node.
  std::string variant{};
  bool prelaunch = false;
  std::optional<std::size_t> behind{};  ///< the GEMM of the block that it runs next to
};

/// A way to run collectives next to the GEMMs of a block.
struct BesideWay {
  Family family = Family::serial;
  std::string name;
  double slow_down = 0;    ///< seconds that the GEMMs take longer
  double collectives = 0;  ///< seconds from the beginning to the end of the collectives
  double joules = 0;       ///< of one GPU, in addition to those of the GEMMs alone
};

struct KernelCost {
  double seconds = 0;
  double joules = 0;   ///< of one GPU
  double least_w = 0;  ///< of a GEMM: the power of a GPU at the lowest clocks
};

class ModelCosts {
 public:
  explicit ModelCosts(const Machine& machine);

  const Machine& machine() const { return machine_; }
  /// The same with enough memory for any one pair, since check_layout checked the whole.
  const Machine& roomy() const { return roomy_; }

  /// The variant of a collective that stands for the library's.
  std::string library_variant() const;
  /// Bytes per second that a kernel on all compute units copies within the memory, according to the simulator.
  double copy_rate();

  /// Of any operator except collectives, with the gap before it.
  KernelCost kernel(const Operator& op);

  /// Alone, as serial runs it; also across nodes. Nothing else is simulated.
  Outcome<Way> serial(const CollectiveWork& work, const Ranks& ranks, bool inference);
  /// Alone. The first is that of serial.
  Outcome<std::vector<Way>> alone(const CollectiveWork& work, const Ranks& ranks, bool inference);
  /// With the GEMM that it depends on; empty if nothing can be cut.
  Outcome<std::vector<Way>> dependent(const CollectiveWork& work, const GemmWork& gemm, Relation relation,
                                      const Ranks& ranks);
  /// Next to GEMMs. The last one is the bound.
  Outcome<std::vector<BesideWay>> beside(const std::vector<CollectiveWork>& works, const std::vector<GemmWork>& gemms,
                                         const std::vector<Ranks>& ranks);

 private:
  Outcome<Way> serial_in_node(const CollectiveWork& work, std::uint32_t ranks, bool inference) const;
  Outcome<std::vector<Way>> alone_in_node(const CollectiveWork& work, std::uint32_t ranks, bool inference);
  double over_network(const CollectiveWork& work, const Ranks& ranks) const;
  KernelCost gemm_cost(const GemmShape& shape);

  const Machine& machine_;
  Machine roomy_;
  std::mutex lock_;
  std::map<std::string, std::vector<Way>> ways_;  // guarded by lock_, as all below
  std::map<std::string, std::vector<BesideWay>> beside_;
  std::map<std::string, KernelCost> kernels_;
  double copy_rate_ = 0;  // 0: not known yet
};

/// As collectives are planned: sizes of weights need not be whole elements for every rank.
CollectiveRequest request_of(const CollectiveWork& work, std::uint32_t ranks);

/// One GEMM and the collective that moves its rows.
OverlapProblem dependent_problem(const CollectiveWork& work, const GemmWork& gemm, Relation relation,
                                 std::uint32_t ranks);

/// Independent collectives and GEMMs.
OverlapProblem independent_problem(const std::vector<CollectiveWork>& works, const std::vector<GemmWork>& gemms,
                                   std::uint32_t ranks);

/// Where the ranks of a group are.
Ranks ranks_of(RankGroup group, const Layout& layout, const Machine& machine);

}  // namespace cortado::pipeline
