// A GEMM next to a collective on eight GPUs: all policies predicted, the decision of `auto` alone, and simulate()
// alone.
#include <string>

#include "cortado/study.hpp"
#include "cortado/target.hpp"

#include "measure.hpp"
#include "pipeline/choose.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::bench {
namespace {

OverlapProblem question(Collective collective, GemmShape shape) {
  CollectiveRequest request{.collective = collective, .bytes = 896_MiB};
  request.in_place = default_in_place(collective, request.variant);
  return {.gemms = {shape}, .collectives = {request}};
}

/// simulate() alone of the proved program of a strategy. The target is 1.1 times its time on the computer that
/// these were measured on, before GEMMs and libraries were modelled as they are now.
Row simulation_row(const OverlapProblem& problem, const std::string& strategy, const Machine& machine, double target) {
  const PlannedOverlap planned = pipeline::plan_strategy(problem, machine, strategy).value();
  const VerifiedProgram program = verify(planned.program, machine).value();
  const double time = least_thread_ns(200, [&] { sim::simulate(program, {.iterations = 1}).value(); });
  const std::string relation = problem.relation == Relation::independent ? " beside " : " behind ";
  return {"overlap, one simulation: " + to_string(problem.gemm()) + relation +
              std::string(problem.collective().collective.name()) + ", " + planned.name,
          time / 1e6, "ms", target, Better::lower};
}

void add_simulations(std::vector<Row>& rows, const Machine& machine) {
  const OverlapProblem beside = question("all-gather", {8192, 57344, 8192});
  const OverlapProblem behind{.relation = Relation::gemm_needs_collective,
                              .gemms = {{16384, 3584, 8192}},
                              .collectives = {{.collective = "all-gather"}}};
  rows.push_back(simulation_row(beside, "conccl/pcpy", machine, 0.20));
  rows.push_back(simulation_row(beside, "conccl/bcst", machine, 0.156));
  rows.push_back(simulation_row(behind, "hetero-fused-1d/8", machine, 0.81));
  rows.push_back(simulation_row(behind, "uniform-fused-2d/8", machine, 0.62));
}

}  // namespace

std::vector<Row> overlap_rows() {
  const Machine machine = load_machine("mi300x-8").value();
  std::vector<Row> rows;
  for (const Collective collective : {Collective("all-gather"), Collective("all-to-all")}) {
    for (const GemmShape& shape : {GemmShape{8192, 57344, 8192}, GemmShape{64, 57344, 8192}}) {
      const OverlapProblem problem = question(collective, shape);
      const std::string what = to_string(shape) + " beside " + std::string(collective.name());
      const double all = median_thread_ns(5, [&] { pipeline::study_overlap(problem, machine).value(); });
      rows.push_back({"overlap, all strategies: " + what, all / 1e6, "ms", 20, Better::lower});
      // The decision alone: collectives were timed before, as for the tables of the published heuristics.
      const auto cost = pipeline::simulated_cost(machine);
      choose_way("auto", problem, machine, *cost).value();
      const double decision = median_thread_ns(5, [&] { choose_way("auto", problem, machine, *cost).value(); });
      rows.push_back({"overlap, auto decides: " + what, decision / 1e6, "ms", 1, Better::lower});
      const double cold = median_thread_ns(5, [&] {
        const auto unknowing = pipeline::simulated_cost(machine);
        choose_way("auto", problem, machine, *unknowing).value();
      });
      rows.push_back({"  with nothing timed before", cold / 1e6, "ms"});
    }
  }
  add_simulations(rows, machine);
  return rows;
}

}  // namespace cortado::bench
