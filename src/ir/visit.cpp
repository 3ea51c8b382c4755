#include "ir/visit.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace cortado {
namespace {

std::optional<RankId> rank_of(const Program& program, const Region& region) {
  if (region.buffer.value >= program.buffers.size()) return {};
  return program.buffers[region.buffer.value].rank;
}

/// Like rank_of, but host memory, which belongs to no rank, is numbered by NUMA node after the ranks.
std::optional<RankId> place_of(const Program& program, const Region& region) {
  const auto rank = rank_of(program, region);
  if (!rank) return {};
  const auto node = program.buffers[region.buffer.value].host;
  return node ? RankId{program.ranks + *node} : rank;
}

bool crosses_gpus(const Program& program, const Command& command) {
  std::optional<RankId> last;
  bool crosses = false;
  for_each_access(command, [&](const Region& region, AccessKind) {
    const auto rank = place_of(program, region);
    crosses = crosses || (last && rank && *last != *rank);
    last = rank;
  });
  return crosses;
}

bool is_gemm(const Command& command) {
  return std::holds_alternative<Gemm>(command);
}

/// What the GPU computes for the model, not for the collective.
bool computes(const Command& command) {
  return is_gemm(command) || std::holds_alternative<Call>(command);
}

}  // namespace

Accesses accesses(const Command& command) {
  Accesses all;
  for_each_access(command, [&](const Region& region, AccessKind kind) { all.push_back({region, kind}); });
  return all;
}

Program formula_program(const Program& program) {
  Program formula{program.contract.name, program.machine, program.ranks, program.buffers, {}, {}, {}};
  for (const FormulaValue& value : program.contract.formula.values) {
    formula.buffers.push_back({value.name, RankId{0}, value.size, BufferRole::scratch});
  }
  Queue stream{.name = "formula", .kind = QueueKind::compute, .rank = RankId{0}};
  stream.commands = program.contract.formula.steps;
  formula.queues.push_back(std::move(stream));
  return formula;
}

QueueRole usual_role(const Queue& queue) {
  if (queue.kind == QueueKind::host) return QueueRole::control;
  const bool multiplies = queue.kind == QueueKind::compute && std::ranges::any_of(queue.commands, computes);
  return multiplies ? QueueRole::gemm : QueueRole::collective;
}

QueueRole role_of(const Queue& queue, std::size_t command) {
  if (queue.role != QueueRole::gemm) return queue.role;
  const Command& one = queue.commands.at(command);
  if (const auto* kernel = std::get_if<Kernel>(&one)) {
    return kernel->op == KernelOp::reduce ? QueueRole::collective : QueueRole::gemm;
  }
  const auto rest = queue.commands.begin() + static_cast<std::ptrdiff_t>(command);
  const bool sends = std::holds_alternative<Copy>(one) && std::none_of(rest, queue.commands.end(), is_gemm);
  return sends ? QueueRole::collective : QueueRole::gemm;
}

bool moves_bytes(const Command& command) {
  return std::holds_alternative<Copy>(command) || std::holds_alternative<Broadcast>(command) ||
         std::holds_alternative<Swap>(command);
}

Bytes bytes_written(const Command& command) {
  return match(
      command, [](const Copy& c) { return c.dst.bytes(); },
      [](const Broadcast& b) { return b.dst1.bytes() + b.dst2.bytes(); },
      [](const Swap& s) { return s.a.bytes() + s.b.bytes(); },
      [](const Gemm& g) { return size_of(g.dtype) * (g.m * g.n); }, [](const Kernel& k) { return k.dst.bytes(); },
      [](const Call& call) { return call.result.bytes(); }, [](const auto&) { return Bytes{}; });
}

ProgramCounts count(const Program& program) {
  ProgramCounts counts;
  std::set<std::pair<std::optional<RankId>, std::string_view>> kernels;
  for (const Queue& queue : program.queues) {
    const bool part = !queue.kernel.empty();
    if (part) kernels.emplace(queue.rank, queue.kernel);
    for (const Command& command : queue.commands) {
      if (moves_bytes(command)) ++(crosses_gpus(program, command) ? counts.commands : counts.local_copies);
      match(
          command, [&](const Signal&) { counts.signals += queue.kind == QueueKind::dma ? 1 : 0; },
          [&](const Submit& submit) {
            const bool known = submit.queue.value < program.queues.size();
            if (known && program.queue(submit.queue).kind == QueueKind::dma) ++counts.doorbells;
          },
          [&](const Trigger&) { ++counts.triggers; }, [&](const Wait&) { ++counts.waits; },
          [&](const Gemm&) { counts.kernels += part ? 0 : 1; }, [&](const Kernel&) { counts.kernels += part ? 0 : 1; },
          [&](const Call&) { counts.kernels += part ? 0 : 1; }, [](const auto&) {});
    }
  }
  counts.kernels += kernels.size();
  return counts;
}

std::vector<std::uint64_t> signal_advances(const Program& program) {
  std::vector<std::uint64_t> advance(program.signals.size(), 0);
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      for_each_raise(command, [&](SignalId signal, std::uint64_t value, SignalOp op) {
        if (signal.value >= advance.size()) return;
        std::uint64_t& total = advance[signal.value];
        total = op == SignalOp::add ? total + value : std::max(total, value);
      });
    }
  }
  for (const Tracker& tracker : program.trackers) {
    if (tracker.signal.value < advance.size()) advance[tracker.signal.value] += tracker.value;
  }
  return advance;
}

std::optional<QueueId> caller_queue(const Program& program, RankId rank) {
  std::optional<QueueId> for_all;
  for (std::uint32_t i = 0; i < program.queues.size(); ++i) {
    const Queue& queue = program.queues[i];
    if (queue.kind != QueueKind::host) continue;
    if (queue.rank == rank) return QueueId{i};
    if (!queue.rank && !for_all) for_all = QueueId{i};
  }
  return for_all;
}

std::vector<Region> caller_inputs(const Program& program, RankId rank) {
  std::vector<Region> inputs;
  for_each_input(program, [&](const Region& region) {
    if (rank_of(program, region) == rank) inputs.push_back(region);
  });
  // The same block is a term of many clauses (all-gather: one per rank).
  const auto key = [](const Region& r) { return std::tuple(r.buffer, r.offset, r.width, r.rows, r.pitch); };
  std::sort(inputs.begin(), inputs.end(), [&](const Region& a, const Region& b) { return key(a) < key(b); });
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  return inputs;
}

std::vector<Region> caller_outputs(const Program& program, RankId rank) {
  std::vector<Region> outputs;
  for_each_output(program.contract, [&](const Region& region) {
    if (rank_of(program, region) == rank) outputs.push_back(region);
  });
  return outputs;
}

}  // namespace cortado
