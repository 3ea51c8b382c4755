#include "plan/ficco/bench.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::plan {

Bench::Bench(const DependentRequest& request, const FiccoSchedule& way, const Machine& machine,
             std::optional<OnlyRank> only)
    : request_(request),
      way_(way),
      machine_(machine),
      only_(only),
      schedule_({.collective = request.collective,
                 .variant = name_of(way),
                 .ranks = request.ranks,
                 .runtime = only ? RuntimeMode::raw : request.runtime,
                 .host = HostThreads::per_rank},
                machine),
      memory_(request.ranks),
      staging_(request.ranks) {
  if (way.grain == Grain::whole && !schedule_.all_linked()) {
    schedule_.go_through_others();
  } else {
    schedule_.omit_exit_barrier();
  }
  if (only) schedule_.stand_for_all(RankId{only->rank});
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) kernels_.push_back(schedule_.compute_lane(RankId{rank}));
}

std::vector<std::uint32_t> Bench::made_ranks() const {
  if (only_) return {only_->rank};
  std::vector<std::uint32_t> all(ranks());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

std::vector<std::uint32_t> Bench::senders() const {
  return only_ ? senders_to(only_->rank) : made_ranks();
}

std::vector<std::uint32_t> Bench::senders_to(std::uint32_t rank) const {
  std::vector<std::uint32_t> before;
  for (std::uint32_t distance = 1; distance < ranks(); ++distance) {
    before.push_back((rank + ranks() - distance) % ranks());
  }
  return before;
}

Hop Bench::made_hop(const Hop& hop) const {
  if (!only_) return hop;
  return {only_->rank, (only_->rank + ranks() + hop.to - hop.from) % ranks()};
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
  kernels_[rank].multiply(gemm_command(shape, piece(shape).tiling, a, b, c));
  if (!only_ || only_->enough == kEndless) return;
  multiplied_ += time_of(shape);
  has_enough_ = multiplied_ > static_cast<double>(only_->enough.value);
}

Gemm Bench::ordered_gemm(const Region& a, const Region& b, std::vector<OutputBlock> blocks) {
  const GemmShape shape{a.rows, b.width.value / bytes(1).value, b.rows, request_.gemm.dtype};
  const std::uint64_t least = std::ranges::min(blocks, {}, &OutputBlock::rows).rows;
  const ProductCut cut{.row_parts = (shape.m + least - 1) / least, .whole_tiles = true};
  Gemm gemm = gemm_command(shape, choose_tiling(shape, machine_, machine_.compute_units, cut), a, b, {});
  gemm.outputs = std::move(blocks);
  return gemm;
}

double Bench::time_of(const GemmShape& shape) {
  auto& [tiling, nanoseconds] = piece(shape);
  if (!nanoseconds) {
    const GemmEstimate alone = estimate_gemm(shape, tiling, machine_, machine_.compute_units);
    nanoseconds = static_cast<double>(gemm_start(machine_).value) + alone.seconds * 1e9;
  }
  return *nanoseconds;
}

Bench::Piece& Bench::piece(const GemmShape& shape) {
  const auto [found, added] = pieces_.try_emplace({shape.m, shape.n, shape.k, shape.accumulate});
  if (added) found->second.tiling = choose_tiling(shape, machine_, machine_.compute_units);
  return found->second;
}

Result<FiccoPlan> Bench::finish(Contract contract, std::uint32_t steps) {
  const auto most = only_ ? memory_.begin() + only_->rank : std::max_element(memory_.begin(), memory_.end());
  FiccoPlan plan{{}, *most, staging_[static_cast<std::size_t>(most - memory_.begin())], steps, has_enough_};
  if (plan.footprint > machine_.memory_bytes) {
    return fail(About::strategy, "ficco.memory",
                fmt::format("{} of {} needs {} of memory on a GPU, {} of it staging; {} has {} per GPU", name_of(way_),
                            to_string(request_.gemm), readable_bytes(plan.footprint), readable_bytes(plan.staging),
                            machine_.name, readable_bytes(machine_.memory_bytes)),
                "use fewer rows, or another schedule: fused ones hold pieces, not whole matrices");
  }
  CORTADO_ASSIGN_OR_RETURN(plan.program, schedule_.finish(std::move(contract)));
  const bool product_first = request_.dependence == Dependence::product_first;
  const std::string gemm = to_string(request_.gemm);
  const std::string collective(request_.collective.name());
  plan.program.name =
      fmt::format("{} -> {}, {}", product_first ? gemm : collective, product_first ? collective : gemm, name_of(way_));
  return plan;
}

}  // namespace cortado::plan
