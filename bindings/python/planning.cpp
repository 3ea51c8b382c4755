// Machines, plans, proofs, simulations and studies for Python; results are the same JSON documents as on the command
// line.
#include <cstdint>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/program.hpp"
#include "cortado/report.hpp"
#include "cortado/study.hpp"
#include "cortado/target.hpp"

#include "module.hpp"

namespace py = pybind11;

namespace cortado::python {
namespace {

template <class T>
T outcome_of(Outcome<T> outcome) {
  if (!outcome) raise(outcome.error().errors.front());
  return std::move(outcome).value();
}

std::string plan(const std::string& collective, std::uint64_t bytes, const std::string& machine_name,
                 const std::string& variant, std::uint32_t ranks, bool prelaunch, bool in_place) {
  const Machine machine = value_of(load_machine(machine_name));
  CollectiveRequest request;
  request.collective = value_of(find_collective(collective));
  request.variant = variant;
  request.bytes = {bytes};
  request.ranks = ranks;
  request.prelaunch = prelaunch;
  request.in_place = in_place;
  return to_json(value_of(plan_collective(request, machine)));
}

std::vector<std::string> errors_of(const std::string& program, const std::string& machine_name) {
  const Machine machine = value_of(load_machine(machine_name));
  const auto verified = verify(value_of(parse_program(program)), machine);
  std::vector<std::string> errors;
  if (!verified) {
    for (const Diagnostic& error : verified.error()) errors.push_back(to_string(error));
  }
  return errors;
}

double run(const std::string& program, const std::string& machine_name, const std::string& target_name,
           std::uint32_t iterations) {
  const Machine machine = value_of(load_machine(machine_name));
  const auto target = value_of(open_target({.name = target_name}, machine));
  const Run result = outcome_of(run_on(*target, value_of(parse_program(program)), machine, {.iterations = iterations}));
  if (result.check && result.check->first_wrong) raise(*result.check->first_wrong);
  return microseconds(result.time);
}

std::string overlap(const std::string& collective, const std::vector<std::uint64_t>& gemm, const std::string& relation,
                    std::uint64_t bytes, const std::string& machine_name, const std::vector<std::string>& strategies) {
  if (gemm.size() != 3) raise({"usage.gemm", "a GEMM has three sizes: m, n, k"});
  const Machine machine = value_of(load_machine(machine_name));
  OverlapProblem problem;
  for (const Relation known :
       {Relation::independent, Relation::gemm_needs_collective, Relation::collective_needs_gemm}) {
    if (relation == name_of(known)) problem.relation = known;
  }
  problem.gemms = {{gemm[0], gemm[1], gemm[2]}};
  CollectiveRequest request;
  request.collective = value_of(find_collective(collective));
  request.bytes = {bytes};
  problem.collectives = {request};
  pipeline::OverlapOptions options;
  options.strategies = strategies;
  return report::to_json(pipeline::overlap_document(outcome_of(pipeline::study_overlap(problem, machine, options))));
}

}  // namespace

void add_planning(py::module_& module) {
  module.def("machines", &machine_names);
  module.def("variants", [](const std::string& collective) {
    std::vector<std::string> names;
    for (const VariantInfo& info : list_variants(value_of(find_collective(collective)))) names.push_back(info.variant);
    return names;
  });
  module.def("plan", &plan);
  module.def("verify", &errors_of);
  module.def("run", &run);
  module.def("overlap", &overlap);
  module.def("listing", [](const std::string& program) { return listing(value_of(parse_program(program))); });
}

}  // namespace cortado::python
