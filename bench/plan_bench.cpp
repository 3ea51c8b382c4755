// Planning and verifying: one 8-GPU collective, and how the verifier grows with the commands.
#include <string>

#include "cortado/plan.hpp"
#include "cortado/target.hpp"

#include "ir/visit.hpp"
#include "measure.hpp"

namespace cortado::bench {
namespace {

std::vector<Row> eight_gpu_rows() {
  const Machine machine = load_machine("mi300x-8").value();
  std::vector<Row> rows;
  for (const Collective name :
       {Collective("all-gather"), Collective("all-to-all"), Collective("reduce-scatter"), Collective("all-reduce")}) {
    CollectiveRequest request;
    request.collective = name;
    request.bytes = 1_MiB;
    const double ns = median_ns(21, [&] { verify(plan_collective(request, machine).value(), machine).value(); });
    rows.push_back({std::string("plan + verify 8 GPUs ") + std::string(name.name()) + " pcpy", ns / 1e3, "us", 1000,
                    Better::lower});
  }
  return rows;
}

/// The virtual node with any number of GPUs.
Machine virtual_node(std::uint32_t gpus) {
  Machine machine = load_machine("virtual-64").value();
  machine.gpus = gpus;
  machine.linked.assign(gpus, std::vector<bool>(gpus, true));
  machine.affinity.assign(gpus, std::vector<std::optional<EngineId>>(gpus));
  for (std::uint32_t id = static_cast<std::uint32_t>(machine.engines.size()); id < gpus + 2; ++id) {
    machine.engines.push_back({EngineId{id}, EngineClass::peer, true});
  }
  return machine;
}

std::vector<Row> growth_rows() {
  std::vector<Row> rows;
  for (const std::uint32_t ranks : {16U, 32U, 64U, 128U}) {
    const Machine machine = virtual_node(ranks);
    CollectiveRequest request;
    request.collective = "all-to-all";
    request.bytes = Bytes{ranks * 256};
    const Program program = plan_collective(request, machine).value();
    std::uint64_t commands = 0;
    for (const Queue& queue : program.queues) commands += queue.commands.size();
    const double ns = median_ns(3, [&] { verify(program, machine).value(); });
    const std::string what =
        "verify all-to-all " + std::to_string(ranks) + " ranks, " + std::to_string(commands) + " commands";
    rows.push_back({what, ns / 1e6, "ms", ranks == 64 ? std::optional(1000.0) : std::nullopt, Better::lower});
    rows.push_back({"  of that a command", ns / static_cast<double>(commands), "ns"});
  }
  return rows;
}

}  // namespace

std::vector<Row> plan_rows() {
  std::vector<Row> rows = eight_gpu_rows();
  for (Row& row : growth_rows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace cortado::bench
