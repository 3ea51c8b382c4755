// verify.contract: every output byte is what the contract says when the caller reads it, in both iterations; and the
// contract covers all bytes of output buffers and at least some of every inout buffer.
//
// The program is executed on symbols in one order; all other orders give the same values, because there are no races.
// The formula of the contract is executed on the same symbols, and both must arrive at the same values.
//
// One iteration proves both. Nothing orders a step before one of an earlier iteration, so without races every access of
// the first iteration comes before whatever writes the same bytes in the second. If a step of the first iteration reads
// bytes that a step of the same iteration wrote, the same holds in the second; and bytes that nobody wrote have no
// value, which no clause accepts. Only a program that breaks its contract is executed twice: the second iteration shows
// whether it uses the data of the first.
#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "ir/functions.hpp"
#include "verify/callers.hpp"
#include "verify/coverage.hpp"
#include "verify/execution.hpp"
#include "verify/multiply.hpp"
#include "verify/naming.hpp"
#include "verify/regions.hpp"
#include "verify/rule.hpp"
#include "verify/symbolic_memory.hpp"
#include "verify/tile_groups.hpp"
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
        formula_(formula_program(program_)),
        memory_(program_, std::make_shared<Results>(static_cast<std::uint32_t>(formula_.buffers.size()))),
        clauses_(program_.queues.size()),
        told_(clause_count() + product_count() + program_.contract.formula.outputs.size(), false) {
    const auto callers = caller_queues(program_);
    for (std::uint32_t c = 0; c < told_.size(); ++c) {
      clauses_[callers[program_.buffer(output(c).buffer).rank.value]->value].push_back(c);
    }
  }

  /// Whether the first iteration gives every output the value that it should have.
  bool holds() {
    bool all = true;
    execute(1, [&](std::uint32_t clause, Node read) { all = all && !mismatch_of(clause, read); });
    return all;
  }

  /// Reports what the outputs hold instead.
  void report_all() {
    execute(kIterations, [&](std::uint32_t clause, Node read) { check(clause, read); });
  }

 private:
  /// Calls at_read(clause, node) where the caller reads the output of a clause.
  template <class AtRead>
  void execute(std::uint32_t iterations, AtRead&& at_read) {
    for (const Node node : execution_.order) {
      if (!unrolled_.is_step(node)) continue;
      const Step& step = unrolled_.step(node);
      if (!has_effect(step) || unrolled_.iteration(node) >= iterations || findings_.full()) continue;
      if (step.kind == StepKind::caller_fill) {
        for (const Access& access : unrolled_.accesses(step)) memory_.fill(access.region, unrolled_.iteration(node));
      } else if (step.kind == StepKind::work) {
        work(step);
      } else if (step.kind == StepKind::raise) {
        memory_.fire(unrolled_.tracker(step.queue));
      } else {
        for (const std::uint32_t clause : clauses_[step.queue]) at_read(clause, node);
      }
    }
  }

  /// Steps of the caller, work, and raises of trackers.
  bool has_effect(const Step& step) const {
    if (step.kind == StepKind::raise) return unrolled_.is_tracker(step.queue);
    return step.kind == StepKind::work || step.kind == StepKind::caller_fill || step.kind == StepKind::caller_read;
  }

  // Clauses, then GEMM clauses, then outputs of the formula are numbered consecutively.
  std::size_t clause_count() const { return program_.contract.clauses.size(); }
  std::size_t product_count() const { return program_.contract.products.size(); }
  bool is_formula(std::uint32_t index) const { return index >= clause_count() + product_count(); }
  bool is_product(std::uint32_t index) const { return index >= clause_count() && !is_formula(index); }
  const ProductClause& product_clause(std::uint32_t index) const {
    return program_.contract.products[index - clause_count()];
  }
  const FormulaClause& formula_clause(std::uint32_t index) const {
    return program_.contract.formula.outputs[index - clause_count() - product_count()];
  }
  const Region& output(std::uint32_t index) const {
    if (is_formula(index)) return formula_clause(index).output;
    return is_product(index) ? product_clause(index).output : program_.contract.clauses[index].output;
  }
  std::string name_of(std::uint32_t index) const {
    if (is_formula(index)) return fmt::format("output {} of the formula", index - clause_count() - product_count());
    return is_product(index) ? fmt::format("product {}", index - clause_count()) : fmt::format("clause {}", index);
  }

  void work(const Step& step) {
    const Command& command = program_.queues[step.queue].commands[step.command];
    const bool update = unrolled_.is_update(step);
    const auto* gemm = std::get_if<Gemm>(&command);
    if (gemm == nullptr || (gemm->waits.empty() && gemm->raises.empty())) {
      memory_.execute(command, update);
    } else {
      for (const Gemm& part : tile_gemms(*gemm, unrolled_.tiles(step, *gemm))) memory_.multiply(part, update);
    }
  }

  /// A run of output bytes with the wrong contents.
  struct Mismatch {
    Node read = kNoNode;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    Value expected;
    Value actual;
  };

  std::optional<Mismatch> mismatch_of(std::uint32_t index, Node read) {
    if (is_formula(index)) return first_mismatch(formula_clause(index), read);
    if (is_product(index)) return first_mismatch(product_clause(index), read);
    return first_mismatch(program_.contract.clauses[index], read);
  }

  void check(std::uint32_t index, Node read) {
    if (told_[index]) return;
    std::optional<Mismatch> mismatch = mismatch_of(index, read);
    if (mismatch && !mismatch->actual.is_defined() && unrolled_.iteration(read) == 0) {
      // The second iteration shows whether these bytes would be data of the previous iteration.
      undefined_.emplace(index, *std::move(mismatch));
      return;
    }
    const auto undefined = undefined_.find(index);
    if (undefined != undefined_.end() && !(mismatch && mismatch->actual.is_defined())) {
      mismatch = std::move(undefined->second);
    }
    if (!mismatch) return;
    told_[index] = true;
    report(index, *mismatch);
  }

  std::optional<Mismatch> first_mismatch(const Clause& clause, Node read) const {
    if (clause.terms.size() == 1 && holds_copy(clause, unrolled_.iteration(read))) return {};
    std::optional<Mismatch> mismatch;
    memory_.read(clause.output, [&](const Piece& piece) {
      if (!mismatch) mismatch = mismatch_in(clause, piece, read);
    });
    return mismatch;
  }

  /// Whether the output holds its single term in the simplest form; if not, the pieces have to be compared.
  bool holds_copy(const Clause& clause, std::uint32_t iteration) const {
    const Region& term = clause.terms.front();
    const bool in_one_run = term.rows == 1 || term.pitch == term.width;
    if (!in_one_run || !memory_.is_plain(clause.output)) return false;
    const std::uint64_t begin = clause.output.offset.value;
    bool holds = true;
    memory_.buffer(clause.output.buffer)
        .visit_bytes(begin, begin + clause.output.bytes().value,
                     [&](std::uint64_t from, std::uint64_t, const Value* value) {
                       const Term expected{term.buffer.value, iteration, term.offset.value + (from - begin), 1};
                       holds = holds && value != nullptr && value->terms.size() == 1 && value->terms[0] == expected;
                     });
    return holds;
  }

  /// Compares a piece of the output, addressed by place in the clause, with the terms; part by part where rows of a
  /// term cut it.
  std::optional<Mismatch> mismatch_in(const Clause& clause, const Piece& piece, Node read) const {
    const std::uint64_t size = size_of(clause.dtype).value;
    Value expected{.dtype = clause.dtype, .phase = piece.at.start % size, .phase_step = piece.at.stride % size};
    for (const Region& term : clause.terms) {
      const PlacedRunsList parts = addresses_of(piece.at, term);
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

  std::optional<Mismatch> first_mismatch(const ProductClause& clause, Node read) {
    const Blocks expected = expected_product(clause, unrolled_.iteration(read), memory_.results());
    std::vector<std::uint64_t> ends;  // running maximum of the last rows of the blocks
    for (const Block& block : expected) {
      ends.push_back(std::max(ends.empty() ? 0 : ends.back(), block.at.row_end));
    }
    for (const Block& actual : blocks_of(memory_.read(clause.output), clause.output.width.value)) {
      auto i = static_cast<std::size_t>(std::ranges::upper_bound(ends, actual.at.row_begin) - ends.begin());
      for (; i < expected.size() && expected[i].at.row_begin < actual.at.row_end; ++i) {
        if (auto mismatch = mismatch_in(clause, actual, expected[i], read)) return mismatch;
      }
    }
    return {};
  }

  /// Compares the part that both blocks cover.
  static std::optional<Mismatch> mismatch_in(const ProductClause& clause, const Block& actual, const Block& expected,
                                             Node read) {
    const Rectangle part{std::max(actual.at.row_begin, expected.at.row_begin),
                         std::min(actual.at.row_end, expected.at.row_end),
                         std::max(actual.at.column_begin, expected.at.column_begin),
                         std::min(actual.at.column_end, expected.at.column_end)};
    if (part.row_begin >= part.row_end || part.column_begin >= part.column_end) return {};
    Value wanted = value_of(expected, part);
    Value found = value_of(actual, part);
    if (found == wanted) return {};
    const std::uint64_t begin = clause.output.row_offset(part.row_begin).value + part.column_begin;
    return Mismatch{read, begin, begin + part.column_end - part.column_begin, std::move(wanted), std::move(found)};
  }

  /// The values that the formula computes from the inputs of an iteration.
  const SymbolicMemory& values_of(std::uint32_t iteration) {
    const auto [found, fresh] = values_.try_emplace(iteration);
    if (fresh) {
      found->second = std::make_unique<SymbolicMemory>(formula_, memory_.shared_results());
      for_each_input(program_, [&](const Region& region) { found->second->fill(region, iteration); });
      for (const Command& step : program_.contract.formula.steps) found->second->execute(step);
    }
    return *found->second;
  }

  std::optional<Mismatch> first_mismatch(const FormulaClause& clause, Node read) {
    const SymbolicMemory& values = values_of(unrolled_.iteration(read));
    std::optional<Mismatch> mismatch;
    for_common_runs(values.read(clause.value), memory_.read(clause.output),
                    [&](const Piece& wanted, const Piece& found) {
                      if (mismatch || wanted.value == found.value) return;
                      const Runs output = addresses_of(found.at, clause.output).front().address;
                      mismatch = Mismatch{read, output.start, output.start + output.width, wanted.value, found.value};
                    });
    return mismatch;
  }

  void report(std::uint32_t index, const Mismatch& mismatch) {
    const auto& [read, begin, end, expected, actual] = mismatch;
    told_iteration_ = unrolled_.iteration(read);
    const BufferId buffer = output(index).buffer;
    const std::uint64_t bytes = end - begin;
    const Node writer = last_writer(buffer, begin, read);
    std::string message = fmt::format("output {} of rank {} ", byte_range(program_, buffer, begin, end),
                                      program_.buffer(buffer).rank.value);
    if (!actual.is_defined()) {
      message += fmt::format("should be {} but {}", text(expected, bytes),
                             writer == kNoNode ? "is never written" : "got bytes that were never written");
    } else {
      message += difference(expected, actual, unrolled_.iteration(read), bytes);
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
                  fmt::format("{} of contract {}: compare the regions of the commands that write there", name_of(index),
                              program_.contract.name));
  }

  std::string difference(const Value& expected, const Value& actual, std::uint32_t iteration, std::uint64_t bytes) {
    Value fresh = actual;
    for (Term& term : fresh.terms) term = as_of(term, iteration);
    std::ranges::sort(fresh.terms);
    memory_.results().join_panels(fresh.terms, expected.dtype, expected.phase);
    if (fresh.terms == expected.terms && actual.terms != expected.terms) {
      return fmt::format("should be {} {} of this iteration but holds {} of the previous iteration",
                         product(expected.terms.front()) ? "the product" : "the bytes", text(expected, bytes),
                         product(expected.terms.front()) ? "one with bytes" : "those");
    }
    if (expected.is_sum()) {
      for (const Term& term : expected.terms) {
        const auto wanted = std::ranges::count(expected.terms, term);
        const auto found = std::ranges::count(actual.terms, term);
        if (found == wanted) continue;
        const auto factors = product(term);
        const std::uint32_t source = factors ? factors->b.source : term.source;
        const std::string whose =
            source < program_.buffers.size() ? fmt::format(" of rank {}", program_.buffers[source].rank.value) : "";
        const std::string who = fmt::format("the contribution{} ({})", whose, text(term, bytes));
        if (found > wanted) return fmt::format("counts {} {} times instead of {}", who, found, wanted);
        if (found == 0) return fmt::format("lacks {}; it holds {}", who, text(actual, bytes));
        return fmt::format("counts {} {} times instead of {}", who, found, wanted);
      }
      if (actual.terms == expected.terms) return "is a sum of the right terms but of other elements";
    }
    return fmt::format("should be {} but holds {}", text(expected, bytes), text(actual, bytes));
  }

  std::optional<ProductTerm> product(const Term& term) const { return memory_.results().product(term); }

  /// The same term, with the bytes of another iteration.
  Term as_of(Term term, std::uint32_t iteration) {
    auto factors = product(term);
    if (!factors) {
      if (term.source < program_.buffers.size()) term.iteration = iteration;
      return term;
    }
    factors->a.iteration = factors->b.iteration = iteration;
    return memory_.results().term(*factors);
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
    if (const auto factors = product(term)) {
      // One row of A and, as wide as the row of the output, the k rows of B.
      const auto& [a, a_step, b, b_pitch, k, dtype] = *factors;
      const Bytes row = size_of(dtype) * k;
      const std::string left = a.source < program_.buffers.size()
                                   ? to_string(program_, make_region(BufferId{a.source}, Bytes{a.offset}, row))
                                   : text(Term{a.source, a.iteration, a.offset, 0}, row.value);
      if (b.source >= program_.buffers.size()) return left + " * a computed matrix";
      const Region columns{BufferId{b.source}, Bytes{b.offset}, Bytes{bytes}, k, Bytes{b_pitch}};
      return fmt::format("{} * {}", left, to_string(program_, columns));
    }
    if (const Results::Application* made = memory_.results().application(term)) return text(*made);
    if (memory_.results().is_long_sum(term)) {
      return fmt::format("a sum of more than {} terms, the most that are followed", Results::kMostTerms);
    }
    if (term.source >= program_.buffers.size()) return "a computed result";
    std::string bytes_of = byte_range(program_, BufferId{term.source}, term.offset, term.offset + bytes);
    if (term.iteration != told_iteration_) bytes_of += " of the previous iteration";
    return bytes_of;
  }

  /// "rms_norm(x0[0, 64); norm0[0, 64); 10000)"; operands are spelled out up to three functions deep.
  std::string text(const Results::Application& made) const {
    constexpr int kDeepest = 3;
    if (depth_ == kDeepest) return std::string(info(made.function).name) + "(...)";
    ++depth_;
    std::vector<std::string> operands;
    for (const std::uint32_t operand : made.operands) {
      const Results::Content& content = memory_.results().content(operand);
      const auto& [width, value] = content.front();
      operands.push_back(text(value, width) + (content.size() > 1 ? ", ..." : ""));
      // The rows of all others follow from the numbers of positions.
      if (made.function == Function::embedding && operand == made.operands.back()) {
        operands.back() += fmt::format(" in {} rows", memory_.results().rows(operand));
      }
    }
    --depth_;
    if (!made.parameters.empty()) operands.push_back(fmt::format("{}", fmt::join(made.parameters, ", ")));
    return fmt::format("{}({})", info(made.function).name, fmt::join(operands, "; "));
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
  const Program formula_;
  SymbolicMemory memory_;
  std::map<std::uint32_t, std::unique_ptr<SymbolicMemory>> values_;  // of the formula, by iteration
  mutable int depth_ = 0;                                            // nesting of functions in a message
  std::uint32_t told_iteration_ = 0;                                 // what messages call this iteration
  std::vector<std::vector<std::uint32_t>> clauses_;                  // by host queue: the clauses that it checks,
                                                                     // including GEMMs
  std::map<std::uint32_t, Mismatch> undefined_;  // by clause: bytes without a value in the first iteration
  std::vector<bool> told_;                       // by clause: whether it was reported
};

}  // namespace

void check_contract(Subject& subject, Findings& findings) {
  check_coverage(subject.program(), findings);
  if (ContractCheck(subject.unrolled(), subject.execution(), findings).holds()) return;
  ContractCheck(subject.unrolled(), subject.execution(), findings).report_all();
}

}  // namespace cortado::verifier
