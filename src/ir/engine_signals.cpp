#include "ir/engine_signals.hpp"

#include <algorithm>

#include "ir/visit.hpp"

namespace cortado {

std::vector<bool> engine_signals(const Program& program) {
  std::vector<bool> compared(program.signals.size(), false);
  for (const Queue& queue : program.queues) {
    if (queue.kind != QueueKind::dma) continue;
    for (const Command& command : queue.commands) {
      if (const auto* wait = std::get_if<Wait>(&command)) compared[wait->signal.value] = true;
      const auto* signal = std::get_if<Signal>(&command);
      if (signal != nullptr && signal->op == SignalOp::set) compared[signal->signal.value] = true;
    }
  }
  return compared;
}

std::vector<std::uint64_t> largest_values(const Program& program) {
  std::vector<std::uint64_t> largest = signal_advances(program);
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      for_each_wait(command, [&](SignalId signal, std::uint64_t value) {
        largest[signal.value] = std::max(largest[signal.value], value);
      });
    }
  }
  return largest;
}

}  // namespace cortado
