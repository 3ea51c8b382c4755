// The collective first, by tiles: one GEMM, in which each group of tiles waits for the rows that it multiplies.
//
//   engines of a rank   chunk by chunk: for every peer the rows of the chunk, then raise "arrived" of peer and chunk
//   kernels of a rank   all-to-all: own rows to their place. Then the GEMM: own rows first, then chunk by chunk the
//                       rows of every other rank, nearest sender first, in the order in which they arrive
//
// The GEMM ends when everything that the rank receives has been multiplied, so the barrier before an iteration is
// enough for replay (ficco/collective_first.cpp). Copies on compute units are a kernel that is launched before the
// GEMM, so tiles that wait cannot keep it from starting.
#include "ir/tiles.hpp"
#include "plan/ficco/bench.hpp"
#include "plan/ficco/carrier.hpp"
#include "plan/ficco/composers.hpp"
#include "plan/ficco/contracts.hpp"
#include "plan/ficco/steps.hpp"

namespace cortado::plan {
namespace {

class TilesThatWait {
 public:
  TilesThatWait(const DependentRequest& request, const FiccoSchedule& way, const Machine& machine,
                std::optional<OnlyRank> only)
      : request_(request),
        bench_(request, way, machine, only),
        exchange_(request),
        steps_(exchange_, request.gemm.k, bench_.bytes(1), way),
        carrier_(std::vector(steps_.count(), ExchangeVariant::pcpy), way, machine, bench_) {
    for (std::uint32_t rank = 0; rank < bench_.ranks(); ++rank) add_rank(rank);
  }

  void add_commands() {
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      for (const std::uint32_t from : bench_.senders()) send(step, from);
    }
    for (const std::uint32_t to : bench_.made_ranks()) multiply(to);
  }

  Result<FiccoPlan> finish() {
    return bench_.finish(steps_.count(), [&] { return contract(); });
  }

 private:
  struct Rank {
    Matrix input;     // its rows
    Matrix gathered;  // all rows that it multiplies
    Matrix b;
    Matrix c;
    std::vector<std::vector<SignalId>> arrived{};  // by step and sender
  };

  void add_rank(std::uint32_t r) {
    Rank& rank = ranks_.emplace_back();
    const GemmShape& gemm = bench_.gemm();
    if (!bench_.is_made(r)) {  // only the rows that it sends to the rank that stands for all matter
      rank.input = bench_.matrix("a", r, exchange_.rows_of(r), gemm.k, BufferRole::input);
      return;
    }
    const std::uint64_t rows = exchange_.rows_for(r);
    if (exchange_.gathers()) {
      rank.gathered = bench_.matrix("a", r, rows, gemm.k, BufferRole::input);
      rank.input = rank.gathered;
      rank.input.offset = rank.gathered.pitch * exchange_.placed(r, r).begin;
    } else {
      rank.input = bench_.matrix("a", r, exchange_.rows_of(r), gemm.k, BufferRole::input);
      rank.gathered = bench_.matrix("gathered", r, rows, gemm.k, BufferRole::scratch);
    }
    if (rows > 0) {
      rank.b = bench_.matrix("b", r, gemm.k, gemm.n, BufferRole::input);
      rank.c = bench_.matrix("c", r, rows, gemm.n, BufferRole::output);
    }
    rank.arrived.assign(steps_.count(), std::vector<SignalId>(bench_.ranks()));
  }

  Region source(const Piece& piece) const { return ranks_[piece.from].input.rows(piece.given); }
  Region landing(const Piece& piece) const { return ranks_[piece.to].gathered.rows(piece.placed); }

  void send(std::uint32_t step, std::uint32_t from) {
    for (Batch& batch : carrier_.batches(step, from)) {
      const Pieces pieces = steps_.pieces(step, from, batch.to);
      if (pieces.empty()) continue;
      for (const Piece& piece : pieces) batch.lane.copy(source(piece), landing(piece));
      const SignalId arrived = batch.lane.raise(batch.home(from));
      for (const Piece& piece : pieces) ranks_[piece.to].arrived[step][from] = arrived;
    }
  }

  void multiply(std::uint32_t to) {
    const Rank& rank = ranks_[to];
    const std::uint64_t rows = exchange_.rows_for(to);
    if (rows == 0) return;
    std::vector<OutputBlock> blocks;
    std::vector<SignalId> arrived;
    const auto add = [&](const Piece& piece) {
      blocks.push_back({piece.placed.begin, 0, piece.rows(), bench_.gemm().n, rank.c.rows(piece.placed)});
    };
    if (const Piece own = steps_.own(to); !own.empty()) {
      if (!exchange_.gathers()) bench_.kernels(to).copy(source(own), landing(own));
      add(own);
    }
    const std::size_t own_blocks = blocks.size();
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      for (const std::uint32_t from : bench_.senders_to(to)) {
        const Piece piece = steps_.piece(step, from, to);
        if (piece.empty()) continue;
        add(piece);
        arrived.push_back(rank.arrived[step][from]);
      }
    }
    Gemm gemm =
        bench_.ordered_gemm(rank.gathered.rows({0, rows}), rank.b.rows({0, bench_.gemm().k}), std::move(blocks));
    std::uint64_t tiles = 0;
    for (std::size_t i = 0; i < gemm.outputs.size(); ++i) {
      if (i >= own_blocks) gemm.waits.push_back({tiles, arrived[i - own_blocks], 1});
      tiles += tile_count(gemm, gemm.outputs[i]);
    }
    bench_.multiply(to, std::move(gemm));
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
  Carrier carrier_;
  std::vector<Rank> ranks_;
};

}  // namespace

Result<FiccoPlan> plan_collective_first_by_tiles(const DependentRequest& request, const FiccoSchedule& schedule,
                                                 const Machine& machine, std::optional<OnlyRank> only) {
  return composed<TilesThatWait>(request, schedule, machine, only);
}

}  // namespace cortado::plan
