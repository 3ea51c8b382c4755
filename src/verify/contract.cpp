// verify.contract: every output byte is what the contract says, when the caller reads it, in both iterations.
//
// The program is executed on symbols in one order; the others give the same, as there are no races.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/ir/text.hpp"

#include "verify/callers.hpp"
#include "verify/execution.hpp"
#include "verify/naming.hpp"
#include "verify/regions.hpp"
#include "verify/rule.hpp"
#include "verify/symbolic_memory.hpp"
#include "verify/unrolled.hpp"

namespace cortado::verifier {
namespace {

class ContractCheck {
 public:
  ContractCheck(const Unrolled& unrolled, const Execution& execution, Findings& findings)
      : unrolled_(unrolled),
        execution_(execution),
        program_(unrolled.program()),
        findings_(findings),
        memory_(program_),
        clauses_(program_.queues.size()),
        undefined_(program_.contract.clauses.size()),
        told_(program_.contract.clauses.size(), false) {
    const auto callers = caller_queues(program_);
    for (std::uint32_t c = 0; c < program_.contract.clauses.size(); ++c) {
      const Region& output = program_.contract.clauses[c].output;
      clauses_[callers[program_.buffer(output.buffer).rank.value]->value].push_back(c);
    }
  }

  void run() {
    for (const Node node : execution_.order) {
      if (!unrolled_.is_step(node) || findings_.full()) continue;
      const Step& step = unrolled_.step(node);
      if (step.kind == StepKind::caller_fill) {
        for (const Access& access : unrolled_.accesses(step)) memory_.fill(access.region, unrolled_.iteration(node));
      } else if (step.kind == StepKind::work) {
        work(step, unrolled_.iteration(node));
      } else if (step.kind == StepKind::caller_read) {
        for (const std::uint32_t clause : clauses_[step.queue]) check(clause, node);
      }
    }
  }

 private:
  void work(const Step& step, std::uint32_t iteration) {
    const Command& command = program_.queues[step.queue].commands[step.command];
    if (!std::holds_alternative<Gemm>(command)) {
      memory_.execute(command);
      return;
    }
    for (const Access& access : unrolled_.accesses(step)) {
      if (access.kind != AccessKind::read) memory_.write_result(access.region, iteration);
    }
  }

  /// A run of output bytes that is not as it should be.
  struct Mismatch {
    Node read = kNoNode;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    Value expected;
    Value actual;
  };

  void check(std::uint32_t index, Node read) {
    if (told_[index]) return;
    std::optional<Mismatch> mismatch = first_mismatch(program_.contract.clauses[index], read);
    std::optional<Mismatch>& undefined = undefined_[index];
    if (mismatch && !mismatch->actual.is_defined() && unrolled_.iteration(read) == 0) {
      // The second iteration shows whether this would be the data of the iteration before.
      undefined = std::move(mismatch);
      return;
    }
    if (undefined && !(mismatch && mismatch->actual.is_defined())) mismatch = std::move(undefined);
    if (!mismatch) return;
    told_[index] = true;
    report(index, *mismatch);
  }

  std::optional<Mismatch> first_mismatch(const Clause& clause, Node read) const {
    for (const Piece& piece : memory_.read(clause.output)) {
      if (auto mismatch = mismatch_in(clause, piece, read)) return mismatch;
    }
    return {};
  }

  /// Compares a piece of the output, by places of the clause, with the terms; where rows of a term cut it, part by
  /// part.
  std::optional<Mismatch> mismatch_in(const Clause& clause, const Piece& piece, Node read) const {
    const std::uint64_t size = size_of(clause.dtype).value;
    Value expected{{}, clause.dtype, piece.at.start % size, piece.at.stride % size};
    for (const Region& term : clause.terms) {
      const std::vector<PlacedRuns> parts = addresses_of(piece.at, term);
      if (parts.size() > 1 || parts.front().place != piece.at) {
        for (const PlacedRuns& part : parts) {
          const Piece smaller{part.place, value_of_part(piece, part.place)};
          if (auto mismatch = mismatch_in(clause, smaller, read)) return mismatch;
        }
        return {};
      }
      const Runs& address = parts.front().address;
      expected.terms.push_back({term.buffer.value, unrolled_.iteration(read), address.start, address.stride});
    }
    std::ranges::sort(expected.terms);
    if (piece.value == expected) return {};
    const Runs output = addresses_of(piece.at, clause.output).front().address;
    return Mismatch{read, output.start, output.start + output.width, expected, piece.value};
  }

  void report(std::uint32_t index, const Mismatch& mismatch) const {
    const auto& [read, begin, end, expected, actual] = mismatch;
    const BufferId buffer = program_.contract.clauses[index].output.buffer;
    const std::uint64_t bytes = end - begin;
    const Node writer = last_writer(buffer, begin, read);
    std::string message = fmt::format("output {} of rank {} ", byte_range(program_, buffer, begin, end),
                                      program_.buffer(buffer).rank.value);
    if (!actual.is_defined()) {
      message += fmt::format("should be {} but {}", text(expected, bytes),
                             writer == kNoNode ? "is never written" : "got bytes that were never written");
    } else {
      message += difference(expected, actual, bytes);
    }
    if (unrolled_.iteration(read) > 0) message += " (second iteration)";
    Place place;
    if (writer == kNoNode) {
      place = Spot(program_, QueueId{unrolled_.step(read).queue});
      place.rank = program_.buffer(buffer).rank;
    } else {
      const Step& step = unrolled_.step(writer);
      place = Spot(program_, QueueId{step.queue}, step.command);
      message +=
          fmt::format("; last written by {}", to_string(program_, program_.queues[step.queue].commands[step.command]));
    }
    findings_.add(std::move(place), std::move(message),
                  fmt::format("clause {} of contract {}: compare the regions of the commands that write there", index,
                              program_.contract.name));
  }

  std::string difference(const Value& expected, const Value& actual, std::uint64_t bytes) const {
    Value fresh = actual;
    for (Term& term : fresh.terms) term.iteration = expected.terms.front().iteration;
    std::ranges::sort(fresh.terms);
    if (fresh.terms == expected.terms && actual.terms != expected.terms) {
      return fmt::format("should be the bytes {} of this iteration but holds those of the iteration before",
                         text(expected, bytes));
    }
    if (expected.is_sum()) {
      for (const Term& term : expected.terms) {
        const auto wanted = std::ranges::count(expected.terms, term);
        const auto found = std::ranges::count(actual.terms, term);
        if (found == wanted) continue;
        const std::string who = fmt::format("the contribution of rank {} ({})",
                                            program_.buffers[term.source].rank.value, text(term, bytes));
        if (found > wanted) return fmt::format("counts {} {} times instead of {}", who, found, wanted);
        if (found == 0) return fmt::format("lacks {}; it holds {}", who, text(actual, bytes));
        return fmt::format("counts {} {} times instead of {}", who, found, wanted);
      }
      if (actual.terms == expected.terms) return "is a sum of the right terms but of other elements";
    }
    return fmt::format("should be {} but holds {}", text(expected, bytes), text(actual, bytes));
  }

  std::string text(const Value& value, std::uint64_t bytes) const {
    std::string all;
    constexpr std::size_t kNamed = 6;
    for (std::size_t i = 0; i < std::min(value.terms.size(), kNamed); ++i) {
      all += (i == 0 ? "" : " + ") + text(value.terms[i], bytes);
    }
    if (value.terms.size() > kNamed) all += fmt::format(" + {} more", value.terms.size() - kNamed);
    return all;
  }

  std::string text(const Term& term, std::uint64_t bytes) const {
    if (term.source >= program_.buffers.size()) return "a computed result";
    return byte_range(program_, BufferId{term.source}, term.offset, term.offset + bytes);
  }

  /// The last command before `read` that wrote the byte.
  Node last_writer(BufferId buffer, std::uint64_t at, Node read) const {
    const Region byte = make_region(buffer, Bytes{at}, Bytes{1});
    for (std::uint32_t i = execution_.position[read]; i-- > 0;) {
      const Node node = execution_.order[i];
      if (!unrolled_.is_step(node) || unrolled_.step(node).kind != StepKind::work) continue;
      for (const Access& access : unrolled_.accesses(unrolled_.step(node))) {
        if (access.kind != AccessKind::read && overlap(access.region, byte)) return node;
      }
    }
    return kNoNode;
  }

  const Unrolled& unrolled_;
  const Execution& execution_;
  const Program& program_;
  Findings& findings_;
  SymbolicMemory memory_;
  std::vector<std::vector<std::uint32_t>> clauses_;  // of a host queue: those it checks
  std::vector<std::optional<Mismatch>> undefined_;   // of a clause: bytes without a value in the first iteration
  std::vector<bool> told_;                           // of a clause
};

}  // namespace

void check_contract(Subject& subject, Findings& findings) {
  ContractCheck(subject.unrolled(), subject.execution(), findings).run();
}

}  // namespace cortado::verifier
