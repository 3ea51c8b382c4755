// Who holds compute units (rule 8 of cortado/program.hpp), for the verifier and the simulator.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/program.hpp"

namespace cortado {

/// All parts of one kernel of a rank, or a stream, whose kernels run one after another.
struct Tenant {
  RankId gpu;
  bool kernel = false;                  ///< not a stream
  std::int32_t priority = 0;            ///< the highest of its queues
  std::uint32_t most = 0;               ///< compute units that it may hold
  std::vector<std::uint32_t> queues{};  ///< in the order of the program
};

struct Tenants {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::vector<Tenant> all;              ///< in the order of their first queues
  std::vector<std::uint32_t> of_queue;  ///< kNone for a queue that is not a compute queue
};

/// For GPUs with this many compute units.
Tenants tenants_of(const Program& program, std::uint32_t compute_units);

}  // namespace cortado
