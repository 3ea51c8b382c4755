// The GEMM first, by tiles: one GEMM, which releases rows as its tiles are written.
//
//   kernels of a rank   the GEMM: rows for other ranks first, chunk by chunk, nearest receiver first; own rows last.
//                       After each group of tiles "made" is raised. Reduce-scatter: then add up what has arrived
//   engines of a rank   for every group: wait for "made", bring the rows, raise "arrived"
//
// Tiles: a group has the rows of one chunk for one receiver. Waves: a group has what a number of whole waves of tiles
// have written. For this, tiles are reordered as in FlashOverlap: rows of tiles go to the receivers in turn, so that a
// group has rows for all of them, and those for one receiver are adjacent: one copy each, and all links are busy.
// Copies on compute units are a kernel that is launched before the GEMM and holds its units until it ends. With stores
// to peers nothing is copied: tiles go directly to where they are needed, and the GEMM raises "arrived".
//
// At the end the kernels of a rank wait for everything that it receives, so its queues end only then, and the barrier
// before an iteration is enough for replay (ficco/product_first.cpp).
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
                   std::optional<OnlyRank> only)
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

  Result<FiccoPlan> finish() {
    return bench_.finish(groups_, [&] { return contract(); });
  }

 private:
  struct Rank {
    Matrix a;
    Matrix b;
    Matrix c;
    Matrix made;      // every row where its row of A is, except own rows and those stored at peers
    Matrix received;  // to add up, sender by sender
  };
  /// Rows that are released together.
  using Group = std::vector<Piece>;

  /// With waves, the rows for a receiver are cut where waves end.
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
      if (!stores_) rank.made = bench_.matrix("made", r, rows, gemm.n, BufferRole::scratch);
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

  /// Where the GEMM writes a piece.
  Region made(const Piece& piece) const {
    return stores_ || piece.from == piece.to ? landing(piece) : ranks_[piece.from].made.rows(piece.given);
  }

  // --- The GEMM ------------------------------------------------------------------------------------------------------

  void multiply(std::uint32_t from) {
    const std::uint64_t rows = exchange_.rows_of(from);
    if (rows == 0) return;
    std::vector<Group> groups;  // in production order
    for (std::uint32_t step = 0; step < steps_.count(); ++step) {
      for (const RankId to : bench_.peers(from)) {
        if (const Piece piece = steps_.piece(step, from, to.value); !piece.empty()) groups.push_back({piece});
      }
    }
    const Rank& rank = ranks_[from];
    Gemm gemm = bench_.ordered_gemm(rank.a.rows({0, rows}), rank.b.rows({0, bench_.gemm().k}), blocks(groups, from));
    if (way_.grain == Grain::waves) {
      groups = by_waves(gemm, groups);
      gemm.outputs = blocks(groups, from);
    }
    groups_ = std::max(groups_, static_cast<std::uint32_t>(groups.size()));
    std::vector<SignalId> signals;
    std::uint64_t tiles = 0;
    std::size_t block = 0;
    for (const Group& group : groups) {
      for (std::size_t i = 0; i < group.size(); ++i) tiles += tile_count(gemm, gemm.outputs[block++]);
      const RankId home = stores_ && group.size() == 1 ? RankId{group.front().to} : RankId{from};
      signals.push_back(bench_.schedule().signal(fmt::format("made{}.{}", from, signals.size()), home));
      gemm.raises.push_back({tiles, signals.back(), 1});
    }
    // Engines can wait for their launch; a kernel that copies gets no units before the end if the GEMM holds them all.
    const bool copies_first = way_.means == CollectiveMeans::cores;
    if (!copies_first) bench_.multiply(from, gemm);
    for (std::size_t g = 0; g < groups.size(); ++g) send(groups[g], signals[g]);
    if (copies_first) bench_.multiply(from, std::move(gemm));
  }

  /// The rows of the groups, then the own rows.
  std::vector<OutputBlock> blocks(const std::vector<Group>& groups, std::uint32_t from) const {
    std::vector<OutputBlock> all;
    const auto add = [&](const Piece& piece) {
      all.push_back({piece.given.begin, 0, piece.rows(), bench_.gemm().n, made(piece)});
    };
    for (const Group& group : groups) std::ranges::for_each(group, add);
    if (const Piece own = steps_.own(from); !own.empty()) add(own);
    return all;
  }

  /// Rows of tiles for the receivers in turn; a group ends where one more row of tiles would exceed its waves.
  std::vector<Group> by_waves(const Gemm& gemm, const std::vector<Group>& of_receivers) const {
    const std::uint64_t all = tile_count(gemm);
    const std::uint64_t units = machine_.compute_units;
    const std::uint64_t waves = (all + units - 1) / units;
    const std::uint64_t tiles_at_once = (waves + way_.chunks - 1) / way_.chunks * units;
    std::uint64_t most_rows = 0;
    for (const Group& one : of_receivers) most_rows = std::max(most_rows, one.front().rows());
    std::vector<Group> groups(1);
    std::uint64_t tiles = 0;
    for (std::uint64_t row = 0; row < most_rows; row += gemm.tile_m) {
      for (const Group& one : of_receivers) {
        const Piece& piece = one.front();
        if (row >= piece.rows()) continue;
        tiles += (gemm.n + gemm.tile_n - 1) / gemm.tile_n;
        while (tiles > groups.size() * tiles_at_once) groups.emplace_back();
        add_rows(groups.back(), piece, row, std::min(gemm.tile_m, piece.rows() - row));
      }
    }
    std::erase_if(groups, [](const Group& group) { return group.empty(); });
    return groups;
  }

  /// Adds rows of a piece after those that the group already has of it.
  static void add_rows(Group& group, Piece piece, std::uint64_t row, std::uint64_t count) {
    const auto known = std::ranges::find(group, piece.to, &Piece::to);
    if (known != group.end()) {
      known->given.count += count;
      known->placed.count += count;
      return;
    }
    piece.given = {piece.given.begin + row, count};
    piece.placed = {piece.placed.begin + row, count};
    group.push_back(piece);
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
    for (const std::uint32_t from : bench_.senders_to(to)) {
      for (const SignalId arrived : arrivals(from, to)) bench_.kernels(to).wait(arrived);
    }
    if (exchange_.reduces()) reduce(to, steps_.own(to).placed);
  }

  /// Adds what others computed for the rows of a step.
  void add_up(std::uint32_t to, const Piece& own, std::uint32_t step) {
    if (own.empty()) return;
    for (const std::uint32_t from : bench_.senders_to(to)) {
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

  /// Arrival signals of the pieces, in order. For a rank that stands for all, of those that it sends to the same
  /// distance.
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

Result<FiccoPlan> plan_gemm_first_by_tiles(const DependentRequest& request, const FiccoSchedule& schedule,
                                           const Machine& machine, std::optional<OnlyRank> only) {
  return composed<TilesThatRelease>(request, schedule, machine, only);
}

}  // namespace cortado::plan
