// The single table of commands: name, the queues that accept it, and its place in the variant. Parser, printer,
// verifier and docs derive from it.
#pragma once

#include <array>
#include <string_view>

#include "cortado/program.hpp"

namespace cortado {

struct CommandInfo {
  std::string_view name;
  bool on_dma;
  bool on_compute;
  bool on_host;
  std::string_view meaning;
};

/// In the order of the alternatives of Command.
inline constexpr std::array<CommandInfo, std::variant_size_v<Command>> kCommandTable{{
    {"copy", true, true, false, "bytes from one region to another; op store or add"},
    {"broadcast", true, false, false, "one source, two destinations, one packet"},
    {"swap", true, false, false, "exchange two regions in place, one packet"},
    {"wait", true, true, true, "hold the queue until a signal compares"},
    {"signal", true, true, true, "raise a signal after all earlier commands are visible"},
    {"gemm", false, true, false, "C (+)= A*B, raising signals as tiles are written"},
    {"kernel", false, true, false, "reduce, gather rows or scatter rows"},
    {"call", false, true, false, "a function of the table of functions: norm, attention, ..."},
    {"submit", false, true, true, "publish a queue's packets with a doorbell"},
    {"trigger", false, false, true, "release prelaunched queues"},
    {"timestamp", true, true, true, "record the time"},
}};

inline const CommandInfo& info(const Command& command) {
  return kCommandTable[command.index()];
}

/// Whether this kind of queue may hold the command.
constexpr bool allowed_on(const CommandInfo& command, QueueKind kind) {
  switch (kind) {
    case QueueKind::dma:
      return command.on_dma;
    case QueueKind::compute:
      return command.on_compute;
    case QueueKind::host:
      return command.on_host;
  }
  return false;
}

}  // namespace cortado
