#include <fmt/format.h>

#include "cortado/program.hpp"

#include "ir/command_table.hpp"
#include "ir/functions.hpp"
#include "ir/visit.hpp"

namespace cortado {
namespace {

// Programs that the verifier rejects can also be listed, so unknown ids must print, too.
std::string buffer_name(const Program& program, BufferId id) {
  if (id.value < program.buffers.size()) return program.buffer(id).name;
  const std::size_t value = id.value - program.buffers.size();
  const std::vector<FormulaValue>& values = program.contract.formula.values;
  return value < values.size() ? values[value].name : fmt::format("buffer?{}", id.value);
}

std::string signal_name(const Program& program, SignalId id) {
  return id.value < program.signals.size() ? program.signals[id.value].name : fmt::format("signal?{}", id.value);
}

std::string queue_name(const Program& program, QueueId id) {
  return id.value < program.queues.size() ? program.queue(id).name : fmt::format("queue?{}", id.value);
}

std::string queue_title(const Queue& queue) {
  std::string title = fmt::format("{} queue {}", to_string(queue.kind), queue.name);
  if (queue.rank) title += fmt::format(", rank {}", queue.rank->value);
  if (queue.engine) title += fmt::format(", engine {}", queue.engine->value);
  if (queue.priority != 0) title += fmt::format(", priority {}", queue.priority);
  if (queue.compute_units) title += fmt::format(", at most {} compute units", *queue.compute_units);
  if (!queue.kernel.empty()) title += fmt::format(", part of kernel {}", queue.kernel);
  if (queue.calls > 0) title += fmt::format(", {} calls", queue.calls);
  if (queue.protocol != Protocol::none) title += fmt::format(", protocol {}", to_string(queue.protocol));
  if (queue.submission != Submission::ring) title += fmt::format(", by {}", to_string(queue.submission));
  if (queue.packing != Packing::each) title += fmt::format(", {} packets", to_string(queue.packing));
  if (queue.chunk.value > 0) title += fmt::format(" by {} bytes", queue.chunk.value);
  return title;
}

}  // namespace

std::string to_string(const Program& program, const Region& region) {
  const std::string name = buffer_name(program, region.buffer);
  if (region.rows == 1) return fmt::format("{}[{}+{}]", name, region.offset.value, region.width.value);
  return fmt::format("{}[{}+{} x {} rows, pitch {}]", name, region.offset.value, region.width.value, region.rows,
                     region.pitch.value);
}

std::string to_string(const Program& program, const Command& command) {
  const auto region = [&](const Region& r) { return to_string(program, r); };
  const auto signal = [&](SignalId id) { return signal_name(program, id); };
  const std::string_view name = info(command).name;
  return match(
      command,
      [&](const Copy& c) {
        return c.op == CopyOp::store
                   ? fmt::format("{} {} -> {}", name, region(c.src), region(c.dst))
                   : fmt::format("{} {} +-> {} ({})", name, region(c.src), region(c.dst), to_string(c.dtype));
      },
      [&](const Broadcast& b) {
        return fmt::format("{} {} -> {}, {}", name, region(b.src), region(b.dst1), region(b.dst2));
      },
      [&](const Swap& s) { return fmt::format("{} {} <-> {}", name, region(s.a), region(s.b)); },
      [&](const Wait& w) {
        return fmt::format("{} {} {} {}", name, signal(w.signal), w.compare == Compare::ge ? ">=" : "==", w.value);
      },
      [&](const Signal& s) {
        return fmt::format("{} {} {} {}", name, signal(s.signal), s.op == SignalOp::add ? "+=" : "=", s.value);
      },
      [&](const Gemm& g) {
        const std::string to = g.outputs.empty() ? region(g.c) : "map";
        std::string text = fmt::format("{} {} {} {} * {} ({}x{}x{} {})", name, to, g.accumulate ? "+=" : "=",
                                       region(g.a), region(g.b), g.m, g.n, g.k, to_string(g.dtype));
        if (g.split_k != 1) text += fmt::format(", k shared by {}", g.split_k);
        for (const OutputBlock& block : g.outputs) {
          text += fmt::format(", {}+{} x {}+{} {} {}", block.row, block.rows, block.column, block.columns,
                              block.op == CopyOp::store ? "->" : "+->", region(block.to));
        }
        for (const TileWait& wait : g.waits) {
          text += fmt::format(", from tile {} on {} >= {}", wait.tiles, signal(wait.signal), wait.value);
        }
        for (const TileSignal& raise : g.raises) {
          text += fmt::format(", after {} tiles {} += {}", raise.tiles, signal(raise.signal), raise.value);
        }
        return text;
      },
      [&](const Kernel& k) {
        std::vector<std::string> sources;
        for (const Region& source : k.sources) sources.push_back(region(source));
        std::vector<std::string> destinations{region(k.dst)};
        for (const Region& also : k.also) destinations.push_back(region(also));
        return fmt::format("{} {} {} -> {} ({})", name, to_string(k.op), fmt::join(sources, ", "),
                           fmt::join(destinations, ", "), to_string(k.dtype));
      },
      [&](const Call& call) {
        std::vector<std::string> operands;
        for (const Region& operand : call.operands) operands.push_back(region(operand));
        const std::string parameters =
            call.parameters.empty() ? "" : fmt::format("; {}", fmt::join(call.parameters, ", "));
        return fmt::format("{} {}({}{}) -> {}", name, info(call.function).name, fmt::join(operands, ", "), parameters,
                           region(call.result));
      },
      [&](const Submit& s) { return fmt::format("{} {}", name, queue_name(program, s.queue)); },
      [&](const Trigger& t) { return fmt::format("{} {} += {}", name, signal(t.signal), t.value); },
      [&](const Timestamp& t) { return fmt::format("{} {}", name, t.label); });
}

std::string listing(const Program& program) {
  std::string text = fmt::format("program {} for {}, {} ranks, contract {}\n", program.name, program.machine,
                                 program.ranks, program.contract.name);
  for (const Buffer& buffer : program.buffers) {
    const std::string host = buffer.host ? fmt::format(", host memory {}", *buffer.host) : "";
    text += fmt::format("  buffer {}: rank {}{}, {} bytes, {}\n", buffer.name, buffer.rank.value, host,
                        buffer.size.value, to_string(buffer.role));
  }
  for (const Tracker& tracker : program.trackers) {
    text +=
        fmt::format("  tracker {}: {}, {} updates, then {} += {}\n", tracker.name, to_string(program, tracker.region),
                    tracker.updates, signal_name(program, tracker.signal), tracker.value);
  }
  const Formula& formula = program.contract.formula;
  if (!formula.outputs.empty()) text += "  formula\n";
  for (const Command& step : formula.steps) text += fmt::format("        {}\n", to_string(program, step));
  for (const FormulaClause& clause : formula.outputs) {
    text += fmt::format("        {} is {}\n", to_string(program, clause.output), to_string(program, clause.value));
  }
  for (const Queue& queue : program.queues) {
    text += fmt::format("  {}\n", queue_title(queue));
    for (std::size_t i = 0; i < queue.commands.size(); ++i) {
      text += fmt::format("    {:3} {}\n", i, to_string(program, queue.commands[i]));
    }
  }
  return text;
}

}  // namespace cortado
