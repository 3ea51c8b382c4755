// A GEMM beside a collective on eight GPUs: all policies predicted, and the decision of `auto` alone.
#include <string>

#include "cortado/study.hpp"

#include "measure.hpp"
#include "pipeline/choose.hpp"

namespace cortado::bench {
namespace {

OverlapProblem question(Collective collective, GemmShape shape) {
  CollectiveRequest request{.collective = collective, .bytes = 896_MiB};
  request.in_place = default_in_place(collective, request.variant);
  return {.gemms = {shape}, .collectives = {request}};
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
  return rows;
}

}  // namespace cortado::bench
