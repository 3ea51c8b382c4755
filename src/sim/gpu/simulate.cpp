#include "sim/gpu/simulate.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/check.hpp"
#include "gemm/gemm.hpp"
#include "ir/visit.hpp"
#include "sim/gpu/protocols.hpp"
#include "sim/gpu/run.hpp"

namespace cortado::sim {
namespace {

// A kernel that reads this many GPUs uses two ports or links, a cache, a memory and a fabric of each, and still fits in
// one transfer.
constexpr std::size_t kMostGpusOfAKernel = 96;

/// Why the command cannot be simulated; empty if it can.
std::string refusal(const Program& program, const Command& command) {
  const auto* kernel = std::get_if<Kernel>(&command);
  if (kernel == nullptr || kernel->sources.size() <= kMostGpusOfAKernel) return {};
  std::set<RankId> gpus;
  for (const Region& source : kernel->sources) gpus.insert(program.buffer(source.buffer).rank);
  if (gpus.size() <= kMostGpusOfAKernel) return {};
  return fmt::format("a kernel reads the memory of {} GPUs; at most {} can be simulated", gpus.size(),
                     kMostGpusOfAKernel);
}

Status check_command(const Program& program, const Queue& queue, const Command& command, const Machine& machine) {
  std::string reason = refusal(program, command);
  const auto in_host = [&](const Access& access) { return program.buffer(access.region.buffer).host.has_value(); };
  if (!machine.timing->host_link && std::ranges::any_of(accesses(command), in_host)) {
    return fail("sim.host_link", fmt::format("machine {} does not describe its links to host memory", machine.name),
                "add the section host_link to the machine file (machines/README.md)");
  }
  if (!machine.timing->runtime && queue.submission != Submission::ring) {
    return fail("sim.runtime", fmt::format("machine {} does not describe the cost of runtime copies", machine.name),
                "add the section runtime to the machine file (machines/README.md)");
  }
  if (queue.protocol != Protocol::none && timing_of(queue.protocol, *machine.timing) == nullptr &&
      multicast_of(queue.protocol, *machine.timing) == nullptr) {
    reason = fmt::format("a kernel uses the protocol {}, which machine {} does not describe", to_string(queue.protocol),
                         machine.name);
  }
  if (const auto* gemm = std::get_if<Gemm>(&command)) {
    CORTADO_RETURN_IF_ERROR(check_gemm(shape_of(*gemm), machine));
    if (!queue.kernel.empty()) reason = "a GEMM is part of a larger kernel; put it on a queue of its own";
  }
  if (reason.empty()) return {};
  return fail("sim.command", std::move(reason), "run the program on the embedded node");
}

Status check_commands(const Program& program, const Machine& machine) {
  for (const Queue& queue : program.queues) {
    for (std::uint32_t i = 0; i < queue.commands.size(); ++i) {
      Status status = check_command(program, queue, queue.commands[i], machine);
      if (status) continue;
      Diagnostic diagnostic = std::move(status).error();
      diagnostic.place.rank = queue.rank;
      diagnostic.place.queue = queue.name;
      diagnostic.place.command = i;
      return fail(std::move(diagnostic));
    }
  }
  return {};
}

Status check_request(const CheckedProgram& program, const SimulateOptions& options) {
  CORTADO_RETURN_IF_ERROR(check_timing(program.machine()));
  if (options.iterations == 0 || options.iterations > kMaxIterations) {
    return fail("sim.iterations", fmt::format("{} iterations requested", options.iterations),
                fmt::format("use 1 to {}", kMaxIterations));
  }
  if (options.arbitration && !program.machine().timing->memory.arbitration) {
    return fail("sim.arbitration",
                fmt::format("machine {} does not describe how its memory arbitrates", program.machine().name),
                "leave the policy open, or add the section arbitration to the machine file (machines/README.md)");
  }
  if (options.power_samples && options.power_samples->value <= 0) {
    return fail("power.samples", fmt::format("samples of {} ns requested", options.power_samples->value),
                "use samples of 1 ns or more");
  }
  if (options.manage) CORTADO_RETURN_IF_ERROR(check_power_management(*options.manage, program.machine()));
  return check_commands(program.program(), program.machine());
}

}  // namespace

Status check_timing(const Machine& machine) {
  if (machine.timing) return {};
  Diagnostic diagnostic{"sim.timing", fmt::format("machine {} has no timing", machine.name),
                        "use a machine that can be simulated (see cortado list machines), or add the sections host, "
                        "engine_timing, links, memory and cores to its file (machines/README.md)"};
  diagnostic.place.file = machine.file;
  return fail(std::move(diagnostic));
}

Result<Simulated> simulate(const CheckedProgram& program, const SimulateOptions& options) {
  CORTADO_RETURN_IF_ERROR(check_request(program, options));
  return Run(program, options).finish();
}

Result<Simulated> simulate_from(const CheckedProgram& program, std::span<const Nanoseconds> starts,
                                const SimulateOptions& options) {
  CORTADO_RETURN_IF_ERROR(check_request(program, options));
  CORTADO_CHECK(starts.size() == program.program().queues.size() && options.iterations == 1, "each queue begins once");
  Run run(program, options);
  for (std::uint32_t i = 0; i < starts.size(); ++i) run.begin_at(i, to_sim_time(starts[i]));
  return std::move(run).finish();
}

}  // namespace cortado::sim
