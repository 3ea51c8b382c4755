#include "plan/collective/external.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/process.hpp"
#include "plan/collective/variant.hpp"
#include "plan/external.hpp"

namespace cortado::plan {
namespace {

constexpr int kRequestVersion = 1;

Json describe_machine(const Machine& machine, std::uint32_t ranks) {
  Json engines = Json::array();
  for (const EngineId engine : machine.present_engines(EngineClass::peer)) engines.push_back(engine.value);
  Json towards = Json::array();
  for (std::uint32_t from = 0; from < ranks; ++from) {
    Json row = Json::array();
    for (std::uint32_t to = 0; to < ranks; ++to) {
      const bool linked = from != to && machine.linked[from][to];
      row.push_back(linked ? Json(machine.engine_towards(RankId{from}, RankId{to}).value) : Json());
    }
    towards.push_back(std::move(row));
  }
  return {{"name", machine.name},
          {"gpus", machine.gpus},
          {"compute_units", machine.compute_units},
          {"engines", std::move(engines)},
          {"engine_towards", std::move(towards)},
          {"queues_per_engine", machine.dma.queues_per_engine},
          {"max_copy_bytes", machine.dma.max_copy_bytes.value},
          {"broadcast", machine.features.broadcast},
          {"swap", machine.features.swap},
          {"near_memory_compute", machine.features.near_memory_compute}};
}

Unexpected<Diagnostic> not_asked_for(const std::string& planner, const std::string& what) {
  return fail("planner.program", fmt::format("{} printed a program with {}", planner, what),
              "start from the program in the request: keep its ranks, machine, buffers and contract, and add to it");
}

Status check_answer(const std::string& planner, const Program& program, const Program& specification) {
  if (program.ranks != specification.ranks) return not_asked_for(planner, fmt::format("{} ranks", program.ranks));
  if (program.machine != specification.machine) return not_asked_for(planner, "a different machine");
  const std::vector<Buffer>& given = specification.buffers;
  if (program.buffers.size() < given.size() || !std::equal(given.begin(), given.end(), program.buffers.begin())) {
    return not_asked_for(planner, "different buffers for the caller");
  }
  const auto added = program.buffers.begin() + static_cast<std::ptrdiff_t>(given.size());
  const bool scratch = std::all_of(added, program.buffers.end(),
                                   [](const Buffer& buffer) { return buffer.role == BufferRole::scratch; });
  if (!scratch) return not_asked_for(planner, "its own buffers that are not scratch");
  if (program.contract != specification.contract) return not_asked_for(planner, "a different contract");
  return {};
}

}  // namespace

Program specification(const Program& reference) {
  Program kept;
  kept.name = reference.name;
  kept.machine = reference.machine;
  kept.ranks = reference.ranks;
  kept.contract = reference.contract;
  std::vector<BufferId> ids;  // of the reference's buffers
  for (const Buffer& buffer : reference.buffers) {
    ids.push_back(BufferId{static_cast<std::uint32_t>(kept.buffers.size())});
    if (buffer.role != BufferRole::scratch) kept.buffers.push_back(buffer);
  }
  const auto renumber = [&](Region& region) { region.buffer = ids[region.buffer.value]; };
  for (Clause& clause : kept.contract.clauses) {
    renumber(clause.output);
    std::ranges::for_each(clause.terms, renumber);
  }
  for (ProductClause& clause : kept.contract.products) {
    renumber(clause.output);
    for (Product& product : clause.products) {
      std::ranges::for_each(product.a, renumber);
      renumber(product.b);
    }
  }
  return kept;
}

Json describe_request(const CollectiveRequest& request) {
  return {{"collective", request.collective.name()},
          {"bytes", request.bytes.value},
          {"ranks", request.ranks},
          {"in_place", request.in_place},
          {"prelaunch", request.prelaunch},
          {"dtype", to_string(request.dtype)},
          {"root", request.root.value},
          {"peer", request.peer.value},
          {"hosts", request.host == HostThreads::single ? "single" : "per-rank"}};
}

Result<Program> complete_program(const std::string& planner, const Json& asked, const Program& specification,
                                 const Machine& machine) {
  Json request{{"schema", "cortado.plan-request"}, {"version", kRequestVersion}};
  request.update(asked);
  request["machine"] = describe_machine(machine, specification.ranks);
  request["program"] = Json::parse(to_json(specification)).value();
  CORTADO_ASSIGN_OR_RETURN(const std::string answer, run_process(planner, request.dump()));
  CORTADO_ASSIGN_OR_RETURN(Program program, parse_program(answer, planner));
  CORTADO_RETURN_IF_ERROR(check_answer(planner, program, specification));
  return program;
}

/// The program of plain copies provides the caller's buffers and the contract.
Result<Program> plan_externally(const CollectiveRequest& request, const Machine& machine) {
  CollectiveRequest copies = request;
  copies.variant = "pcpy";
  CORTADO_ASSIGN_OR_RETURN(const Variant* variant, find_variant(copies));
  CORTADO_ASSIGN_OR_RETURN(const CollectiveRequest checked, check_request(copies, *variant, machine));
  CORTADO_ASSIGN_OR_RETURN(const OpenProgram reference, plan_open(checked, machine));
  const std::string planner = request.variant.substr(kPlannerPrefix.size());
  return complete_program(planner, {{"request", describe_request(checked)}}, specification(reference.program), machine);
}

}  // namespace cortado::plan
