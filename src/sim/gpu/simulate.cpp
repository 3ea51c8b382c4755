#include "cortado/sim/simulate.hpp"

#include <fmt/format.h>

#include "cortado/ir/visit.hpp"

#include "sim/gpu/run.hpp"

namespace cortado::sim {
namespace {

Status check_commands(const Program& program) {
  for (const Queue& queue : program.queues) {
    for (std::uint32_t i = 0; i < queue.commands.size(); ++i) {
      if (!std::holds_alternative<Gemm>(queue.commands[i])) continue;
      Diagnostic diagnostic{"sim.command", "the simulator has no model of gemm",
                            "run the program on the embedded node"};
      diagnostic.place.rank = queue.rank;
      diagnostic.place.queue = queue.name;
      diagnostic.place.command = i;
      return fail(std::move(diagnostic));
    }
  }
  return {};
}

}  // namespace

Status check_timing(const Machine& machine) {
  if (machine.timing) return {};
  Diagnostic diagnostic{"sim.timing", fmt::format("machine {} has no timing", machine.name),
                        "add the sections host, engine_timing, links, memory and cores (machines/README.md)"};
  diagnostic.place.file = machine.file;
  return fail(std::move(diagnostic));
}

Result<Simulated> simulate(const VerifiedProgram& program, const SimulateOptions& options) {
  CORTADO_RETURN_IF_ERROR(check_timing(program.machine()));
  if (options.iterations == 0 || options.iterations > kMaxIterations) {
    return fail("sim.iterations", fmt::format("{} iterations asked for", options.iterations),
                fmt::format("ask for 1 to {}", kMaxIterations));
  }
  CORTADO_RETURN_IF_ERROR(check_commands(program.program()));
  return Run(program, options).go();
}

}  // namespace cortado::sim
