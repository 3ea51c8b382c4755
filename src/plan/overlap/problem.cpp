#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/collective/variant.hpp"
#include "plan/overlap.hpp"

namespace cortado {
namespace {

/// Collectives that a dependent problem can have.
std::vector<Collective> collectives_of(Relation relation) {
  if (relation == Relation::gemm_needs_collective) return {"all-gather", "all-to-all"};
  return {"reduce-scatter", "all-reduce", "all-to-all", "all-gather"};
}

Status check_counts(const OverlapProblem& problem) {
  if (problem.gemms.empty() || problem.collectives.empty()) {
    return fail("overlap.problem", "overlap needs a GEMM and a collective", "pass --gemm and a collective");
  }
  if (problem.relation == Relation::independent) return {};
  if (problem.gemms.size() > 1 || problem.collectives.size() > 1) {
    return fail("overlap.problem", "a dependent problem has exactly one GEMM and one collective",
                "pass --independent to use several GEMMs or collectives");
  }
  const std::vector<Collective> known = collectives_of(problem.relation);
  const Collective collective = problem.collective().collective;
  if (std::ranges::count(known, collective) > 0) return {};
  std::vector<std::string> names;
  for (const Collective one : known) names.emplace_back(one.name());
  return fail("overlap.collective",
              problem.relation == Relation::gemm_needs_collective
                  ? fmt::format("a GEMM cannot consume the output of {}", collective)
                  : fmt::format("{} cannot consume the output of a GEMM", collective),
              fmt::format("possible: {}", join(names)));
}

/// Of what moves: rows of A or of C.
Bytes row_bytes(const OverlapProblem& problem) {
  const GemmShape& gemm = problem.gemm();
  return size_of(gemm.dtype) * (problem.relation == Relation::gemm_needs_collective ? gemm.k : gemm.n);
}

/// As CollectiveRequest counts them.
Bytes moved_bytes(const OverlapProblem& problem) {
  const bool copies = problem.relation == Relation::collective_needs_gemm;
  const bool gathers = problem.collective().collective == "all-gather";
  return row_bytes(problem) * problem.gemm().m * (copies && gathers ? problem.ranks : 1);
}

/// Says no more than no table does.
bool is_even(const TokenTable& tokens) {
  return std::ranges::all_of(tokens, [&](const auto& line) {
    return std::ranges::all_of(line, [&](std::uint64_t rows) { return rows == tokens.front().front(); });
  });
}

std::uint64_t rows_of(const TokenTable& tokens) {
  std::uint64_t rows = 0;
  for (const auto& line : tokens) rows = std::accumulate(line.begin(), line.end(), rows);
  return rows;
}

/// A GPU multiplies m rows on average. What else may be wrong with a table plan_ficco tells.
Status check_tokens(const OverlapProblem& problem) {
  if (problem.tokens.empty()) return {};
  if (problem.collective().collective != "all-to-all") {
    return fail("ficco.tokens",
                fmt::format("{} sends the same number of rows everywhere", problem.collective().collective),
                "drop --tokens, or use all-to-all");
  }
  const std::uint64_t mean = (rows_of(problem.tokens) + problem.ranks - 1) / problem.ranks;
  if (mean == problem.gemm().m) return {};
  return fail("ficco.tokens",
              fmt::format("the table has {} rows for {} ranks, {} per GPU on average, but the GEMM has {}",
                          rows_of(problem.tokens), problem.ranks, mean, problem.gemm().m),
              fmt::format("use --gemm {}x{}x{}", mean, problem.gemm().n, problem.gemm().k));
}

}  // namespace

std::string_view name_of(Relation relation) {
  switch (relation) {
    case Relation::independent:
      return "independent";
    case Relation::gemm_needs_collective:
      return "gemm-needs-collective";
    case Relation::collective_needs_gemm:
      return "collective-needs-gemm";
  }
  return "";
}

Result<OverlapProblem> check_problem(const OverlapProblem& problem, const Machine& machine) {
  OverlapProblem checked = problem;
  CORTADO_RETURN_IF_ERROR(check_counts(checked));
  if (checked.ranks == 0) checked.ranks = machine.gpus;
  if (checked.ranks < 2 || checked.ranks > machine.gpus) {
    return fail("overlap.ranks",
                fmt::format("{} ranks requested on the {} GPUs of {}", checked.ranks, machine.gpus, machine.name),
                machine.gpus < 2 ? "use a machine with more GPUs" : fmt::format("use 2 to {} ranks", machine.gpus));
  }
  for (const GemmShape& gemm : checked.gemms) CORTADO_RETURN_IF_ERROR(check_gemm(gemm, machine));
  CORTADO_RETURN_IF_ERROR(check_tokens(checked));
  if (checked.tokens.size() == checked.ranks && is_even(checked.tokens)) checked.tokens.clear();
  for (CollectiveRequest& collective : checked.collectives) {
    collective.ranks = checked.ranks;
    if (checked.relation == Relation::independent) continue;
    collective.bytes = moved_bytes(checked);
    collective.dtype = checked.gemm().dtype;
    collective.in_place = default_in_place(collective.collective, collective.variant);
  }
  return checked;
}

OverlapProblem overlapping_part(const OverlapProblem& problem) {
  OverlapProblem part = problem;
  if (problem.relation != Relation::independent && problem.collective().collective == "all-reduce") {
    part.collectives.front().collective = "reduce-scatter";
    part.collectives.front().in_place = default_in_place("reduce-scatter", part.collective().variant);
  }
  return part;
}

Result<Program> plan_collective_of(const OverlapProblem& problem, const CollectiveRequest& request,
                                   const Machine& machine) {
  if (problem.tokens.empty()) return plan_collective(request, machine);
  plan::SendTable sends;
  for (const auto& line : problem.tokens) {
    auto& of_rank = sends.emplace_back();
    for (const std::uint64_t rows : line) of_rank.push_back(row_bytes(problem) * rows);
  }
  CORTADO_ASSIGN_OR_RETURN(plan::OpenProgram open, plan::plan_open(request, machine, std::move(sends)));
  return std::move(open.program);
}

DependentRequest dependent_request(const OverlapProblem& problem) {
  DependentRequest request;
  request.gemm = problem.gemm();
  request.collective = overlapping_part(problem).collective().collective;
  request.dependence =
      problem.relation == Relation::gemm_needs_collective ? Dependence::collective_first : Dependence::product_first;
  request.ranks = problem.ranks;
  request.tokens = problem.tokens;
  request.runtime = problem.collective().runtime;
  if (!problem.tokens.empty()) {  // FiCCO counts the rows of all ranks
    request.gemm.m = rows_of(problem.tokens);
  } else if (request.collective == "all-to-all") {
    request.gemm.m *= problem.ranks;
  }
  return request;
}

}  // namespace cortado
