// Who holds compute units (rule 8 of cortado/program.hpp): verifier and simulator have them from here.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/program.hpp"

namespace cortado {

/// The parts of one kernel of a rank together, or a stream, whose kernels follow one another.
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
  std::vector<std::uint32_t> of_queue;  ///< kNone if it is no compute queue
};

/// On GPUs with so many compute units.
Tenants tenants_of(const Program& program, std::uint32_t compute_units);

}  // namespace cortado
