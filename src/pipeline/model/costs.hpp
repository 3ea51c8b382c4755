// What operators, and products with their collectives, take on one machine. Everything is computed once.
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
#include "cortado/overlap.hpp"
#include "cortado/target.hpp"

#include "workload/operators.hpp"

namespace cortado::pipeline {

/// GPUs of a collective: how many of a node, and in how many nodes.
struct Ranks {
  std::uint32_t in_node = 1;
  std::uint32_t nodes = 1;
  friend auto operator<=>(const Ranks&, const Ranks&) = default;
};

/// Which system a way belongs to.
enum class Family { serial, c3, conccl, shards, ficco, t3, t3_mca, other, bound };

/// A way to do a collective, and what of it is exposed.
struct Way {
  Family family = Family::serial;
  std::string name;
  double exposed = 0;  ///< seconds
  double joules = 0;   ///< of one GPU, beyond what products take alone
};

/// A way to run collectives beside products of a block.
struct BesideWay {
  Family family = Family::serial;
  std::string name;
  double slow_down = 0;    ///< seconds that the products take longer
  double collectives = 0;  ///< seconds from the begin to the end of the collectives
  double joules = 0;       ///< of one GPU, beyond what products take alone
};

struct KernelCost {
  double seconds = 0;
  double joules = 0;  ///< of one GPU
};

class ModelCosts {
 public:
  explicit ModelCosts(const Machine& machine);

  const Machine& machine() const { return machine_; }

  /// Of any operator but collectives, with the gap before it.
  KernelCost kernel(const Operator& op);

  /// Alone. The first is that of serial.
  Outcome<std::vector<Way>> alone(const CollectiveWork& work, const Ranks& ranks, bool inference);
  /// With the product that it depends on; empty where nothing can be cut.
  Outcome<std::vector<Way>> dependent(const CollectiveWork& work, const GemmWork& gemm, Relation relation,
                                      const Ranks& ranks);
  /// Beside products. The last is what nothing beats.
  Outcome<std::vector<BesideWay>> beside(const std::vector<CollectiveWork>& works, const std::vector<GemmWork>& gemms,
                                         const std::vector<Ranks>& ranks);

 private:
  Outcome<std::vector<Way>> alone_in_node(const CollectiveWork& work, std::uint32_t ranks, bool inference);
  double over_network(const CollectiveWork& work, const Ranks& ranks) const;
  KernelCost product(const GemmShape& shape);

  const Machine& machine_;
  // With memory for one pair whatever else there is, since check_layout looked at the whole; and without bursts of the
  // clock, since steps follow each other for minutes.
  Machine roomy_;
  std::mutex lock_;
  std::map<std::string, std::vector<Way>> ways_;  // guarded by lock_, as all below
  std::map<std::string, std::vector<BesideWay>> beside_;
  std::map<std::string, KernelCost> kernels_;
};

/// Where the ranks of a group are.
Ranks ranks_of(RankGroup group, const Layout& layout, const Machine& machine);

}  // namespace cortado::pipeline
