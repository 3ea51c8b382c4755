#include "plan/ficco/composers.hpp"
#include "plan/ficco/exchange.hpp"
#include "plan/ficco/request.hpp"

namespace cortado {
namespace plan {
namespace {

Result<FiccoPlan> compose(const CheckedDependence& checked, const Machine& machine, std::optional<OnlyRank> only = {}) {
  const bool product_first = checked.request.dependence == Dependence::product_first;
  const bool tiles = has_tiles(checked.schedule.grain);
  const auto& plan = product_first ? (tiles ? plan_gemm_first_by_tiles : plan_product_first)
                                   : (tiles ? plan_collective_first_by_tiles : plan_collective_first);
  return plan(checked.request, checked.schedule, machine, only);
}

std::uint64_t rows_to_multiply(const DependentRequest& request, const Exchange& exchange, std::uint32_t rank) {
  return request.dependence == Dependence::product_first ? exchange.rows_of(rank) : exchange.rows_for(rank);
}

std::uint32_t busiest_rank(const DependentRequest& request, const Exchange& exchange) {
  std::uint32_t busiest = exchange.ranks() / 2;
  for (std::uint32_t rank = 0; rank < exchange.ranks(); ++rank) {
    if (rows_to_multiply(request, exchange, rank) > rows_to_multiply(request, exchange, busiest)) busiest = rank;
  }
  return busiest;
}

bool are_alike(const Exchange& exchange) {
  const std::uint64_t rows = exchange.given(0, 0).count;
  for (std::uint32_t from = 0; from < exchange.ranks(); ++from) {
    for (std::uint32_t to = 0; to < exchange.ranks(); ++to) {
      if (exchange.given(from, to).count != rows) return false;
    }
  }
  return true;
}

std::size_t kernels_of(const Program& program) {
  std::size_t commands = 0;
  for (const Queue& queue : program.queues) {
    if (queue.kind == QueueKind::compute) commands += queue.commands.size();
  }
  return commands;
}

}  // namespace
}  // namespace plan

Result<FiccoPlan> plan_ficco(const DependentRequest& request, const FiccoSchedule& schedule, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const plan::CheckedDependence checked, plan::check_dependent(request, schedule, machine));
  return plan::compose(checked, machine);
}

Result<std::vector<RankProgram>> plan_ficco_ranks(const DependentRequest& request, const FiccoSchedule& schedule,
                                                  const Machine& machine, Nanoseconds enough) {
  CORTADO_ASSIGN_OR_RETURN(plan::CheckedDependence checked, plan::check_dependent(request, schedule, machine));
  checked.schedule.exchange = ExchangeVariant::pcpy;
  const plan::Exchange exchange(checked.request);
  const bool alike = plan::are_alike(exchange);
  const bool closed = alike || (request.dependence == Dependence::collective_first && schedule.grain != Grain::shards);
  const auto of_rank = [&](const plan::OnlyRank& only) -> Result<RankProgram> {
    CORTADO_ASSIGN_OR_RETURN(FiccoPlan plan, plan::compose(checked, machine, only));
    return RankProgram{RankId{only.rank}, std::move(plan.program), closed, plan.is_cut};
  };
  std::vector<RankProgram> programs;
  const std::uint32_t busiest = plan::busiest_rank(checked.request, exchange);
  CORTADO_ASSIGN_OR_RETURN(programs.emplace_back(), of_rank({busiest, enough}));
  if (alike || programs.front().is_cut) return programs;
  for (std::uint32_t rank = 0; rank < exchange.ranks(); ++rank) {
    // Ranks that share rows as evenly as possible differ by one row: the first and the last of them are enough.
    if (rank == busiest || (request.tokens.empty() && rank > 0 && rank + 1 < exchange.ranks())) continue;
    CORTADO_ASSIGN_OR_RETURN(RankProgram other, of_rank({rank}));
    if (plan::kernels_of(other.program) <= plan::kernels_of(programs.back().program)) continue;
    programs.resize(1);
    programs.push_back(std::move(other));
  }
  return programs;
}

}  // namespace cortado
