#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "pipeline/median.hpp"
#include "pipeline/overlap/study.hpp"

namespace cortado::pipeline {
namespace {

struct Iteration {
  std::optional<Nanoseconds> begin;
  Nanoseconds gemm{};
  Nanoseconds comm{};
  Nanoseconds sent{};
};

/// A copy behind the last product of its queue, or a sum.
bool serves_collective(const Queue& queue, std::size_t index) {
  if (const auto* kernel = std::get_if<Kernel>(&queue.commands[index])) return kernel->op == KernelOp::reduce;
  if (!std::holds_alternative<Copy>(queue.commands[index])) return false;
  return std::none_of(queue.commands.begin() + static_cast<std::ptrdiff_t>(index), queue.commands.end(),
                      [](const Command& command) { return std::holds_alternative<Gemm>(command); });
}

void note(const Span& span, const Queue& queue, Iteration& iteration) {
  const auto until = [&](Nanoseconds& end) { end = std::max(end, span.end); };
  if (!is_product_queue(queue)) {
    until(iteration.comm);
    until(iteration.sent);
  } else if (span.kind == SpanKind::kernel || span.kind == SpanKind::copy) {
    until(serves_collective(queue, span.command) ? iteration.comm : iteration.gemm);
  }
}

}  // namespace

Parts parts_of(const Timeline& timeline, const Program& program) {
  std::map<std::uint32_t, Iteration> iterations;
  for (const Span& span : timeline.spans) {
    Iteration& iteration = iterations[span.iteration];
    const Queue& queue = program.queues[span.track];
    if (queue.kind == QueueKind::host) {
      if (queue.commands[span.command] != Command{Timestamp{"begin"}}) continue;
      iteration.begin = std::min(iteration.begin.value_or(span.start), span.start);
    } else {
      note(span, queue, iteration);
    }
  }
  std::vector<Nanoseconds> gemm;
  std::vector<Nanoseconds> comm;
  std::vector<Nanoseconds> sent;
  for (const auto& [number, one] : iterations) {
    const Nanoseconds begin = one.begin.value_or(Nanoseconds{});
    gemm.push_back(std::max(one.gemm - begin, Nanoseconds{}));
    comm.push_back(std::max(one.comm - begin, Nanoseconds{}));
    sent.push_back(std::max(one.sent - begin, Nanoseconds{}));
  }
  return {median(std::move(gemm)), median(std::move(comm)), median(std::move(sent))};
}

}  // namespace cortado::pipeline
