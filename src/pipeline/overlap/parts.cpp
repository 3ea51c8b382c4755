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
};

/// What ends with the span, or nullptr.
Nanoseconds* part_of(const Span& span, const Queue& queue, Iteration& iteration) {
  if (!is_product_queue(queue)) return &iteration.comm;
  if (span.kind != SpanKind::kernel && span.kind != SpanKind::copy) return nullptr;
  const auto* kernel = std::get_if<Kernel>(&queue.commands[span.command]);
  return kernel != nullptr && kernel->op == KernelOp::reduce ? &iteration.comm : &iteration.gemm;
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
    } else if (Nanoseconds* end = part_of(span, queue, iteration)) {
      *end = std::max(*end, span.end);
    }
  }
  std::vector<Nanoseconds> gemm;
  std::vector<Nanoseconds> comm;
  for (const auto& [number, one] : iterations) {
    const Nanoseconds begin = one.begin.value_or(Nanoseconds{});
    gemm.push_back(std::max(one.gemm - begin, Nanoseconds{}));
    comm.push_back(std::max(one.comm - begin, Nanoseconds{}));
  }
  return {median(std::move(gemm)), median(std::move(comm))};
}

}  // namespace cortado::pipeline
