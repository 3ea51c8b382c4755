#include "pipeline/phases.hpp"

#include "cortado/timeline.hpp"

#include "base/check.hpp"

namespace cortado::pipeline {

PathPhases phases_of(const Run& run, const VerifiedProgram& verified) {
  CORTADO_CHECK(!run.timeline.spans.empty(), "a simulation with tracing");
  const Program& program = verified.program();
  const EngineTiming& engine = verified.machine().timing->engine;
  const CriticalPath path = critical_path(run.timeline, [&](const Span& copy) {
    return program.queues[copy.track].kind == QueueKind::dma ? engine.copy_start : Nanoseconds{0};
  });
  return {path.host, path.schedule, path.copy + path.kernel, path.sync + path.wait};
}

}  // namespace cortado::pipeline
