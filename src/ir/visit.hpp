// Visiting commands: exhaustive matching, and which memory a command touches.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "cortado/program.hpp"

#include "base/small_vector.hpp"

namespace cortado {

/// match(command, [](const Copy&) {...}, [](const auto&) {...});
template <class... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};

template <class Variant, class... Lambdas>
decltype(auto) match(Variant&& variant, Lambdas&&... lambdas) {
  return std::visit(Overloaded<std::decay_t<Lambdas>...>{std::forward<Lambdas>(lambdas)...},
                    std::forward<Variant>(variant));
}

/// Calls visit(SignalId, value, SignalOp) for every raise of the command, in the order they happen: the one place that
/// knows which commands raise signals.
template <class Visitor>
void for_each_raise(const Command& command, Visitor&& visit) {
  match(
      command, [&](const Signal& s) { visit(s.signal, s.value, s.op); },
      [&](const Trigger& t) { visit(t.signal, t.value, SignalOp::add); },
      [&](const Gemm& gemm) {
        for (const TileSignal& raise : gemm.raises) visit(raise.signal, raise.value, SignalOp::add);
      },
      [](const auto&) {});
}

/// Calls visit(SignalId, value) for every counter value that the command waits for: the one place that knows which
/// commands wait.
template <class Visitor>
void for_each_wait(const Command& command, Visitor&& visit) {
  match(
      command, [&](const Wait& wait) { visit(wait.signal, wait.value); },
      [&](const Gemm& gemm) {
        for (const TileWait& wait : gemm.waits) visit(wait.signal, wait.value);
      },
      [](const auto&) {});
}

enum class AccessKind { read, write, read_write };

struct Access {
  Region region;
  AccessKind kind;
};
using Accesses = SmallVector<Access, 3>;  // Copy, Broadcast and Swap need no more

/// Calls visit(const Region&, AccessKind) for the regions that a command reads and writes, in the order of its fields.
/// A gather names all rows of its source, a scatter all rows of its destination.
template <class Visitor>
void for_each_access(const Command& command, Visitor&& visit) {
  using enum AccessKind;
  const auto written = [](CopyOp op) { return op == CopyOp::add ? read_write : write; };
  match(
      command,
      [&](const Copy& c) {
        visit(c.src, read);
        visit(c.dst, written(c.op));
      },
      [&](const Broadcast& b) {
        visit(b.src, read);
        visit(b.dst1, write);
        visit(b.dst2, write);
      },
      [&](const Swap& s) {
        visit(s.a, read_write);
        visit(s.b, read_write);
      },
      [&](const Gemm& g) {
        visit(g.a, read);
        visit(g.b, read);
        if (g.outputs.empty()) visit(g.c, g.accumulate ? read_write : write);
        for (const OutputBlock& block : g.outputs) visit(block.to, written(block.op));
      },
      [&](const Kernel& k) {
        for (const Region& source : k.sources) visit(source, read);
        visit(k.dst, write);
        for (const Region& also : k.also) visit(also, write);
      },
      [&](const Call& call) {
        for (const Region& operand : call.operands) visit(operand, read);
        visit(call.result, write);
      },
      [](const auto&) {});
}

/// The same as a list.
Accesses accesses(const Command& command);

/// The first BufferId that denotes a value of the formula instead of a buffer.
inline BufferId first_value(const Program& program) {
  return BufferId{static_cast<std::uint32_t>(program.buffers.size())};
}

/// Calls visit(const Region&) for every region that a caller writes before an iteration: terms of clauses, operands of
/// GEMMs, and the inputs that steps of the formula read (not its values). The same region may appear often.
template <class Visitor>
void for_each_input(const Program& program, Visitor&& visit) {
  const Contract& contract = program.contract;
  for (const Clause& clause : contract.clauses) {
    for (const Region& term : clause.terms) visit(term);
  }
  for (const ProductClause& clause : contract.products) {
    for (const Product& product : clause.products) {
      for (const Region& block : product.a) visit(block);
      visit(product.b);
    }
  }
  for (const Command& step : contract.formula.steps) {
    for (const Access& access : accesses(step)) {
      if (access.kind == AccessKind::read && access.region.buffer < first_value(program)) visit(access.region);
    }
  }
}

/// Calls visit(const Region&) for every region that a caller reads after an iteration: clauses first, then GEMMs, then
/// outputs of the formula.
template <class Visitor>
void for_each_output(const Contract& contract, Visitor&& visit) {
  for (const Clause& clause : contract.clauses) visit(clause.output);
  for (const ProductClause& clause : contract.products) visit(clause.output);
  for (const FormulaClause& clause : contract.formula.outputs) visit(clause.output);
}

/// The formula as a program of one stream on rank 0: the buffers of the program, then its values.
Program formula_program(const Program& program);

/// The role of a queue by default: a host queue controls, a compute queue with a Gemm belongs to the GEMM.
QueueRole usual_role(const Queue& queue);

/// The role of one command. In a stream of GEMMs, reductions, and copies after the last GEMM, belong to the collective;
/// everything else has the role of its queue.
QueueRole role_of(const Queue& queue, std::size_t command);

/// Copy, Broadcast or Swap.
bool moves_bytes(const Command& command);

/// Number of bytes that a command writes.
Bytes bytes_written(const Command& command);

/// D(s) of rule 3 for every signal of the program.
std::vector<std::uint64_t> signal_advances(const Program& program);

/// The host queue whose thread is the caller of the rank (rule 4), or none.
std::optional<QueueId> caller_queue(const Program& program, RankId rank);

/// Regions of the rank that its caller writes before an iteration, and reads after it (rule 4).
std::vector<Region> caller_inputs(const Program& program, RankId rank);
std::vector<Region> caller_outputs(const Program& program, RankId rank);

}  // namespace cortado
