#include "cortado/ir/engine_signals.hpp"

#include <algorithm>

#include "cortado/ir/visit.hpp"

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
      const auto* wait = std::get_if<Wait>(&command);
      if (wait != nullptr) largest[wait->signal.value] = std::max(largest[wait->signal.value], wait->value);
    }
  }
  return largest;
}

}  // namespace cortado
