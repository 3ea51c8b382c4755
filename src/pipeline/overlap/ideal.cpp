#include "pipeline/overlap/ideal.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "gemm/bound.hpp"
#include "pipeline/choose.hpp"
#include "plan/choose.hpp"
#include "plan/t3.hpp"

namespace cortado::pipeline {
namespace {

/// Into how many pieces a shard, or the whole GEMM, is cut at most.
constexpr std::uint64_t kMostParts = 32;

class Ideal {
 public:
  Ideal(const OverlapProblem& problem, const Machine& machine, const StrategyCosts& costs, const TimesAlone& alone)
      : problem_(problem), machine_(machine), costs_(costs), cost_(costs.model), alone_(alone) {
    if (independent() || machine.timing->engine.uncached_rate.value == 0) return;
    cached_ = machine;
    cached_->timing->engine.uncached_rate = {};
    cached_cost_ = simulated_cost(*cached_);
  }

  /// Of an all-reduce a strategy overlaps the reduce-scatter, or nothing.
  Nanoseconds time() const {
    const Nanoseconds gemm = fastest_gemm();
    const OverlapProblem part = overlapping_part(problem_);
    const bool behind = problem_.relation == Relation::collective_needs_gemm;
    const Nanoseconds collective = behind && alone_.overlappable > gemm
                                       ? on_links(part.collectives)
                                       : fastest(part.collectives, alone_.overlappable, gemm);
    const Nanoseconds overlapped = std::max(gemm, collective);
    if (part.collective().collective == problem_.collective().collective) return overlapped;
    CollectiveRequest gather = part.collective();
    gather.collective = "all-gather";
    return std::min(overlapped + fastest({gather}, alone_.behind, {}),
                    gemm + fastest(problem_.collectives, alone_.library, {}));
  }

 private:
  bool independent() const { return problem_.relation == Relation::independent; }

  Nanoseconds fastest_gemm() const {
    if (independent()) return gemm_beside_others();
    const Nanoseconds whole = problem_.relation == Relation::collective_needs_gemm ? tracked_gemm() : alone_.gemm;
    return std::min(whole, gemm_in_pieces());
  }

  /// Pieces may fill their last waves better, or find more of their operands in the caches: the least time per row or
  /// step of k of all pieces that schedules cut. They run one after another.
  Nanoseconds gemm_in_pieces() const {
    if (!problem_.tokens.empty() || (machine_.timing->compute->stages && !exchanges_pieces())) return alone_.gemm;
    const GemmShape& whole = problem_.gemm();
    const std::uint64_t ranks = problem_.ranks;
    const double start = static_cast<double>(gemm_start(machine_).value) * 1e-9;
    double least = std::numeric_limits<double>::infinity();
    const auto add = [&](const GemmShape& piece, double pieces) {
      if (piece.m == 0 || piece.k == 0) return;
      least = std::min(least, pieces * (least_seconds(piece) + start));
    };
    for (std::uint64_t parts = 1; parts <= kMostParts; parts *= 2) {
      for (const std::uint64_t rows :
           {whole.m / parts, whole.m / ranks * (ranks - 1) / parts, whole.m / ranks / parts}) {
        GemmShape piece = whole;
        piece.m = rows;
        add(piece, static_cast<double>(whole.m) / static_cast<double>(std::max<std::uint64_t>(rows, 1)));
      }
      GemmShape panel = whole;
      panel.k = whole.k / parts;
      panel.accumulate = parts > 1;
      add(panel, static_cast<double>(parts));
    }
    return machine_.timing->cores.launch + Nanoseconds{static_cast<std::int64_t>(least * 1e9)};
  }

  bool exchanges_pieces() const { return find_strategy("ficco")->strategy->applies(problem_, machine_).has_value(); }

  /// Of a piece on all units. In stages, which read as much as their tiles make them, with the kernel of tiles that
  /// wait or are waited for, too.
  double least_seconds(const GemmShape& piece) const {
    const std::uint32_t units = machine_.compute_units;
    const Tiling tiling = choose_tiling(piece, machine_, units);
    if (!machine_.timing->compute->stages) return estimate_gemm(piece, tiling, machine_, units).seconds;
    const Tiling of_tiles = choose_tiling(piece, machine_, units, {.whole_tiles = true});
    return std::min(least_seconds_in_stages(piece, tiling, machine_, StageStarts::together),
                    least_seconds_in_stages(piece, of_tiles, machine_, StageStarts::in_turns));
  }

  /// Of T3 too, whose stores go past the cache and leave it to the operands: each of its programs with all chunks kept
  /// at home, so that nothing but the GEMM is left.
  Nanoseconds tracked_gemm() const {
    Nanoseconds least = alone_.gemm;
    if (!machine_.features.tracker || !problem_.tokens.empty()) return least;
    T3Request request;
    request.gemm = problem_.gemm();
    request.collective = overlapping_part(problem_).collective().collective;
    request.ranks = problem_.ranks;
    for (const T3Preset& preset : list_t3_presets()) {
      if (preset.collective != request.collective) continue;
      request.algorithm = preset.algorithm;
      for (const T3Axis axis : {T3Axis::rows, T3Axis::columns}) {
        request.axis = axis;
        const auto sent = plan_t3(request, machine_);
        if (!sent) continue;
        const auto kept = plan_t3(request, kept_at_home(preset, sent->tiling.split_k), machine_);
        if (!kept) continue;
        for (const auto policy : policies()) {
          if (const auto time = costs_.simulate(kept->program, policy)) least = std::min(least, *time);
        }
      }
    }
    return least;
  }

  std::vector<T3Map> kept_at_home(const T3Preset& preset, std::uint64_t split_k) const {
    std::vector<T3Map> maps;
    for (const T3Map& sent : preset.maps(problem_.ranks, split_k)) {
      T3Map& kept = maps.emplace_back(sent.chunks());
      if (sent.are_in_turns()) kept.in_turns();
      for (const T3Entry& entry : sent.entries()) {
        if (entry.produced) kept.keep(entry.chunk, split_k, entry.slot);
      }
    }
    return maps;
  }

  std::vector<std::optional<ArbitrationPolicy>> policies() const {
    if (!machine_.timing->memory.arbitration) return {std::nullopt};
    return {ArbitrationPolicy::round_robin, ArbitrationPolicy::mca};
  }

  /// Beside collectives that take compute units for a while, or on those that a partition leaves: fewer units share
  /// memory, caches and power, and some GEMMs are faster on them.
  Nanoseconds gemm_beside_others() const {
    const bool staged = machine_.timing->compute->stages.has_value();
    Nanoseconds time = staged ? machine_.timing->cores.launch : alone_.gemm;
    for (const GemmShape& gemm : problem_.gemms) {
      const std::uint32_t all = machine_.compute_units;
      const Tiling of_library = choose_tiling(gemm, machine_, all);
      std::vector<Tiling> kernels{of_library};
      double least = least_seconds_beside(gemm, of_library, machine_, all - all / 2);
      for (const std::uint32_t units : partitions()) {
        const Tiling chosen = choose_tiling(gemm, machine_, units);
        if (std::ranges::find(kernels, chosen) != kernels.end()) continue;
        kernels.push_back(chosen);
        least = std::min(least, least_seconds_beside(gemm, chosen, machine_, all - all / 2));
      }
      const double alone = staged ? 0 : estimate_gemm(gemm, of_library, machine_, all).seconds;
      if (staged) time = time + gemm_start(machine_);
      time = time - Nanoseconds{static_cast<std::int64_t>((alone - least) * 1e9)};
    }
    return std::min(alone_.gemm, time);
  }

  /// Units that strategies leave to GEMMs whose kernels they choose for them: one of each die less, or 1, 2, 4, ...
  std::vector<std::uint32_t> partitions() const {
    const std::uint32_t all = machine_.compute_units;
    std::vector<std::uint32_t> counts;
    for (std::uint32_t taken = machine_.timing->compute->dies; taken <= all / 2; taken *= 2) {
      counts.push_back(all - taken);
    }
    return counts;
  }

  /// One after another: by the library in the given time, on DMA engines or by other kernels, whichever is fastest. The
  /// library's time if that is no longer than `enough`.
  Nanoseconds fastest(const std::vector<CollectiveRequest>& requests, Nanoseconds library, Nanoseconds enough) const {
    if (library <= enough) return library;
    if (!problem_.tokens.empty()) return fastest_exchange(library);
    Nanoseconds sum{};
    for (const CollectiveRequest& request : requests) {
      const auto one = fastest_way(request);
      if (!one) return library;
      sum = sum + *one;
    }
    return std::min(library, sum);
  }

  std::optional<Nanoseconds> fastest_way(const CollectiveRequest& request) const {
    const std::optional<Nanoseconds> engines = fastest_on_engines(request);
    if (problem_.relation == Relation::collective_needs_gemm) return engines;
    ChoiceRequest kernels = left_open(request);
    kernels.base.compute_units = machine_.compute_units;
    kernels.among = {kCoresVariants};
    std::optional<Nanoseconds> least = least_of(kernels, engines, cost_);
    const bool sums = request.collective == "all-reduce" || request.collective == "reduce-scatter";
    if (independent() && sums) {  // they keep up with links on few units, too, and leave more of the caches to others
      for (const std::uint32_t left : partitions()) {
        kernels.base.compute_units = machine_.compute_units - left;
        least = least_of(kernels, least, cost_);
      }
    }
    const std::optional<Nanoseconds> copies = independent() ? std::nullopt : copying_kernels();
    return least && copies ? std::min(*least, *copies) : least;
  }

  /// Of uneven rows, which no other collective moves.
  Nanoseconds fastest_exchange(Nanoseconds library) const {
    for (const CollectiveMeans means : {CollectiveMeans::dma, CollectiveMeans::cores}) {
      if (const auto time = before_gemm(means, alone_.gemm)) library = std::min(library, *time);
    }
    return library;
  }

  std::optional<Nanoseconds> copying_kernels() const {
    const auto gemm = cost_.gemm(problem_.gemm(), machine_.compute_units);
    return gemm ? before_gemm(CollectiveMeans::cores, *gemm) : std::nullopt;
  }

  /// Kernels that copy in the stream of the GEMM need no agreement between ranks, and no launch of their own: what they
  /// take with the GEMM behind them, less what the GEMM takes there.
  std::optional<Nanoseconds> before_gemm(CollectiveMeans means, Nanoseconds gemm) const {
    const FiccoSchedule whole{.grain = Grain::whole, .means = means, .exchange = ExchangeVariant::pcpy};
    const auto both = cost_.exact(dependent_request(problem_), whole);
    if (!both) return std::nullopt;
    return *both - (gemm - machine_.timing->cores.launch);
  }

  /// Schedules bring pieces into staging that they use again and again, and that caches hold.
  std::optional<Nanoseconds> fastest_on_engines(const CollectiveRequest& request) const {
    ChoiceRequest engines = left_open(request);
    engines.base.prelaunch = independent();  // nothing that depends on a GEMM is submitted ahead
    engines.among = {kDmaVariants};
    return least_of(engines, {}, cached_cost_ ? *cached_cost_ : cost_);
  }

  /// Strategies for dependent problems decide where a collective works.
  ChoiceRequest left_open(const CollectiveRequest& request) const {
    ChoiceRequest choice{.base = request};
    if (independent()) choice.in_place = request.in_place;
    // The GEMM writes or reads its own block of an all-to-all in place.
    if (!independent() && request.collective == "all-to-all") choice.base.own_block = false;
    return choice;
  }

  /// The shortest of the candidates' times and `least`.
  std::optional<Nanoseconds> least_of(ChoiceRequest choice, std::optional<Nanoseconds> least,
                                      const CostModel& cost) const {
    choice.base.host = HostThreads::per_rank;
    choice.base.ranks = problem_.ranks;
    const auto candidates = list_candidates(choice);
    if (!candidates) return least;
    for (const CollectiveRequest& candidate : *candidates) {
      const auto time = cost.collective(candidate);
      if (time && (!least || *time < *least)) least = *time;
    }
    return least;
  }

  /// The GEMM can hide launches, and sums of what has arrived: only the links bound the rest. Every GPU sends
  /// everything but its own share; of uneven rows, the one that sends or receives most counts.
  Nanoseconds on_links(const std::vector<CollectiveRequest>& requests) const {
    double bytes = 0;
    for (const CollectiveRequest& request : requests) bytes += static_cast<double>(request.bytes.value);
    bytes *= problem_.tokens.empty() ? static_cast<double>(problem_.ranks - 1) / problem_.ranks
                                     : static_cast<double>(most_rows()) / static_cast<double>(problem_.gemm().m);
    const LinkTiming& link = machine_.timing->link;
    std::uint32_t fewest = 1;  // links of a GPU
    if (link.shape == LinkShape::mesh) {
      fewest = std::numeric_limits<std::uint32_t>::max();
      for (std::uint32_t from = 0; from < problem_.ranks; ++from) fewest = std::min(fewest, links_of(from));
    }
    const double rate = link.rate.bytes_per_second() * fewest;
    return Nanoseconds{static_cast<std::int64_t>(bytes / rate * 1e9)};
  }

  /// That a GPU sends to all others, or receives from them.
  std::uint64_t most_rows() const {
    std::uint64_t most = 0;
    for (std::uint32_t rank = 0; rank < problem_.ranks; ++rank) {
      std::uint64_t sent = 0;
      std::uint64_t received = 0;
      for (std::uint32_t peer = 0; peer < problem_.ranks; ++peer) {
        if (peer == rank) continue;
        sent += problem_.tokens[rank][peer];
        received += problem_.tokens[peer][rank];
      }
      most = std::max({most, sent, received});
    }
    return most;
  }

  std::uint32_t links_of(std::uint32_t from) const {
    std::uint32_t links = 0;
    for (std::uint32_t to = 0; to < problem_.ranks; ++to) links += machine_.link_count(RankId{from}, RankId{to});
    return links;
  }

  const OverlapProblem& problem_;
  const Machine& machine_;
  const StrategyCosts& costs_;
  const CostModel& cost_;
  const TimesAlone& alone_;
  std::optional<Machine> cached_;  // whose engines find everything in the last-level cache
  std::unique_ptr<CostModel> cached_cost_;
};

}  // namespace

Nanoseconds predicted_ideal(const OverlapProblem& problem, const Machine& machine, const StrategyCosts& costs,
                            const TimesAlone& alone) {
  return Ideal(problem, machine, costs, alone).time();
}

}  // namespace cortado::pipeline
