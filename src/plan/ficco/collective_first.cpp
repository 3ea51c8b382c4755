// The collective first: in every step engines bring pieces and kernels multiply what has arrived.
//
//   engines of a rank  for every step: wait until the staging is free, bring the pieces, raise "arrived" (carrier.hpp:
//                      which engine brings what)
//   kernels of a rank  hetero: own rows. For every step: copy own rows into the staging (uniform fused), wait for the
//                      pieces, multiply, raise "free", scatter the rows of the result
//
// All queues are submitted up front; only signals order them. "arrived" is raised by one queue and waited for by the
// kernels of one rank; "free" is raised by these and waited for by all engines that refill the same staging.
//
// The queues of a rank end only when everything that it receives has been multiplied, and nobody else reads its rows,
// so the barrier before an iteration is enough for replay: no engine fills a staging before the rank has finished with
// the previous iteration.
#include <array>

#include "plan/ficco/bench.hpp"
#include "plan/ficco/carrier.hpp"
#include "plan/ficco/composers.hpp"
#include "plan/ficco/contracts.hpp"
#include "plan/ficco/exchange_choice.hpp"
#include "plan/ficco/row_blocks.hpp"
#include "plan/ficco/steps.hpp"

namespace cortado::plan {
namespace {

class CollectiveFirst {
 public:
  CollectiveFirst(const DependentRequest& request, const FiccoSchedule& way, const Machine& machine,
                  std::optional<OnlyRank> only)
      : request_(request),
        bench_(request, way, machine, only),
        exchange_(request),
        steps_(exchange_, request.gemm.k, bench_.bytes(1), way),
        staged_(is_staged(way)),
        together_(staged_ || way.grain == Grain::whole),
        carrier_(choose_exchanges(request, way, exchange_, steps_, machine, bench_), way, machine, bench_) {
    for (std::uint32_t rank = 0; rank < bench_.ranks(); ++rank)
      bench_.is_made(rank) ? add_rank(rank) : add_sender(rank);
  }

  void add_commands() {
    for (std::uint32_t step = 0; step < steps_.count() && !bench_.has_enough(); ++step) {
      for (const std::uint32_t from : senders_) send(step, from);
      for (const std::uint32_t to : made_ranks_) {
        if (step == 0 && !steps_.with_own()) multiply_own(to, steps_.own(to));
        together_ ? multiply_together(step, to) : multiply_each(step, to);
      }
    }
  }

  Result<FiccoPlan> finish() {
    return bench_.finish(steps_.count(), [&] { return contract(); });
  }

 private:
  struct Rank {
    Matrix input;     // its rows
    Matrix gathered;  // where pieces land side by side: all rows that it multiplies
    std::array<Matrix, kTurns> stagings;
    Matrix b;
    Matrix c;
    Matrix out;                                          // a GEMM whose rows are not adjacent in C
    std::vector<SignalId> arrived{};                     // by sender: its latest piece
    std::array<std::optional<SignalId>, kTurns> free{};  // when the latest GEMMs of a staging were finished
  };

  // --- Memory --------------------------------------------------------------------------------------------------------

  void add_rank(std::uint32_t r) {
    Rank& rank = ranks_.emplace_back();
    const GemmShape& gemm = bench_.gemm();
    const std::uint64_t rows = exchange_.rows_for(r);
    if (!staged_ && exchange_.gathers()) {
      rank.gathered = bench_.matrix("a", r, rows, gemm.k, BufferRole::input);
      rank.input = rank.gathered;
      rank.input.offset = rank.gathered.pitch * exchange_.placed(r, r).begin;
    } else {
      rank.input = bench_.matrix("a", r, exchange_.rows_of(r), gemm.k, BufferRole::input);
      if (!staged_) rank.gathered = bench_.matrix("gathered", r, rows, gemm.k, BufferRole::scratch);
    }
    if (rows > 0) {
      rank.b = bench_.matrix("b", r, gemm.k, gemm.n, BufferRole::input);
      rank.c = bench_.matrix("c", r, rows, gemm.n, BufferRole::output);
    }
    if (staged_) add_stagings(r);
    rank.arrived.resize(bench_.ranks());
  }

  /// Only the rows that it sends to the rank that stands for all matter.
  void add_sender(std::uint32_t r) {
    ranks_.emplace_back().input = bench_.matrix("a", r, exchange_.rows_of(r), bench_.gemm().k, BufferRole::input);
  }

  void add_stagings(std::uint32_t r) {
    std::array<std::uint64_t, kTurns> rows{};
    std::uint64_t scattered = 0;
    std::uint64_t columns = 0;
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      const std::vector<Piece> pieces = steps_.received(step, r);
      if (pieces.empty()) continue;
      const std::uint64_t all = total_rows(pieces);
      rows[step % kTurns] = std::max(rows[step % kTurns], all);
      columns = std::max(columns, pieces.front().columns.count);
      if (!stand_together(pieces, &Piece::placed)) scattered = std::max(scattered, all);
    }
    ranks_[r].stagings = {bench_.staging("stage.even", r, rows[0], columns),
                          bench_.staging("stage.odd", r, rows[1], columns)};
    ranks_[r].out = bench_.staging("out", r, scattered, bench_.gemm().n);
  }

  /// Where a piece of a step is at the receiver.
  Region landing(std::uint32_t step, const Piece& piece) const {
    const Rank& rank = ranks_[piece.to];
    if (!staged_) return rank.gathered.part(piece.placed, bench_.in_bytes(piece.columns));
    const std::uint64_t row = steps_.received_before(step, piece);
    return rank.stagings[step % kTurns].part({row, piece.rows()}, bench_.in_bytes({0, piece.columns.count}));
  }

  Region source(const Piece& piece) const {
    return ranks_[piece.from].input.part(piece.given, bench_.in_bytes(piece.columns));
  }

  // --- Steps ---------------------------------------------------------------------------------------------------------

  void send(std::uint32_t step, std::uint32_t from) {
    for (Batch& batch : carrier_.batches(step, from)) {
      const Pieces pieces = steps_.pieces(step, from, batch.to);
      if (pieces.empty()) continue;
      if (!broadcast(step, pieces, batch)) {
        for (const Piece& piece : pieces) {
          wait_until_free(step, piece.to, batch.lane);
          batch.lane.copy(source(piece), landing(step, piece));
        }
      }
      const SignalId arrived = batch.lane.raise(batch.home(from));
      for (const Piece& piece : pieces) ranks_[piece.to].arrived[from] = arrived;
    }
  }

  /// The same rows for two receivers in one packet, if possible.
  bool broadcast(std::uint32_t step, const Pieces& pieces, Batch& batch) {
    if (!batch.broadcast || pieces.size() != 2) return false;
    const Region first = landing(step, pieces[0]);
    const Region second = landing(step, pieces[1]);
    if (!carrier_.broadcasts_to(first, second)) return false;
    for (const Piece& piece : pieces) wait_until_free(step, piece.to, batch.lane);
    batch.lane.broadcast(source(pieces[0]), first, second);
    return true;
  }

  void wait_until_free(std::uint32_t step, std::uint32_t to, Lane& lane) const {
    if (const auto& free = ranks_[to].free[step % kTurns]) lane.wait(*free);
  }

  void multiply_together(std::uint32_t step, std::uint32_t to) {
    Rank& rank = ranks_[to];
    Lane& kernels = bench_.kernels(to);
    const std::vector<Piece> pieces = steps_.received(step, to);
    if (pieces.empty()) return;
    for (const Piece& piece : pieces) {
      if (piece.from != to) continue;
      if (const Region place = landing(step, piece); place != source(piece)) kernels.copy(source(piece), place);
    }
    for (const Piece& piece : pieces) {
      if (piece.from != to) kernels.wait(rank.arrived[piece.from]);
    }
    const Span& columns = pieces.front().columns;
    const Span rows{0, total_rows(pieces)};
    const bool in_place = stand_together(pieces, &Piece::placed);
    const Matrix& a = staged_ ? rank.stagings[step % kTurns] : rank.gathered;
    multiply(to, a.part(rows, bench_.in_bytes({0, columns.count})), columns,
             in_place ? rank.c.rows({pieces.front().placed.begin, rows.count}) : rank.out.rows(rows));
    if (staged_ && step + kTurns < steps_.count()) rank.free[step % kTurns] = kernels.raise();
    if (!in_place && columns.end() == bench_.gemm().k) scatter(to, pieces);
  }

  void multiply_each(std::uint32_t step, std::uint32_t to) {
    if (steps_.with_own()) multiply_own(to, steps_.piece(step, to, to));
    for (const RankId from : bench_.peers(to)) {
      const Piece piece = steps_.piece(step, from.value, to);
      if (piece.empty()) continue;
      bench_.kernels(to).wait(ranks_[to].arrived[from.value]);
      multiply(to, landing(step, piece), piece.columns, ranks_[to].c.rows(piece.placed));
    }
  }

  /// Rows of the rank itself, from where they are.
  void multiply_own(std::uint32_t rank, const Piece& own) {
    if (!own.empty()) multiply(rank, source(own), own.columns, ranks_[rank].c.rows(own.placed));
  }

  void multiply(std::uint32_t rank, const Region& a, const Span& columns, const Region& c) {
    bench_.multiply(rank, a, ranks_[rank].b.rows(columns), c, columns.begin > 0 ? Output::added_to : Output::written);
  }

  void scatter(std::uint32_t to, const std::vector<Piece>& pieces) {
    const Rank& rank = ranks_[to];
    for (Kernel& kernel : scatter_kernels(stacked(pieces, &Piece::placed), rank.out, rank.c)) {
      bench_.kernels(to).kernel(std::move(kernel));
    }
  }

  Contract contract() const {
    return collective_first_contract(request_, exchange_, [&](std::uint32_t rank) {
      return RankMatrices{ranks_[rank].input, ranks_[rank].b, ranks_[rank].c};
    });
  }

  const DependentRequest& request_;
  Bench bench_;
  const Exchange exchange_;
  const Steps steps_;
  const bool staged_;
  const bool together_;  // the pieces of a step are one GEMM
  Carrier carrier_;
  const std::vector<std::uint32_t> made_ranks_ = bench_.made_ranks();
  const std::vector<std::uint32_t> senders_ = bench_.senders();
  std::vector<Rank> ranks_;
};

}  // namespace

Result<FiccoPlan> plan_collective_first(const DependentRequest& request, const FiccoSchedule& schedule,
                                        const Machine& machine, std::optional<OnlyRank> only) {
  return composed<CollectiveFirst>(request, schedule, machine, only);
}

}  // namespace cortado::plan
