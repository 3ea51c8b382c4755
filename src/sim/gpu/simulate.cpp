#include "cortado/sim/simulate.hpp"

#include <set>
#include <string>

#include <fmt/format.h>

#include "cortado/ir/visit.hpp"

#include "sim/gpu/run.hpp"

namespace cortado::sim {
namespace {

// A kernel that reads so many GPUs takes two ports or links, a cache and a memory of each, and still fits one transfer.
constexpr std::size_t kMostGpusOfAKernel = 12;

/// Why the command cannot be simulated; empty if it can.
std::string refusal(const Program& program, const Command& command) {
  if (std::holds_alternative<Gemm>(command)) return "the simulator has no model of gemm";
  const auto* kernel = std::get_if<Kernel>(&command);
  if (kernel == nullptr || kernel->sources.size() <= kMostGpusOfAKernel) return {};
  std::set<RankId> gpus;
  for (const Region& source : kernel->sources) gpus.insert(program.buffer(source.buffer).rank);
  if (gpus.size() <= kMostGpusOfAKernel) return {};
  return fmt::format("a kernel that reads the memories of {} GPUs; {} can be simulated", gpus.size(),
                     kMostGpusOfAKernel);
}

Status check_commands(const Program& program) {
  for (const Queue& queue : program.queues) {
    for (std::uint32_t i = 0; i < queue.commands.size(); ++i) {
      std::string reason = refusal(program, queue.commands[i]);
      if (reason.empty()) continue;
      Diagnostic diagnostic{"sim.command", std::move(reason), "run the program on the embedded node"};
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
