// The GEMM first: pieces of it are sent as they are computed, and added up at their destination (reduce-scatter) or
// stored there (all-to-all).
//
//   kernels of a rank  for every step: gather the rows (fused, if they are not adjacent), multiply, raise "made".
//                      Reduce-scatter: add up the previous step, raise "free". hetero: own rows last, while the last
//                      steps travel, and then all sums
//   engines of a rank  for every step: wait for "made" and until the landing is free, bring the pieces, raise "arrived"
//                      (carrier.hpp: which engine brings what)
//
// A fused GEMM goes to one of two outputs alternately: the kernels wait for "arrived" of all pieces of step t before
// they compute step t+2. Uniform fused steps of a reduce-scatter also land alternately. Kernels add up step t after
// they have computed step t+1, so that it can travel meanwhile.
//
// At the end the kernels of a rank wait for everything that it receives, so its queues end only then, and the barrier
// before an iteration is enough for replay.
#include <array>
#include <map>

#include "plan/ficco/bench.hpp"
#include "plan/ficco/carrier.hpp"
#include "plan/ficco/composers.hpp"
#include "plan/ficco/contracts.hpp"
#include "plan/ficco/exchange_choice.hpp"
#include "plan/ficco/row_blocks.hpp"
#include "plan/ficco/steps.hpp"

namespace cortado::plan {
namespace {

class ProductFirst {
 public:
  ProductFirst(const DependentRequest& request, const FiccoSchedule& way, const Machine& machine,
               std::optional<OnlyRank> only)
      : request_(request),
        bench_(request, way, machine, only),
        exchange_(request),
        steps_(exchange_, request.gemm.n, bench_.bytes(1), way),
        panels_(has_panels(way)),
        staged_(is_staged(way)),
        together_(staged_ || way.grain == Grain::whole),
        lands_in_turn_(exchange_.reduces() && staged_ && steps_.with_own()),
        carrier_(choose_exchanges(request, way, exchange_, steps_, machine, bench_), way, machine, bench_) {
    for (std::uint32_t rank = 0; rank < bench_.ranks(); ++rank) add_rank(rank);
  }

  void add_commands() {
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      for (const std::uint32_t from : made_ranks_) {
        together_ ? make_together(step, from) : make_each(step, from);
      }
      if (bench_.has_enough()) return;
      if (step > 0) take(step - 1);
    }
    take(steps_.count() - 1);
    for (const std::uint32_t rank : made_ranks_) complete(rank);
  }

  Result<FiccoPlan> finish() {
    return bench_.finish(steps_.count(), [&] { return contract(); });
  }

 private:
  struct Rank {
    Matrix a;
    Matrix b;
    Matrix c;
    Matrix rows;                                         // of A that are multiplied together
    std::array<Matrix, kTurns> outs;                     // GEMMs of a step
    Matrix whole;                                        // or of all steps, every piece where its rows of A are
    std::array<Matrix, kTurns> landings;                 // of pieces to add up, sender by sender; or only the first
    std::array<std::uint64_t, kTurns> landing_rows{};    // of one sender
    std::array<std::vector<SignalId>, kTurns> sent{};    // signals that an output has been sent
    std::array<std::optional<SignalId>, kTurns> free{};  // when the latest pieces of a landing had been added up
  };

  // --- Memory --------------------------------------------------------------------------------------------------------

  void add_rank(std::uint32_t r) {
    Rank& rank = ranks_.emplace_back();
    const GemmShape& gemm = bench_.gemm();
    const std::uint64_t rows = exchange_.rows_of(r);
    const bool made = bench_.is_made(r);  // of another rank only where pieces land
    if (made && rows > 0) {
      rank.a = bench_.matrix("a", r, rows, gemm.k, BufferRole::input);
      rank.b = bench_.matrix("b", r, gemm.k, gemm.n, BufferRole::input);
    }
    rank.c = bench_.matrix("c", r, exchange_.rows_for(r), gemm.n, BufferRole::output);
    if (made && staged_) add_outputs(r);
    if (made && !staged_) rank.whole = bench_.matrix("product", r, rows, gemm.n, BufferRole::scratch);
    if (exchange_.reduces()) add_landings(r);
  }

  void add_outputs(std::uint32_t r) {
    std::array<std::uint64_t, kTurns> rows{};
    std::uint64_t gathered = 0;
    std::uint64_t columns = 0;
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      const std::vector<Piece> pieces = steps_.given(step, r);
      if (pieces.empty()) continue;
      rows[step % kTurns] = std::max(rows[step % kTurns], total_rows(pieces));
      columns = std::max(columns, pieces.front().columns.count);
      if (!stand_together(pieces, &Piece::given)) gathered = std::max(gathered, total_rows(pieces));
    }
    ranks_[r].rows = bench_.staging("rows", r, gathered, bench_.gemm().k);
    ranks_[r].outs = {bench_.staging("out.even", r, rows[0], columns), bench_.staging("out.odd", r, rows[1], columns)};
  }

  void add_landings(std::uint32_t r) {
    Rank& rank = ranks_[r];
    const std::uint64_t senders = bench_.ranks() - 1;
    if (!lands_in_turn_) {
      rank.landing_rows[0] = exchange_.rows_for(r);
      rank.landings[0] =
          bench_.matrix("received", r, senders * rank.landing_rows[0], bench_.gemm().n, BufferRole::scratch);
      return;
    }
    std::uint64_t columns = 0;
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      const Piece piece = steps_.piece(step, r, r);
      columns = std::max(columns, piece.columns.count);
      rank.landing_rows[step % kTurns] = std::max(rank.landing_rows[step % kTurns], piece.rows());
    }
    rank.landings = {bench_.staging("land.even", r, senders * rank.landing_rows[0], columns),
                     bench_.staging("land.odd", r, senders * rank.landing_rows[1], columns)};
  }

  Region place_of(const Piece& piece) const {
    return ranks_[piece.to].c.part(piece.placed, bench_.in_bytes(piece.columns));
  }

  /// Where a piece of a step goes.
  Region landing(std::uint32_t step, const Piece& piece) const {
    if (!exchange_.reduces()) return place_of(piece);
    const std::size_t turn = lands_in_turn_ ? step % kTurns : 0;
    Matrix landing = ranks_[piece.to].landings[turn];
    const std::uint64_t sender = piece.from < piece.to ? piece.from : piece.from - 1;
    landing.offset = landing.pitch * (ranks_[piece.to].landing_rows[turn] * sender);
    const Span columns = bench_.in_bytes(piece.columns);
    return lands_in_turn_ ? landing.part({0, piece.rows()}, {0, columns.count}) : landing.part(piece.placed, columns);
  }

  /// Where the GEMM of a piece is computed.
  Region made(std::uint32_t step, const Piece& piece) const {
    const Rank& rank = ranks_[piece.from];
    const Span columns = bench_.in_bytes(piece.columns);
    if (!staged_) return rank.whole.part(piece.given, columns);
    const std::uint64_t row = steps_.given_before(step, piece);
    return rank.outs[step % kTurns].part({row, piece.rows()}, {0, columns.count});
  }

  // --- Steps ---------------------------------------------------------------------------------------------------------

  void make_together(std::uint32_t step, std::uint32_t from) {
    const std::vector<Piece> pieces = steps_.given(step, from);
    if (pieces.empty()) return;
    Rank& rank = ranks_[from];
    Lane& kernels = bench_.kernels(from);
    std::vector<SignalId>& sent = rank.sent[step % kTurns];
    for (const SignalId signal : sent) kernels.wait(signal);
    sent.clear();
    const Span rows{0, total_rows(pieces)};
    Region a = rank.a.rows({pieces.front().given.begin, rows.count});
    if (!stand_together(pieces, &Piece::given)) {
      a = rank.rows.rows(rows);
      if (!panels_ || step == 0) gather(from, pieces);  // all panels have the same rows
    }
    const Span columns = bench_.in_bytes(pieces.front().columns);
    const Region c = staged_ ? rank.outs[step % kTurns].part(rows, {0, columns.count})
                             : rank.whole.part({pieces.front().given.begin, rows.count}, columns);
    bench_.multiply(from, a, rank.b.part({0, bench_.gemm().k}, columns), c);
    const SignalId ready = kernels.raise();
    for (Batch& batch : carrier_.batches(step, from)) {
      const Pieces sent_together = steps_.pieces(step, from, batch.to);
      if (sent_together.empty()) continue;
      batch.lane.wait(ready);
      for (const Piece& piece : sent_together) put(step, piece, batch.lane);
      announce(step, sent_together, batch);
    }
  }

  void make_each(std::uint32_t step, std::uint32_t from) {
    for (Batch& batch : carrier_.batches(step, from)) {
      const Pieces pieces = steps_.pieces(step, from, batch.to);
      if (pieces.empty()) continue;
      for (const Piece& piece : pieces) {
        multiply_piece(piece, made(step, piece));
        batch.lane.wait(bench_.kernels(from).raise());
        put(step, piece, batch.lane);
      }
      announce(step, pieces, batch);
    }
    if (steps_.with_own()) make_own(steps_.piece(step, from, from));
  }

  /// A separate GEMM goes directly to its final place.
  void make_own(const Piece& own) {
    if (!own.empty()) multiply_piece(own, place_of(own));
  }

  void multiply_piece(const Piece& piece, const Region& c) {
    const Rank& rank = ranks_[piece.from];
    bench_.multiply(piece.from, rank.a.rows(piece.given),
                    rank.b.part({0, bench_.gemm().k}, bench_.in_bytes(piece.columns)), c);
  }

  void gather(std::uint32_t rank, const std::vector<Piece>& pieces) {
    for (Kernel& kernel : gather_kernels(stacked(pieces, &Piece::given), ranks_[rank].a, ranks_[rank].rows)) {
      bench_.kernels(rank).kernel(std::move(kernel));
    }
  }

  /// Brings a computed piece to its destination.
  void put(std::uint32_t step, const Piece& piece, Lane& lane) const {
    if (const auto& free = ranks_[bench_.only().value_or(piece.to)].free[step % kTurns]) lane.wait(*free);
    lane.copy(made(step, piece), landing(step, piece));
  }

  void announce(std::uint32_t step, const Pieces& pieces, Batch& batch) {
    const std::uint32_t from = pieces.front().from;
    const SignalId arrived = batch.lane.raise(batch.home(from));
    for (const Piece& piece : pieces) {
      arrived_[{step, from, piece.to}] = arrived;
      latest_.insert_or_assign({from, piece.to}, arrived);
    }
    if (staged_) ranks_[from].sent[step % kTurns].push_back(arrived);
  }

  // --- What comes ----------------------------------------------------------------------------------------------------

  /// For steps with own rows: these go to their place, with what others computed for it.
  void take(std::uint32_t step) {
    if (!steps_.with_own()) return;
    for (const std::uint32_t to : made_ranks_) {
      const Piece own = steps_.piece(step, to, to);
      if (exchange_.reduces()) {
        add_up(step, to);
      } else if (together_ && !own.empty()) {
        bench_.kernels(to).copy(made(step, own), place_of(own));
      }
    }
  }

  /// What others computed in the step, and own rows from where they were computed.
  void add_up(std::uint32_t step, std::uint32_t to) {
    const std::vector<Piece> pieces = steps_.received(step, to);
    if (pieces.empty()) return;
    const Region place = place_of(pieces.front());
    std::vector<Region> terms{place};
    for (const Piece& piece : pieces) {
      if (piece.from == to) {
        if (together_) terms.front() = made(step, piece);
        continue;
      }
      const Hop hop = bench_.made_hop({piece.from, to});
      // If rows are uneven, the rank that stands for all may send nothing to that distance.
      if (const auto arrived = arrived_.find({step, hop.from, hop.to}); arrived != arrived_.end()) {
        bench_.kernels(to).wait(arrived->second);
      }
      terms.push_back(landing(step, piece));
    }
    bench_.kernels(to).reduce(std::move(terms), place, bench_.gemm().dtype);
    if (lands_in_turn_ && step + kTurns < steps_.count()) {
      ranks_[to].free[step % kTurns] = bench_.kernels(to).raise();
    }
  }

  /// Own rows, if they come last, and everything that has not been waited for.
  void complete(std::uint32_t to) {
    if (!steps_.with_own()) make_own(steps_.own(to));
    for (const RankId from : bench_.peers(to)) {
      // A signal of a queue comes after everything that the queue did before, and all steps have the same queues.
      const Hop hop = bench_.made_hop({from.value, to});
      const auto latest = latest_.find({hop.from, hop.to});
      if (!exchange_.reduces() && latest != latest_.end()) bench_.kernels(to).wait(latest->second);
    }
    if (!exchange_.reduces() || steps_.with_own()) return;
    for (std::uint32_t step = 0; step < steps_.count(); ++step) add_up(step, to);
  }

  Contract contract() const {
    return product_first_contract(request_, exchange_, [&](std::uint32_t rank) {
      return RankMatrices{ranks_[rank].a, ranks_[rank].b, ranks_[rank].c};
    });
  }

  const DependentRequest& request_;
  Bench bench_;
  const Exchange exchange_;
  const Steps steps_;
  const bool panels_;
  const bool staged_;
  const bool together_;
  const bool lands_in_turn_;
  Carrier carrier_;
  const std::vector<std::uint32_t> made_ranks_ = bench_.made_ranks();
  std::vector<Rank> ranks_;
  std::map<std::array<std::uint32_t, 3>, SignalId> arrived_;  // by step, sender and receiver
  std::map<std::array<std::uint32_t, 2>, SignalId> latest_;   // by sender and receiver
};

}  // namespace

Result<FiccoPlan> plan_product_first(const DependentRequest& request, const FiccoSchedule& schedule,
                                     const Machine& machine, std::optional<OnlyRank> only) {
  return composed<ProductFirst>(request, schedule, machine, only);
}

}  // namespace cortado::plan
