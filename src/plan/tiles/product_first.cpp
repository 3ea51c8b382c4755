// The product first, by tiles: one product, which releases rows as its tiles are written.
//
//   kernels of a rank   the product: rows for other ranks first, chunk by chunk, nearest receiver first; own rows last.
//                       Behind each group of tiles "made" is raised. Reduce-scatter: then add up what has come
//   engines of a rank   for every group: wait for "made", bring the rows, raise "arrived"
//
// Tiles: a group has the rows of one chunk for one receiver. Waves: a group has the rows of tiles that some whole waves
// have written, for whichever receivers; rows whose last tiles are in the next wave belong to the next group.
// With stores to peers nobody copies: tiles go straight to where they are needed, and the product raises "arrived".
//
// At the end the kernels of a rank wait for all that it receives, so its queues end only then, and the barrier before
// an iteration is enough for replay (ficco/product_first.cpp).
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/check.hpp"
#include "ir/tiles.hpp"
#include "plan/ficco/bench.hpp"
#include "plan/ficco/carrier.hpp"
#include "plan/ficco/composers.hpp"
#include "plan/ficco/contracts.hpp"
#include "plan/ficco/steps.hpp"

namespace cortado::plan {
namespace {

class TilesThatRelease {
 public:
  TilesThatRelease(const DependentRequest& request, const FiccoSchedule& way, const Machine& machine,
                   std::optional<std::uint32_t> only)
      : request_(request),
        way_(way),
        machine_(machine),
        bench_(request, way, machine, only),
        exchange_(request),
        steps_(exchange_, request.gemm.n, bench_.bytes(1), by_chunks(way)),
        stores_(way.means == CollectiveMeans::stores),
        carrier_(std::vector(1, ExchangeVariant::pcpy), way, machine, bench_) {
    for (std::uint32_t rank = 0; rank < bench_.ranks(); ++rank) add_rank(rank);
  }

  void add_commands() {
    for (const std::uint32_t from : bench_.made_ranks()) multiply(from);
    for (const std::uint32_t to : bench_.made_ranks()) complete(to);
  }

  Result<FiccoPlan> finish(Collective collective, const std::string& schedule) {
    return bench_.finish(fmt::format("{} -> {}, {}", to_string(bench_.gemm()), collective, schedule),
                         bench_.only() ? Contract{} : contract(), groups_);
  }

 private:
  struct Rank {
    Matrix a;
    Matrix b;
    Matrix c;
    Matrix product;   // every row where its row of A stands, but for own rows and those that are stored at peers
    Matrix received;  // to add up, sender by sender
  };
  /// Rows that are released together.
  using Group = std::vector<Piece>;

  /// Waves cut the rows for a receiver where waves end.
  static FiccoSchedule by_chunks(FiccoSchedule way) {
    if (way.grain == Grain::waves) way.chunks = 1;
    return way;
  }

  // --- Memory --------------------------------------------------------------------------------------------------------

  void add_rank(std::uint32_t r) {
    Rank& rank = ranks_.emplace_back();
    const GemmShape& gemm = bench_.gemm();
    const std::uint64_t rows = exchange_.rows_of(r);
    if (bench_.is_made(r) && rows > 0) {  // of another rank only where pieces land
      rank.a = bench_.matrix("a", r, rows, gemm.k, BufferRole::input);
      rank.b = bench_.matrix("b", r, gemm.k, gemm.n, BufferRole::input);
      if (!stores_) rank.product = bench_.matrix("product", r, rows, gemm.n, BufferRole::scratch);
    }
    rank.c = bench_.matrix("c", r, exchange_.rows_for(r), gemm.n, BufferRole::output);
    if (exchange_.reduces()) {
      const std::uint64_t landing = (bench_.ranks() - 1) * exchange_.rows_for(r);
      rank.received = bench_.matrix("received", r, landing, gemm.n, BufferRole::scratch);
    }
  }

  Region place_of(const Piece& piece) const { return ranks_[piece.to].c.rows(piece.placed); }

  /// Where a piece goes.
  Region landing(const Piece& piece) const {
    if (!exchange_.reduces() || piece.from == piece.to) return place_of(piece);
    const std::uint64_t sender = piece.from < piece.to ? piece.from : piece.from - 1;
    Matrix landing = ranks_[piece.to].received;
    landing.offset = landing.pitch * (exchange_.rows_for(piece.to) * sender);
    return landing.rows(piece.placed);
  }

  /// Where the product writes a piece.
  Region made(const Piece& piece) const {
    return stores_ || piece.from == piece.to ? landing(piece) : ranks_[piece.from].product.rows(piece.given);
  }

  // --- The product ---------------------------------------------------------------------------------------------------

  void multiply(std::uint32_t from) {
    const std::uint64_t rows = exchange_.rows_of(from);
    if (rows == 0) return;
    std::vector<Piece> pieces;  // in the order of production
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      for (const RankId to : bench_.peers(from)) {
        if (const Piece piece = steps_.piece(step, from, to.value); !piece.empty()) pieces.push_back(piece);
      }
    }
    const std::size_t sent = pieces.size();
    if (const Piece own = steps_.own(from); !own.empty()) pieces.push_back(own);
    std::vector<OutputBlock> blocks;
    for (const Piece& piece : pieces) {
      blocks.push_back({piece.given.begin, 0, piece.rows(), bench_.gemm().n, made(piece)});
    }
    const Rank& rank = ranks_[from];
    Gemm gemm = bench_.ordered_gemm(rank.a.rows({0, rows}), rank.b.rows({0, bench_.gemm().k}), std::move(blocks));
    pieces.resize(sent);
    const std::vector<Group> groups = way_.grain == Grain::waves ? by_waves(gemm, pieces) : one_by_one(pieces);
    groups_ = std::max(groups_, static_cast<std::uint32_t>(groups.size()));
    std::vector<SignalId> signals;
    std::uint64_t rows_before = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const Piece& piece : groups[g]) rows_before += piece.rows();
      signals.push_back(raise_behind(gemm, pieces, rows_before, from, g, groups[g]));
    }
    bench_.multiply(from, std::move(gemm));
    for (std::size_t g = 0; g < groups.size(); ++g) send(groups[g], signals[g]);
  }

  static std::vector<Group> one_by_one(const std::vector<Piece>& pieces) {
    std::vector<Group> groups;
    for (const Piece& piece : pieces) groups.push_back({piece});
    return groups;
  }

  /// Cut where the last tile of a row is in the first wave behind a boundary.
  std::vector<Group> by_waves(const Gemm& gemm, const std::vector<Piece>& pieces) const {
    const std::uint64_t all = tile_count(gemm);
    const std::uint64_t units = machine_.compute_units;
    const std::uint64_t waves = (all + units - 1) / units;
    const std::uint64_t tiles_at_once = (waves + way_.chunks - 1) / way_.chunks * units;
    const std::uint64_t across = (gemm.n + gemm.tile_n - 1) / gemm.tile_n;
    std::vector<Group> groups(1);
    std::uint64_t tiles = 0;
    for (const Piece& piece : pieces) {
      std::uint64_t begin = 0;
      for (std::uint64_t row = 0; row < piece.rows(); row += gemm.tile_m) {
        const bool fits = tiles + across <= groups.size() * tiles_at_once;
        if (!fits && row > begin) groups.back().push_back(rows_of(piece, begin, row));
        if (!fits) begin = row;
        while (tiles + across > groups.size() * tiles_at_once) groups.emplace_back();
        tiles += across;
      }
      groups.back().push_back(rows_of(piece, begin, piece.rows()));
    }
    std::erase_if(groups, [](const Group& group) { return group.empty(); });
    return groups;
  }

  static Piece rows_of(Piece piece, std::uint64_t begin, std::uint64_t end) {
    piece.given = {piece.given.begin + begin, end - begin};
    piece.placed = {piece.placed.begin + begin, end - begin};
    return piece;
  }

  /// A signal behind so many rows of the pieces.
  SignalId raise_behind(Gemm& gemm, const std::vector<Piece>& pieces, std::uint64_t rows, std::uint32_t from,
                        std::size_t group, const Group& released) {
    std::uint64_t tiles = 0;
    const std::uint64_t across = (gemm.n + gemm.tile_n - 1) / gemm.tile_n;
    for (const Piece& piece : pieces) {
      const std::uint64_t here = std::min(rows, piece.rows());
      tiles += (here + gemm.tile_m - 1) / gemm.tile_m * across;
      rows -= here;
    }
    const RankId home = stores_ && released.size() == 1 ? RankId{released.front().to} : RankId{from};
    const SignalId signal = bench_.schedule().signal(fmt::format("made{}.{}", from, group), home);
    gemm.raises.push_back({tiles, signal, 1});
    return signal;
  }

  void send(const Group& group, SignalId made_signal) {
    for (const Piece& piece : group) {
      SignalId arrived = made_signal;
      if (!stores_) {
        Lane& lane = lane_to(piece);
        lane.wait(made_signal);
        lane.copy(made(piece), landing(piece));
        arrived = lane.raise(RankId{piece.to});
      }
      arrived_[{piece.from, piece.to}].push_back(arrived);
    }
  }

  Lane& lane_to(const Piece& piece) {
    for (Batch& batch : carrier_.batches(0, piece.from)) {
      if (batch.to.front().value == piece.to) return batch.lane;
    }
    CORTADO_CHECK(false, "every peer has a lane");
  }

  // --- What comes ----------------------------------------------------------------------------------------------------

  void complete(std::uint32_t to) {
    if (exchange_.reduces() && way_.grain == Grain::tiles) {
      for (std::uint32_t step = 0; step < steps_.count(); ++step) add_up(to, steps_.piece(step, to, to), step);
      return;
    }
    for (std::uint32_t distance = 1; distance < bench_.ranks(); ++distance) {
      const std::uint32_t from = (to + bench_.ranks() - distance) % bench_.ranks();
      for (const SignalId arrived : arrivals(from, to)) bench_.kernels(to).wait(arrived);
    }
    if (exchange_.reduces()) reduce(to, steps_.own(to).placed);
  }

  /// What others made of the rows of a step.
  void add_up(std::uint32_t to, const Piece& own, std::uint32_t step) {
    if (own.empty()) return;
    for (std::uint32_t distance = 1; distance < bench_.ranks(); ++distance) {
      const std::uint32_t from = (to + bench_.ranks() - distance) % bench_.ranks();
      const std::vector<SignalId>& all = arrivals(from, to);
      if (step < all.size()) bench_.kernels(to).wait(all[step]);
    }
    reduce(to, own.placed);
  }

  void reduce(std::uint32_t to, const Span& placed) {
    if (placed.empty()) return;
    const Region place = ranks_[to].c.rows(placed);
    std::vector<Region> terms{place};
    for (std::uint32_t from = 0; from < bench_.ranks(); ++from) {
      if (from != to) terms.push_back(landing({from, to, placed, placed, {}}));
    }
    bench_.kernels(to).reduce(std::move(terms), place, bench_.gemm().dtype);
  }

  /// Of the pieces, in their order. Of a rank that stands for all, those that it sends as far.
  const std::vector<SignalId>& arrivals(std::uint32_t from, std::uint32_t to) {
    const Hop hop = bench_.made_hop({from, to});
    return arrived_[{hop.from, hop.to}];
  }

  Contract contract() const {
    return product_first_contract(request_, exchange_, [&](std::uint32_t rank) {
      return RankMatrices{ranks_[rank].a, ranks_[rank].b, ranks_[rank].c};
    });
  }

  const DependentRequest& request_;
  const FiccoSchedule& way_;
  const Machine& machine_;
  Bench bench_;
  const Exchange exchange_;
  const Steps steps_;
  const bool stores_;
  Carrier carrier_;
  std::uint32_t groups_ = 0;  // of the rank that has most
  std::vector<Rank> ranks_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<SignalId>> arrived_;  // by sender and receiver
};

}  // namespace

Result<FiccoPlan> plan_product_first_by_tiles(const DependentRequest& request, const FiccoSchedule& schedule,
                                              const Machine& machine, std::optional<std::uint32_t> only) {
  TilesThatRelease program(request, schedule, machine, only);
  program.add_commands();
  return program.finish(request.collective, name_of(schedule));
}

}  // namespace cortado::plan
