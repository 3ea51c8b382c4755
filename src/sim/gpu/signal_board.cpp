#include "sim/gpu/signal_board.hpp"

#include "ir/visit.hpp"

namespace cortado::sim {

SignalBoard::SignalBoard(const Program& program)
    : advances_(signal_advances(program)), values_(program.signals.size(), 0), waiters_(program.signals.size()) {}

bool SignalBoard::reached_or_note(SignalId signal, std::uint64_t value, std::uint32_t queue) {
  if (values_[signal.value] >= value) return true;
  waiters_[signal.value].push_back({queue, value});
  return false;
}

std::uint32_t SignalBoard::keep(const Raise& raise) {
  if (free_raises_.empty()) {
    raises_.push_back(raise);
    return static_cast<std::uint32_t>(raises_.size() - 1);
  }
  const std::uint32_t index = free_raises_.back();
  free_raises_.pop_back();
  raises_[index] = raise;
  return index;
}

}  // namespace cortado::sim
