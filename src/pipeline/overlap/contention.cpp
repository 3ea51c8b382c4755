#include "pipeline/overlap/contention.hpp"

#include <algorithm>

#include "cortado/target.hpp"

#include "ir/visit.hpp"
#include "pipeline/overlap/times.hpp"

namespace cortado::pipeline {
namespace {

enum class Keep { products, copies };

/// The copies of the collective: all except those in the stream of GEMMs.
bool is_copy_of_collective(const Queue& queue, const Command& command) {
  return queue.role == QueueRole::collective && moves_bytes(command);
}

bool stays(const Queue& queue, const Command& command, Keep keep) {
  if (queue.kind == QueueKind::host || std::holds_alternative<Signal>(command)) return true;
  if (keep == Keep::products) {
    // The queues of the collective only raise: parts of a kernel that wait would hold compute units meanwhile.
    return queue.role == QueueRole::gemm && !moves_bytes(command) && !std::holds_alternative<Kernel>(command);
  }
  return std::holds_alternative<Wait>(command) || is_copy_of_collective(queue, command);
}

/// Omitted work counts as done at once: the signals that it would raise are raised in its place.
Program only(const Program& program, Keep keep) {
  Program rest = program;
  rest.contract = {};
  for (Queue& queue : rest.queues) {
    const Queue whole = queue;
    queue.commands.clear();
    for (const Command& command : whole.commands) {
      if (stays(whole, command, keep)) {
        queue.commands.push_back(command);
        continue;
      }
      for_each_raise(command, [&](SignalId signal, std::uint64_t value, SignalOp op) {
        queue.commands.push_back(Signal{signal, value, op});
      });
    }
  }
  return rest;
}

/// Half of a program, simulated.
struct Half {
  CheckedProgram program;
  Timeline timeline;
};

Outcome<Half> simulate_only(const CheckedProgram& program, Keep keep) {
  // Half of a program has no contract, and may touch bytes in an order that only the other half ensured.
  const auto half = check_program(only(program.program(), keep), program.machine(),
                                  {.skip_rules = {"verify.race", "verify.contract"}});
  if (!half) return fail_at(Stage::verify, half.error());
  auto run = simulate_checked(*half, {.trace = true, .sim = {.energy = false}});
  if (!run) return fail(run.error());
  return Half{*half, std::move(run->timeline)};
}

void add(const Span& span, Nanoseconds& sum) {
  sum = sum + (span.end - span.start);
}

/// By rank: the sum of its GEMMs.
std::vector<Nanoseconds> products_by_rank(const Program& program, const Timeline& timeline) {
  std::vector<Nanoseconds> products(program.ranks);
  for (const Span& span : timeline.spans) {
    const Queue& queue = program.queues[span.track];
    if (!std::holds_alternative<Gemm>(queue.commands[span.command])) continue;
    add(span, products[queue.rank->value]);
  }
  return products;
}

/// Copies of one queue may overlap: their times are merged. Spans come in the order of their
/// starts.
Nanoseconds copies_of(const Program& program, const Timeline& timeline) {
  std::vector<Nanoseconds> until(program.queues.size());
  Nanoseconds copies{};
  for (const Span& span : timeline.spans) {
    const Queue& queue = program.queues[span.track];
    if (!is_copy_of_collective(queue, queue.commands[span.command])) continue;
    Nanoseconds& end = until[span.track];
    if (span.end <= end) continue;
    copies = copies + (span.end - std::max(span.start, end));
    end = span.end;
  }
  return copies;
}

/// What the kernels of a rank do besides GEMMs.
void add_stream(const Program& program, const Timeline& timeline, RankId rank, Contention& found) {
  bool waited = false;     // for another rank
  bool dependent = false;  // a GEMM has begun after that
  for (const Span& span : timeline.spans) {
    const Queue& queue = program.queues[span.track];
    if (queue.rank != rank || queue.role != QueueRole::gemm) continue;
    const Command& command = queue.commands[span.command];
    if (std::holds_alternative<Wait>(command)) {
      waited = true;
      add(span, dependent ? found.later_waits : found.first_wait);
    } else if (std::holds_alternative<Gemm>(command)) {
      dependent = waited;
    } else {
      add(span, found.other_kernels);
    }
  }
}

double ratio_or_one(Nanoseconds over, Nanoseconds under) {
  return under.value == 0 ? 1 : ratio(over, under);
}

}  // namespace

double Contention::gemm() const {
  return ratio_or_one(products, products_alone);
}

double Contention::comm() const {
  return ratio_or_one(copies, copies_alone);
}

Outcome<Contention> contention_of(const CheckedProgram& program, const Timeline& overlapped) {
  const auto products = simulate_only(program, Keep::products);
  if (!products) return fail(products.error());
  const auto copies = simulate_only(program, Keep::copies);
  if (!copies) return fail(copies.error());
  const std::vector<Nanoseconds> by_rank = products_by_rank(program.program(), overlapped);
  const auto slowest = static_cast<std::size_t>(std::ranges::max_element(by_rank) - by_rank.begin());
  Contention found;
  found.products = by_rank[slowest];
  found.products_alone = products_by_rank(products->program.program(), products->timeline)[slowest];
  found.copies = copies_of(program.program(), overlapped);
  found.copies_alone = copies_of(copies->program.program(), copies->timeline);
  add_stream(program.program(), overlapped, RankId{static_cast<std::uint32_t>(slowest)}, found);
  return found;
}

}  // namespace cortado::pipeline
