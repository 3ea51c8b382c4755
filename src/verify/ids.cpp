// verify.ids: everything that is named exists, and every command is on a queue that accepts it.
#include <fmt/format.h>

#include "cortado/program.hpp"

#include "ir/command_table.hpp"
#include "ir/visit.hpp"
#include "verify/naming.hpp"
#include "verify/rule.hpp"

namespace cortado::verifier {
namespace {

class IdCheck {
 public:
  IdCheck(const Program& program, Findings& findings) : program_(program), findings_(findings) {}

  void resources() {
    if (program_.ranks == 0) findings_.add({}, "the program has no ranks", "a program needs at least one rank");
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& buffer = program_.buffers[i];
      check_rank(buffer.rank, "buffer", buffer.name, i);
    }
    for (std::size_t i = 0; i < program_.signals.size(); ++i) {
      const SignalInfo& signal = program_.signals[i];
      if (signal.home) check_rank(*signal.home, "signal", signal.name, i);
    }
    for (std::size_t i = 0; i < program_.queues.size(); ++i) {
      const Queue& queue = program_.queues[i];
      if (queue.rank) check_rank(*queue.rank, "queue", queue.name, i);
    }
  }

  void command(const Command& command, QueueKind kind, const Spot& place) {
    if (const CommandInfo& row = info(command); !allowed_on(row, kind)) {
      findings_.add(place, fmt::format("a {} queue cannot hold the command {}", to_string(kind), row.name),
                    fmt::format("put it on a {} queue", row.on_dma ? "dma" : (row.on_compute ? "compute" : "host")));
    }
    for_each_access(command, [&](const Region& region, AccessKind) { check_buffer(region.buffer, place); });
    match(
        command, [&](const Signal& signal) { check_signal(signal.signal, place); },
        [&](const Trigger& trigger) { check_signal(trigger.signal, place); },
        [&](const Gemm& gemm) {
          for (const TileSignal& raise : gemm.raises) check_signal(raise.signal, place);
        },
        [&](const Submit& submit) { check_queue(submit.queue, place); }, [](const auto&) {});
    for_each_wait(command, [&](SignalId signal, std::uint64_t) { check_signal(signal, place); });
  }

  void trackers() {
    for (std::size_t i = 0; i < program_.trackers.size(); ++i) {
      check_buffer(program_.trackers[i].region.buffer, Spot::tracker(program_, i));
      check_signal(program_.trackers[i].signal, Spot::tracker(program_, i));
    }
  }

  void contract() {
    for (std::size_t i = 0; i < program_.contract.clauses.size(); ++i) {
      const Clause& clause = program_.contract.clauses[i];
      check_buffer(clause.output.buffer, Spot::clause(i));
      for (const Region& term : clause.terms) check_buffer(term.buffer, Spot::clause(i));
    }
    for (std::size_t i = 0; i < program_.contract.products.size(); ++i) {
      const ProductClause& clause = program_.contract.products[i];
      check_buffer(clause.output.buffer, Spot::product(i));
      for (const Product& product : clause.products) {
        for (const Region& block : product.a) check_buffer(block.buffer, Spot::product(i));
        check_buffer(product.b.buffer, Spot::product(i));
      }
    }
    formula();
  }

 private:
  /// Steps read inputs and values and write values; outputs belong to the program, and what they must equal are values.
  void formula() {
    const Formula& formula = program_.contract.formula;
    const std::size_t all = program_.buffers.size() + formula.values.size();
    for (std::size_t i = 0; i < formula.steps.size(); ++i) {
      const Command& step = formula.steps[i];
      const auto* gemm = std::get_if<Gemm>(&step);
      const bool plain = gemm != nullptr ? gemm->outputs.empty() && gemm->raises.empty() && gemm->waits.empty()
                                         : std::holds_alternative<Copy>(step) || std::holds_alternative<Kernel>(step) ||
                                               std::holds_alternative<Call>(step);
      if (!plain) {
        findings_.add(Spot::formula_step(i), fmt::format("a formula cannot contain this {}", info(step).name),
                      "formulas consist of copies, calls, kernels, and gemms without map, raises and waits");
      }
      for (const Access& access : accesses(step)) {
        check(access.region.buffer.value, all, "buffer or value", Spot::formula_step(i));
        if (access.kind == AccessKind::read || access.region.buffer >= first_value(program_)) continue;
        findings_.add(Spot::formula_step(i), "a formula writes a buffer of the program", "write a value instead");
      }
    }
    for (std::size_t i = 0; i < formula.outputs.size(); ++i) {
      check_buffer(formula.outputs[i].output.buffer, Spot::formula_output(i));
      check(formula.outputs[i].value.buffer.value, all, "value", Spot::formula_output(i));
    }
  }

  void check_rank(RankId rank, const char* kind, const std::string& name, std::size_t index) {
    if (rank.value < program_.ranks) return;
    Place place;
    place.key = fmt::format("{}s[{}]", kind, index);
    findings_.add(
        place, fmt::format("{} {} is on rank {}, but the program has {} ranks", kind, name, rank.value, program_.ranks),
        "ranks count from 0");
  }

  void check_buffer(BufferId id, const Spot& place) { check(id.value, program_.buffers.size(), "buffer", place); }
  void check_signal(SignalId id, const Spot& place) { check(id.value, program_.signals.size(), "signal", place); }
  void check_queue(QueueId id, const Spot& place) { check(id.value, program_.queues.size(), "queue", place); }

  void check(std::uint32_t id, std::size_t count, const char* what, const Spot& place) {
    if (id < count) return;
    findings_.add(place, fmt::format("there is no {} {}: the program has {} of them", what, id, count),
                  fmt::format("ids are indices into the list of {}s, counting from 0", what));
  }

  const Program& program_;
  Findings& findings_;
};

}  // namespace

void check_ids(Subject& subject, Findings& findings) {
  const Program& program = subject.program();
  IdCheck check(program, findings);
  check.resources();
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    const Queue& queue = program.queues[q];
    for (std::size_t c = 0; c < queue.commands.size(); ++c) {
      check.command(queue.commands[c], queue.kind, Spot{program, QueueId{q}, c});
      if (findings.full()) return;
    }
  }
  check.trackers();
  check.contract();
}

}  // namespace cortado::verifier
