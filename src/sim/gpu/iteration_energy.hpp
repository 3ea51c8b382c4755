// The energy of each iteration, over the time that the Timeline reports for it: from the first "begin" to the last
// "end" of host queues, or all of their work if they have no such stamps.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/program.hpp"
#include "cortado/timeline.hpp"

namespace cortado::sim {

class IterationEnergy {
 public:
  IterationEnergy(const Program& program, std::uint32_t iterations);

  enum class Moment { stamp_begin, stamp_end, work_begins, work_ends };
  /// A host queue has reached this moment. True if it is the first or last one that counts: the caller must then report
  /// the energy spent so far.
  bool at(Moment moment, std::uint32_t iteration);
  void keep(Moment moment, std::uint32_t iteration, const Energy& spent);

  std::vector<Energy> finish() && { return std::move(energies_); }

 private:
  bool stamped_ = false;
  std::uint32_t ends_ = 0;  // ends per iteration
  struct Count {
    std::uint32_t begun = 0;
    std::uint32_t ended = 0;
  };
  std::vector<Count> counts_;
  std::vector<Energy> energies_;  // minus what was spent before; later, what was spent in the iteration
};

}  // namespace cortado::sim
