#include "plan/ficco/bench.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/text.hpp"

namespace cortado::plan {

Bench::Bench(const DependentRequest& request, const FiccoSchedule& way, const Machine& machine)
    : request_(request),
      way_(way),
      machine_(machine),
      schedule_({.collective = request.collective,
                 .variant = name_of(way),
                 .ranks = request.ranks,
                 .host = HostThreads::per_rank},
                machine),
      memory_(request.ranks),
      staging_(request.ranks) {
  schedule_.omit_exit_barrier();
  for (std::uint32_t from = 0; from < request.ranks; ++from) {
    lanes_.emplace_back();
    for (std::uint32_t to = 0; to < request.ranks; ++to) lanes_.back().push_back(open_lane(from, to));
    kernels_.push_back(schedule_.compute_lane(RankId{from}));
  }
}

Lane Bench::open_lane(std::uint32_t from, std::uint32_t to) {
  const bool one_at_a_time = way_.grain == Grain::shards;
  if (one_at_a_time && to > 0) return lanes_[from].front();
  const std::uint32_t peer = one_at_a_time || to == from ? (from + 1) % request_.ranks : to;
  if (way_.means == CollectiveMeans::dma) return schedule_.lane_towards(RankId{from}, RankId{peer});
  const std::uint32_t units = machine_.timing->cores.collective_units / (request_.ranks - 1);
  return schedule_.kernel_part(RankId{from}, fmt::format("to{}", peer), std::max(1U, units));
}

Matrix Bench::matrix(std::string_view kind, std::uint32_t rank, std::uint64_t rows, std::uint64_t columns,
                     BufferRole role) {
  const Bytes size = bytes(columns) * rows;
  memory_[rank] += size;
  return {schedule_.buffer(kind, RankId{rank}, size, role).buffer, {}, bytes(columns)};
}

Matrix Bench::staging(std::string_view kind, std::uint32_t rank, std::uint64_t rows, std::uint64_t columns) {
  staging_[rank] += bytes(columns) * rows;
  return matrix(kind, rank, rows, columns, BufferRole::scratch);
}

void Bench::multiply(std::uint32_t rank, const Region& a, const Region& b, const Region& c, Output output) {
  const GemmShape shape{a.rows, c.width.value / bytes(1).value, b.rows, request_.gemm.dtype,
                        output == Output::added_to};
  const auto [found, added] = tilings_.try_emplace({shape.m, shape.n, shape.k, shape.accumulate});
  Tiling& tiling = found->second;
  if (added) tiling = choose_tiling(shape, machine_, machine_.compute_units);
  kernels_[rank].multiply(gemm_command(shape, tiling, a, b, c));
}

Result<FiccoPlan> Bench::finish(std::string name, Contract contract, std::uint32_t steps) {
  const auto most = std::max_element(memory_.begin(), memory_.end());
  FiccoPlan plan{{}, *most, staging_[static_cast<std::size_t>(most - memory_.begin())], steps};
  if (plan.footprint > machine_.memory_bytes) {
    return fail("ficco.memory",
                fmt::format("{} of {} needs {} of memory on a GPU, {} of it staging; {} has {} per GPU", name_of(way_),
                            to_string(request_.gemm), format_bytes(plan.footprint), format_bytes(plan.staging),
                            machine_.name, format_bytes(machine_.memory_bytes)),
                "multiply fewer rows, or take another schedule: fused ones hold pieces, not whole matrices");
  }
  CORTADO_ASSIGN_OR_RETURN(plan.program, schedule_.finish(std::move(contract)));
  plan.program.name = std::move(name);
  return plan;
}

}  // namespace cortado::plan
