// The program of a schedule: in every step engines bring pieces and kernels multiply what has come.
//
//   engine of a rank towards a peer   for every step: wait until the staging is free, copy the piece, raise "arrived"
//   kernels of a rank                 hetero: own rows. For every step: copy own rows into the staging (uniform,
//   fused),
//                                     wait for the pieces, multiply, raise "free", scatter the rows of the result
//
// All queues are submitted up front; only signals order them. "arrived" is raised by one queue and waited for by the
// kernels of one rank; "free" is raised by these and waited for by all engines that fill the same staging again.
//
// The queues of a rank end only when all that it receives has been multiplied, and nobody else reads its rows, so the
// barrier before an iteration is enough for replay: no engine fills a staging before the rank has used up the iteration
// before.
#include <array>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "cortado/base/check.hpp"
#include "cortado/base/text.hpp"

#include "plan/collective/schedule.hpp"
#include "plan/ficco/request.hpp"
#include "plan/ficco/row_blocks.hpp"
#include "plan/ficco/steps.hpp"

namespace cortado {
namespace plan {
namespace {

constexpr std::uint32_t kStagings = 2;

class Composer {
 public:
  Composer(const DependentRequest& request, const FiccoSchedule& way, const Machine& machine)
      : request_(request),
        way_(way),
        machine_(machine),
        exchange_(request),
        steps_(exchange_, request.gemm, way),
        staged_(way.grain == Grain::shards || (way.grain == Grain::chunks && way.fused)),
        schedule_({.collective = request.collective,
                   .variant = name_of(way),
                   .ranks = request.ranks,
                   .host = HostThreads::per_rank},
                  machine),
        ranks_(request.ranks) {
    for (std::uint32_t r = 0; r < request_.ranks; ++r) add_rank(r);
    schedule_.omit_exit_barrier();
  }

  Result<FiccoPlan> plan() && {
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      for (std::uint32_t from = 0; from < request_.ranks; ++from) send(step, from);
      for (std::uint32_t to = 0; to < request_.ranks; ++to) {
        if (step == 0 && !steps_.with_own()) multiply_one(to, steps_.own(to));
        if (staged_ || way_.grain == Grain::whole) {
          multiply_together(step, to);
        } else {
          multiply_each(step, to);
        }
      }
    }
    FiccoPlan plan{{}, {}, {}, steps_.count()};
    for (const Rank& rank : ranks_) {
      if (rank.memory <= plan.footprint) continue;
      plan.footprint = rank.memory;
      plan.staging = rank.staging;
    }
    if (plan.footprint > machine_.memory_bytes) return too_large(plan);
    CORTADO_ASSIGN_OR_RETURN(plan.program, schedule_.finish(contract()));
    plan.program.name = fmt::format("{} -> {}, {}", request_.collective, to_string(request_.gemm), name_of(way_));
    return plan;
  }

 private:
  struct Rank {
    Matrix input;     // its rows
    Matrix gathered;  // where pieces land beside each other: all rows that it multiplies
    std::array<Matrix, kStagings> stagings;
    Matrix b;
    Matrix c;
    Matrix out;                 // a product whose rows do not stand together in C
    std::vector<Lane> lanes{};  // towards each rank; of shard-p2p one and the same
    std::optional<Lane> kernels{};
    std::vector<SignalId> arrived{};                        // by sender: its latest piece
    std::array<std::optional<SignalId>, kStagings> free{};  // when the latest products of a staging had been made
    Bytes memory{};
    Bytes staging{};
  };

  std::uint64_t element() const { return size_of(request_.gemm.dtype).value; }
  Span bytes_of(const Span& columns) const { return {columns.begin * element(), columns.count * element()}; }

  // --- Memory --------------------------------------------------------------------------------------------------------

  Matrix add_matrix(std::uint32_t r, std::string_view kind, std::uint64_t rows, Bytes width, BufferRole role) {
    const Region all = schedule_.buffer(kind, RankId{r}, width * rows, role);
    ranks_[r].memory += width * rows;
    return {all.buffer, {}, width};
  }

  void add_rank(std::uint32_t r) {
    Rank& rank = ranks_[r];
    const Bytes k_bytes{request_.gemm.k * element()};
    const Bytes n_bytes{request_.gemm.n * element()};
    const std::uint64_t rows = exchange_.rows_for(r);
    if (!staged_ && exchange_.gathers()) {
      rank.gathered = add_matrix(r, "a", rows, k_bytes, BufferRole::inout);
      rank.input = rank.gathered;
      rank.input.offset = k_bytes * exchange_.placed(r, r).begin;
    } else {
      rank.input = add_matrix(r, "a", exchange_.rows_of(r), k_bytes, BufferRole::input);
      if (!staged_) rank.gathered = add_matrix(r, "gathered", rows, k_bytes, BufferRole::scratch);
    }
    if (rows > 0) {
      rank.b = add_matrix(r, "b", request_.gemm.k, n_bytes, BufferRole::input);
      rank.c = add_matrix(r, "c", rows, n_bytes, BufferRole::output);
    }
    if (staged_) add_stagings(r, n_bytes);

    rank.arrived.resize(request_.ranks);
    rank.kernels = schedule_.compute_lane(RankId{r});
    for (std::uint32_t to = 0; to < request_.ranks; ++to) rank.lanes.push_back(lane(r, to));
  }

  Lane lane(std::uint32_t from, std::uint32_t to) {
    // One shard at a time: all on the queue of the first one.
    if (way_.grain == Grain::shards && to > 0) return ranks_[from].lanes.front();
    const std::uint32_t peer = way_.grain == Grain::shards || to == from ? (from + 1) % request_.ranks : to;
    if (way_.means == CollectiveMeans::dma) return schedule_.lane_towards(RankId{from}, RankId{peer});
    const std::uint32_t units = machine_.timing->cores.collective_units / (request_.ranks - 1);
    return schedule_.kernel_part(RankId{from}, fmt::format("to{}", peer), std::max(1U, units));
  }

  void add_stagings(std::uint32_t r, Bytes n_bytes) {
    Rank& rank = ranks_[r];
    const Bytes before = rank.memory;
    std::array<std::uint64_t, kStagings> rows{};
    std::uint64_t scattered = 0;
    std::uint64_t columns = 0;
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      const std::vector<Piece> pieces = steps_.pieces(step, r);
      if (pieces.empty()) continue;
      const std::uint64_t all = total_rows(pieces);
      rows[step % kStagings] = std::max(rows[step % kStagings], all);
      columns = std::max(columns, pieces.front().columns.count);
      if (!stand_together(pieces)) scattered = std::max(scattered, all);
    }
    const Bytes width{columns * element()};
    for (std::uint32_t i = 0; i < kStagings; ++i) {
      rank.stagings[i] = add_matrix(r, i == 0 ? "stage.even" : "stage.odd", rows[i], width, BufferRole::scratch);
    }
    if (scattered > 0) rank.out = add_matrix(r, "out", scattered, n_bytes, BufferRole::scratch);
    rank.staging = rank.memory - before;
  }

  // --- Steps ---------------------------------------------------------------------------------------------------------

  /// Where a piece of a step lies at the receiver.
  Region landing(std::uint32_t step, std::uint32_t to, const Piece& piece) {
    const Rank& rank = ranks_[to];
    if (!staged_) return rank.gathered.part(piece.placed, bytes_of(piece.columns));
    std::uint64_t row = 0;
    for (const Piece& above : steps_.pieces(step, to)) {
      if (above.from == piece.from) break;
      row += above.given.count;
    }
    return rank.stagings[step % kStagings].part({row, piece.given.count}, {0, piece.columns.count * element()});
  }

  Region source(const Piece& piece) const {
    return ranks_[piece.from].input.part(piece.given, bytes_of(piece.columns));
  }

  void send(std::uint32_t step, std::uint32_t from) {
    for (const RankId to : schedule_.peers_after(RankId{from})) {
      const Piece piece = steps_.piece(step, from, to.value);
      if (piece.empty()) continue;
      Lane& lane = ranks_[from].lanes[to.value];
      if (staged_) {
        if (const auto& free = ranks_[to.value].free[step % kStagings]) lane.wait(*free);
      }
      lane.copy(source(piece), landing(step, to.value, piece));
      ranks_[to.value].arrived[from] = lane.raise(to);
    }
  }

  void multiply_together(std::uint32_t step, std::uint32_t to) {
    Rank& rank = ranks_[to];
    Lane& kernels = *rank.kernels;
    const std::vector<Piece> pieces = steps_.pieces(step, to);
    if (pieces.empty()) return;
    for (const Piece& piece : pieces) {
      if (piece.from != to) continue;
      if (const Region place = landing(step, to, piece); place != source(piece)) kernels.copy(source(piece), place);
    }
    for (const Piece& piece : pieces) {
      if (piece.from != to) kernels.wait(rank.arrived[piece.from]);
    }
    const Span& columns = pieces.front().columns;
    const std::uint64_t rows = total_rows(pieces);
    const bool together = stand_together(pieces);
    Region a = landing(step, to, pieces.front());
    a = Matrix{a.buffer, a.offset, staged_ ? rank.stagings[step % kStagings].pitch : rank.gathered.pitch}.part(
        {0, rows}, {0, columns.count * element()});
    multiply(to, a, columns, together ? rank.c.rows({pieces.front().placed.begin, rows}) : rank.out.rows({0, rows}));
    if (staged_ && step + kStagings < steps_.count()) rank.free[step % kStagings] = kernels.raise();
    if (!together && columns.end() == request_.gemm.k) scatter(to, pieces);
  }

  void multiply_each(std::uint32_t step, std::uint32_t to) {
    if (steps_.with_own()) multiply_one(to, steps_.piece(step, to, to));
    for (const RankId from : schedule_.peers_after(RankId{to})) {
      const Piece piece = steps_.piece(step, from.value, to);
      if (piece.empty()) continue;
      ranks_[to].kernels->wait(ranks_[to].arrived[from.value]);
      multiply(to, landing(step, to, piece), piece.columns, ranks_[to].c.rows(piece.placed));
    }
  }

  /// Rows of the rank itself, from where they stand.
  void multiply_one(std::uint32_t to, const Piece& own) {
    if (!own.empty()) multiply(to, source(own), own.columns, ranks_[to].c.rows(own.placed));
  }

  void multiply(std::uint32_t to, const Region& a, const Span& columns, const Region& c) {
    const GemmShape shape{a.rows, request_.gemm.n, columns.count, request_.gemm.dtype, columns.begin > 0};
    const Tiling& tiling = tiling_for(shape);
    ranks_[to].kernels->multiply({.a = a,
                                  .b = ranks_[to].b.rows(columns),
                                  .c = c,
                                  .m = shape.m,
                                  .n = shape.n,
                                  .k = shape.k,
                                  .dtype = shape.dtype,
                                  .accumulate = shape.accumulate,
                                  .tile_m = tiling.tile_m,
                                  .tile_n = tiling.tile_n,
                                  .split_k = tiling.split_k});
  }

  const Tiling& tiling_for(const GemmShape& shape) {
    const auto [found, added] = tilings_.try_emplace({shape.m, shape.k, shape.accumulate});
    if (added) found->second = choose_tiling(shape, machine_, machine_.compute_units);
    return found->second;
  }

  void scatter(std::uint32_t to, const std::vector<Piece>& pieces) {
    const Rank& rank = ranks_[to];
    std::vector<RowBlock> blocks;
    std::uint64_t row = 0;
    for (const Piece& piece : pieces) {
      blocks.push_back({row, piece.placed.begin, piece.placed.count});
      row += piece.placed.count;
    }
    for (Kernel& kernel : scatter_kernels(blocks, rank.out, rank.c)) ranks_[to].kernels->kernel(std::move(kernel));
  }

  // --- The whole -----------------------------------------------------------------------------------------------------

  Contract contract() const {
    Contract contract{fmt::format("{} -> product", request_.collective), {}};
    for (std::uint32_t to = 0; to < request_.ranks; ++to) {
      const std::uint64_t rows = exchange_.rows_for(to);
      if (rows == 0) continue;
      Product product{{}, ranks_[to].b.rows({0, request_.gemm.k})};
      for (std::uint32_t from = 0; from < request_.ranks; ++from) {
        const Span& given = exchange_.given(from, to);
        if (!given.empty()) product.a.push_back(ranks_[from].input.rows(given));
      }
      contract.products.push_back({ranks_[to].c.rows({0, rows}), {std::move(product)}, request_.gemm.dtype});
    }
    return contract;
  }

  tl::unexpected<Diagnostic> too_large(const FiccoPlan& plan) const {
    return fail(
        "ficco.memory",
        fmt::format("{} of {} needs {} of memory on a GPU, {} of it staging; {} has {} per GPU", name_of(way_),
                    to_string(request_.gemm), format_bytes(plan.footprint), format_bytes(plan.staging), machine_.name,
                    format_bytes(machine_.memory_bytes)),
        staged_ ? "cut finer, or multiply fewer rows" : "take a fused schedule, which stages pieces, or fewer rows");
  }

  const DependentRequest& request_;
  const FiccoSchedule& way_;
  const Machine& machine_;
  const Exchange exchange_;
  const Steps steps_;
  const bool staged_;
  Schedule schedule_;
  std::vector<Rank> ranks_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, bool>, Tiling> tilings_;
};

}  // namespace
}  // namespace plan

Result<FiccoPlan> plan_ficco(const DependentRequest& request, const FiccoSchedule& schedule, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const plan::CheckedDependence checked, plan::check_dependent(request, schedule, machine));
  return plan::Composer(checked.request, checked.schedule, machine).plan();
}

}  // namespace cortado
