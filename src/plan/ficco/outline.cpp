#include <array>
#include <optional>

#include "cortado/plan/ficco_outline.hpp"

#include "plan/ficco/bench.hpp"
#include "plan/ficco/composers.hpp"
#include "plan/ficco/request.hpp"
#include "plan/ficco/row_blocks.hpp"
#include "plan/ficco/steps.hpp"

namespace cortado {
namespace plan {
namespace {

using Multiply = FiccoOutline::Multiply;
using Move = FiccoOutline::Move;
using Await = FiccoOutline::Await;
using Raise = FiccoOutline::Raise;

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

/// What outlines of both directions are made with.
class Draft {
 public:
  Draft(const CheckedDependence& checked, const Exchange& exchange, const Machine& machine, std::uint32_t rank,
        std::uint64_t columns)
      : request_(checked.request),
        way_(checked.schedule),
        machine_(machine),
        element_(size_of(request_.gemm.dtype)),
        exchange_(exchange),
        steps_(exchange_, columns, element_, way_),
        rank_(rank),
        staged_(is_staged(way_)),
        together_(staged_ || way_.grain == Grain::whole),
        panels_(has_panels(way_)) {
    outline_.rank = rank;
    outline_.ranks = request_.ranks;
    const bool own_lanes = request_.dependence == Dependence::collective_first && way_.grain != Grain::shards;
    outline_.closed = own_lanes || are_alike(exchange_);
    outline_.lanes.resize(way_.grain == Grain::shards ? 1 : request_.ranks - 1);
  }

 protected:
  /// The lane towards the rank so many ahead.
  std::uint32_t lane_to(std::uint32_t distance) const { return way_.grain == Grain::shards ? 0 : distance - 1; }
  std::uint32_t ahead(std::uint32_t from, std::uint32_t to) const {
    return (to + request_.ranks - from) % request_.ranks;
  }

  Await send(const Piece& piece, bool together, std::vector<std::uint32_t> after) {
    const std::uint32_t lane = lane_to(ahead(piece.from, piece.to));
    auto& sends = outline_.lanes[lane];
    sends.push_back({bytes(piece.rows(), piece.columns.count), first_copy(piece, together), std::move(after)});
    return {lane, static_cast<std::uint32_t>(sends.size() - 1)};
  }

  /// What stands together at both ends is one run of bytes; else copies are windows of rows. Rows that are too wide for
  /// a window are not cut here.
  Bytes first_copy(const Piece& piece, bool together) const {
    const DmaLimits& dma = machine_.dma;
    if (together || piece.rows() == 1) return std::min(bytes(piece.rows(), piece.columns.count), dma.max_copy_bytes);
    return bytes(std::min(piece.rows(), dma.max_window_elements), piece.columns.count);
  }

  std::uint32_t raise() {
    outline_.kernels.push_back(Raise{});
    return raises_++;
  }
  void multiply(std::uint64_t rows, std::uint64_t columns, std::uint64_t depth, Output output = Output::written) {
    outline_.kernels.push_back(Multiply{{rows, columns, depth, request_.gemm.dtype, output == Output::added_to}});
  }
  void copy(Bytes written) { outline_.kernels.push_back(Move{written, 2, true}); }
  void run(const std::vector<Kernel>& kernels) {
    for (const Kernel& kernel : kernels) {
      outline_.kernels.push_back(Move{kernel.dst.bytes(), static_cast<std::uint32_t>(kernel.sources.size() + 1)});
    }
  }

  Bytes bytes(std::uint64_t rows, std::uint64_t columns) const { return element_ * rows * columns; }
  Matrix rows_of(std::uint64_t columns) const { return {{}, {}, bytes(1, columns)}; }
  void hold(std::uint64_t rows, std::uint64_t columns) { outline_.footprint += bytes(rows, columns); }

  /// Two stagings in turn for the largest of even and of odd steps.
  template <class PiecesOf>
  void hold_stagings(PiecesOf pieces_of, Span Piece::*stand, std::uint64_t apart_columns) {
    std::array<std::uint64_t, kTurns> rows{};
    std::uint64_t apart = 0;
    std::uint64_t columns = 0;
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      const std::vector<Piece> pieces = pieces_of(step);
      if (pieces.empty()) continue;
      const std::uint64_t all = total_rows(pieces);
      rows[step % kTurns] = std::max(rows[step % kTurns], all);
      columns = std::max(columns, pieces.front().columns.count);
      if (!stand_together(pieces, stand)) apart = std::max(apart, all);
    }
    hold(rows[0] + rows[1], columns);
    hold(apart, apart_columns);
  }

  const DependentRequest& request_;
  const FiccoSchedule& way_;
  const Machine& machine_;
  const Bytes element_;
  const Exchange& exchange_;
  const Steps steps_;
  const std::uint32_t rank_;
  const bool staged_;
  const bool together_;
  const bool panels_;
  FiccoOutline outline_;

 private:
  std::uint32_t raises_ = 0;
};

/// As collective_first.cpp has it; lanes bring what the rank receives.
class CollectiveFirstOutline : Draft {
 public:
  CollectiveFirstOutline(const CheckedDependence& checked, const Exchange& exchange, const Machine& machine,
                         std::uint32_t rank)
      : Draft(checked, exchange, machine, rank, checked.request.gemm.k) {}

  FiccoOutline make() && {
    hold_matrices();
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      receive(step);
      if (step == 0 && !steps_.with_own()) multiply_piece(steps_.own(rank_));
      together_ ? multiply_together(step) : multiply_each(step);
    }
    return std::move(outline_);
  }

 private:
  void hold_matrices() {
    const GemmShape& gemm = request_.gemm;
    const std::uint64_t rows = exchange_.rows_for(rank_);
    if (staged_ || !exchange_.gathers()) hold(exchange_.rows_of(rank_), gemm.k);
    if (!staged_) hold(rows, gemm.k);
    hold(gemm.k, gemm.n);
    hold(rows, gemm.n);
    if (staged_) {
      hold_stagings([&](std::uint32_t step) { return steps_.received(step, rank_); }, &Piece::placed, gemm.n);
    }
  }

  void receive(std::uint32_t step) {
    arrived_.assign(request_.ranks, std::nullopt);
    for (std::uint32_t from = 0; from < request_.ranks; ++from) {
      const Piece piece = steps_.piece(step, from, rank_);
      if (from == rank_ || piece.empty()) continue;
      const auto& free = free_[step % kTurns];
      arrived_[from] = send(piece, !panels_, free ? std::vector{*free} : std::vector<std::uint32_t>{});
    }
  }

  void multiply_together(std::uint32_t step) {
    const std::vector<Piece> pieces = steps_.received(step, rank_);
    if (pieces.empty()) return;
    const bool own_stands = !staged_ && exchange_.gathers();
    for (const Piece& piece : pieces) {
      if (piece.from == rank_ && !own_stands) copy(bytes(piece.rows(), piece.columns.count));
    }
    for (const Piece& piece : pieces) {
      if (piece.from != rank_) outline_.kernels.push_back(*arrived_[piece.from]);
    }
    const Span& columns = pieces.front().columns;
    multiply(total_rows(pieces), request_.gemm.n, columns.count, output_of(columns));
    if (staged_ && step + kTurns < steps_.count()) free_[step % kTurns] = raise();
    if (!stand_together(pieces, &Piece::placed) && columns.end() == request_.gemm.k) {
      const Matrix rows = rows_of(request_.gemm.n);
      run(scatter_kernels(stacked(pieces, &Piece::placed), rows, rows));
    }
  }

  void multiply_each(std::uint32_t step) {
    if (steps_.with_own()) multiply_piece(steps_.piece(step, rank_, rank_));
    for (std::uint32_t i = 1; i < request_.ranks; ++i) {
      const std::uint32_t from = (rank_ + i) % request_.ranks;
      if (!arrived_[from]) continue;
      outline_.kernels.push_back(*arrived_[from]);
      multiply_piece(steps_.piece(step, from, rank_));
    }
  }

  void multiply_piece(const Piece& piece) {
    if (!piece.empty()) multiply(piece.rows(), request_.gemm.n, piece.columns.count, output_of(piece.columns));
  }
  static Output output_of(const Span& columns) { return columns.begin > 0 ? Output::added_to : Output::written; }

  std::vector<std::optional<Await>> arrived_;              // by sender: the piece of the step
  std::array<std::optional<std::uint32_t>, kTurns> free_;  // the raise
};

/// As product_first.cpp has it; lanes take away what the rank makes, and stand for those that bring what it receives.
class ProductFirstOutline : Draft {
 public:
  ProductFirstOutline(const CheckedDependence& checked, const Exchange& exchange, const Machine& machine,
                      std::uint32_t rank)
      : Draft(checked, exchange, machine, rank, checked.request.gemm.n),
        lands_in_turn_(exchange_.reduces() && staged_ && steps_.with_own()),
        sent_(steps_.count(), std::vector<std::optional<Await>>(request_.ranks)),
        latest_(request_.ranks) {
    outline_.kernels_first = true;
  }

  FiccoOutline make() && {
    hold_matrices();
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      together_ ? make_together(step) : make_each(step);
      if (step > 0) take(step - 1);
    }
    take(steps_.count() - 1);
    complete();
    return std::move(outline_);
  }

 private:
  void hold_matrices() {
    const GemmShape& gemm = request_.gemm;
    const std::uint64_t rows = exchange_.rows_of(rank_);
    hold(rows, gemm.k);
    hold(gemm.k, gemm.n);
    hold(exchange_.rows_for(rank_), gemm.n);
    if (staged_) {
      hold_stagings([&](std::uint32_t step) { return steps_.given(step, rank_); }, &Piece::given, gemm.k);
    } else {
      hold(rows, gemm.n);
    }
    if (!exchange_.reduces()) return;
    if (!lands_in_turn_) return hold((request_.ranks - 1) * exchange_.rows_for(rank_), gemm.n);
    std::uint64_t columns = 0;
    std::array<std::uint64_t, kTurns> landing{};
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      const Piece piece = steps_.piece(step, rank_, rank_);
      columns = std::max(columns, piece.columns.count);
      landing[step % kTurns] = std::max(landing[step % kTurns], piece.rows());
    }
    hold((request_.ranks - 1) * (landing[0] + landing[1]), columns);
  }

  void make_together(std::uint32_t step) {
    const std::vector<Piece> pieces = steps_.given(step, rank_);
    if (pieces.empty()) return;
    for (const auto& sent : leaving_[step % kTurns]) outline_.kernels.push_back(sent);
    leaving_[step % kTurns].clear();
    if (!stand_together(pieces, &Piece::given) && (!panels_ || step == 0)) {
      const Matrix rows = rows_of(request_.gemm.k);
      run(gather_kernels(stacked(pieces, &Piece::given), rows, rows));
    }
    multiply(total_rows(pieces), pieces.front().columns.count, request_.gemm.k);
    const std::uint32_t made = raise();
    for (std::uint32_t i = 1; i < request_.ranks; ++i) give(step, i, made);
  }

  void make_each(std::uint32_t step) {
    for (std::uint32_t i = 1; i < request_.ranks; ++i) {
      const Piece piece = steps_.piece(step, rank_, (rank_ + i) % request_.ranks);
      if (piece.empty()) continue;
      multiply_piece(piece);
      give(step, i, raise());
    }
    if (steps_.with_own()) multiply_piece(steps_.piece(step, rank_, rank_));
  }

  void give(std::uint32_t step, std::uint32_t distance, std::uint32_t made) {
    const Piece piece = steps_.piece(step, rank_, (rank_ + distance) % request_.ranks);
    if (piece.empty()) return;
    std::vector<std::uint32_t> after{made};
    if (const auto& free = free_[step % kTurns]) after.push_back(*free);
    // Panels go from staging to staging, whose rows are as wide as the first one.
    const bool from_end_to_end = lands_in_turn_ && piece.columns.count == steps_.piece(0, 0, 0).columns.count;
    const Await sent = send(piece, !panels_ || from_end_to_end, std::move(after));
    sent_[step][distance] = latest_[distance] = sent;
    if (staged_) leaving_[step % kTurns].push_back(sent);
  }

  void multiply_piece(const Piece& piece) {
    if (!piece.empty()) multiply(piece.rows(), piece.columns.count, request_.gemm.k);
  }

  void take(std::uint32_t step) {
    if (!steps_.with_own()) return;
    const Piece own = steps_.piece(step, rank_, rank_);
    if (exchange_.reduces()) {
      add_up(step);
    } else if (together_ && !own.empty()) {
      copy(bytes(own.rows(), own.columns.count));
    }
  }

  void add_up(std::uint32_t step) {
    const std::vector<Piece> pieces = steps_.received(step, rank_);
    if (pieces.empty()) return;
    std::uint32_t others = 0;
    for (const Piece& piece : pieces) {
      if (piece.from == rank_) continue;
      if (const auto& sent = sent_[step][ahead(piece.from, rank_)]) outline_.kernels.push_back(*sent);
      ++others;
    }
    const Bytes sum = bytes(pieces.front().rows(), pieces.front().columns.count);
    outline_.kernels.push_back(Move{sum, others + 2});  // others, what is there, and the sum
    if (lands_in_turn_ && step + kTurns < steps_.count()) free_[step % kTurns] = raise();
  }

  void complete() {
    if (!steps_.with_own()) multiply_piece(steps_.own(rank_));
    if (!exchange_.reduces()) {
      for (const auto& latest : latest_) {
        if (latest) outline_.kernels.push_back(*latest);
      }
      return;
    }
    if (steps_.with_own()) return;
    for (std::uint32_t step = 0; step < steps_.count(); ++step) add_up(step);
  }

  const bool lands_in_turn_;
  std::vector<std::vector<std::optional<Await>>> sent_;    // by step and distance
  std::vector<std::optional<Await>> latest_;               // by distance
  std::array<std::vector<Await>, kTurns> leaving_;         // an output
  std::array<std::optional<std::uint32_t>, kTurns> free_;  // the raise
};

FiccoOutline outline_of(const CheckedDependence& checked, const Exchange& exchange, const Machine& machine,
                        std::uint32_t rank) {
  if (checked.request.dependence == Dependence::product_first) {
    return ProductFirstOutline(checked, exchange, machine, rank).make();
  }
  return CollectiveFirstOutline(checked, exchange, machine, rank).make();
}

}  // namespace
}  // namespace plan

Result<std::vector<FiccoOutline>> outline_ficco(const DependentRequest& request, const FiccoSchedule& schedule,
                                                const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const plan::CheckedDependence checked, plan::check_dependent(request, schedule, machine));
  const plan::Exchange exchange(checked.request);
  std::vector<FiccoOutline> outlines{
      plan::outline_of(checked, exchange, machine, plan::busiest_rank(checked.request, exchange))};
  if (plan::are_alike(exchange)) return outlines;
  FiccoOutline most = outlines.front();
  for (std::uint32_t rank = 0; rank < exchange.ranks(); ++rank) {
    FiccoOutline other = plan::outline_of(checked, exchange, machine, rank);
    if (other.kernels.size() > most.kernels.size()) most = std::move(other);
  }
  if (most.rank != outlines.front().rank) outlines.push_back(std::move(most));
  return outlines;
}

}  // namespace cortado
