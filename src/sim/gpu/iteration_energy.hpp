// The energy of each iteration, within the time that the Timeline gives for it: from the first "begin" to the last
// "end" of host queues, or the whole of their work where they have no such stamps.
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
  /// A host queue is there. True if it is the first or the last that counts: the caller then says what was spent so
  /// far.
  bool at(Moment moment, std::uint32_t iteration);
  void keep(Moment moment, std::uint32_t iteration, const Energy& spent);

  std::vector<Energy> finish() && { return std::move(energies_); }

 private:
  bool stamped_ = false;
  std::uint32_t ends_ = 0;  // of an iteration
  struct Count {
    std::uint32_t begun = 0;
    std::uint32_t ended = 0;
  };
  std::vector<Count> counts_;
  std::vector<Energy> energies_;  // less what was spent before; then what was spent in it
};

}  // namespace cortado::sim
