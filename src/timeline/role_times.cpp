#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "cortado/timeline.hpp"

#include "ir/visit.hpp"

namespace cortado {
namespace {

struct Iteration {
  std::optional<Nanoseconds> begin;
  Nanoseconds gemm{};
  Nanoseconds collective{};
  Nanoseconds sent{};
};

void note(const Span& span, const Queue& queue, Iteration& iteration) {
  const auto until = [&](Nanoseconds& end) { end = std::max(end, span.end); };
  if (queue.role == QueueRole::collective) {
    until(iteration.collective);
    until(iteration.sent);
  } else if (span.kind == SpanKind::kernel || span.kind == SpanKind::copy) {
    until(role_of(queue, span.command) == QueueRole::collective ? iteration.collective : iteration.gemm);
  }
}

}  // namespace

RoleTimes times_by_role(const Timeline& timeline, const Program& program) {
  std::map<std::uint32_t, Iteration> iterations;
  for (const Span& span : timeline.spans) {
    Iteration& iteration = iterations[span.iteration];
    const Queue& queue = program.queues[span.track];
    if (queue.role == QueueRole::control) {
      if (queue.commands[span.command] != Command{Timestamp{"begin"}}) continue;
      iteration.begin = std::min(iteration.begin.value_or(span.start), span.start);
    } else {
      note(span, queue, iteration);
    }
  }
  std::vector<Nanoseconds> gemm;
  std::vector<Nanoseconds> collective;
  std::vector<Nanoseconds> sent;
  for (const auto& [number, one] : iterations) {
    const Nanoseconds begin = one.begin.value_or(Nanoseconds{});
    gemm.push_back(std::max(one.gemm - begin, Nanoseconds{}));
    collective.push_back(std::max(one.collective - begin, Nanoseconds{}));
    sent.push_back(std::max(one.sent - begin, Nanoseconds{}));
  }
  return {upper_median(std::move(gemm)), upper_median(std::move(collective)), upper_median(std::move(sent))};
}

}  // namespace cortado
