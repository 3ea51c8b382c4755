#include "sim/gpu/iteration_energy.hpp"

namespace cortado::sim {

IterationEnergy::IterationEnergy(const Program& program, std::uint32_t iterations)
    : counts_(iterations), energies_(iterations) {
  std::uint32_t begins = 0;
  std::uint32_t ends = 0;
  std::uint32_t hosts = 0;
  for (const Queue& queue : program.queues) {
    if (queue.kind != QueueKind::host || queue.commands.empty()) continue;
    ++hosts;
    for (const Command& command : queue.commands) {
      const auto* stamp = std::get_if<Timestamp>(&command);
      if (stamp == nullptr) continue;
      begins += stamp->label == "begin" ? 1U : 0U;
      ends += stamp->label == "end" ? 1U : 0U;
    }
  }
  stamped_ = begins > 0 && ends > 0;
  ends_ = stamped_ ? ends : hosts;
}

bool IterationEnergy::at(Moment moment, std::uint32_t iteration) {
  const bool stamp = moment == Moment::stamp_begin || moment == Moment::stamp_end;
  if (stamp != stamped_) return false;
  Count& count = counts_[iteration];
  if (moment == Moment::stamp_begin || moment == Moment::work_begins) return ++count.begun == 1;
  return ++count.ended == ends_;
}

void IterationEnergy::keep(Moment moment, std::uint32_t iteration, const Energy& spent) {
  const bool begins = moment == Moment::stamp_begin || moment == Moment::work_begins;
  if (begins) {
    energies_[iteration] -= spent;
  } else {
    energies_[iteration] += spent;
  }
}

}  // namespace cortado::sim
