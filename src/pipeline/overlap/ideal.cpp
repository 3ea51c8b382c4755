#include "pipeline/overlap/ideal.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "plan/choose.hpp"
#include "plan/overlap.hpp"

namespace cortado::pipeline {
namespace {

class Ideal {
 public:
  Ideal(const OverlapProblem& problem, const Machine& machine, const CostModel& cost, const TimesAlone& alone)
      : problem_(problem), machine_(machine), cost_(cost), alone_(alone) {}

  /// Of an all-reduce a strategy overlaps the reduce-scatter, or nothing.
  Nanoseconds time() const {
    const Nanoseconds gemm = fastest_gemm();
    const OverlapProblem part = overlapping_part(problem_);
    const Nanoseconds overlapped = std::max(gemm, fastest(part.collectives, alone_.overlappable, gemm));
    if (part.collective().collective == problem_.collective().collective) return overlapped;
    CollectiveRequest gather = part.collective();
    gather.collective = "all-gather";
    return std::min(overlapped + fastest({gather}, alone_.behind, {}),
                    gemm + fastest(problem_.collectives, alone_.library, {}));
  }

 private:
  bool independent() const { return problem_.relation == Relation::independent; }

  /// On all compute units, or, for GEMMs that the memory bounds, on all but one of each die.
  Nanoseconds fastest_gemm() const {
    const std::uint32_t dies = machine_.timing->compute->dies;
    if (!independent() || machine_.compute_units <= dies) return alone_.gemm;
    Nanoseconds saved{};
    for (const GemmShape& gemm : problem_.gemms) {
      const auto all = cost_.gemm(gemm, machine_.compute_units);
      const auto fewer = cost_.gemm(gemm, machine_.compute_units - dies);
      if (all && fewer) saved = saved + std::max(*all - *fewer, Nanoseconds{});
    }
    return alone_.gemm - saved;
  }

  /// One after another, by the library in the given time or on DMA engines; the library's where it takes no longer than
  /// `enough`.
  Nanoseconds fastest(const std::vector<CollectiveRequest>& requests, Nanoseconds library, Nanoseconds enough) const {
    if (library <= enough || !problem_.tokens.empty()) return library;
    Nanoseconds sum{};
    for (const CollectiveRequest& request : requests) {
      const auto one = fastest_on_engines(request);
      if (!one) return library;
      sum = sum + *one;
    }
    return std::min(library, sum);
  }

  std::optional<Nanoseconds> fastest_on_engines(CollectiveRequest request) const {
    request.host = HostThreads::per_rank;
    request.ranks = problem_.ranks;
    request.prelaunch = independent();  // nothing that depends on a GEMM is submitted ahead
    // Whoever writes or reads an all-to-all's rows with a GEMM has its own block in place.
    if (!independent() && request.collective == "all-to-all") request.own_block = false;
    ChoiceRequest choice{.base = request, .among = {kDmaVariants}};
    if (independent()) choice.in_place = request.in_place;
    const auto candidates = list_candidates(choice);
    if (!candidates) return {};
    std::optional<Nanoseconds> least;
    for (const CollectiveRequest& candidate : *candidates) {
      const auto time = cost_.collective(candidate);
      if (time && (!least || *time < *least)) least = *time;
    }
    return least;
  }

  const OverlapProblem& problem_;
  const Machine& machine_;
  const CostModel& cost_;
  const TimesAlone& alone_;
};

}  // namespace

Nanoseconds predicted_ideal(const OverlapProblem& problem, const Machine& machine, const CostModel& cost,
                            const TimesAlone& alone) {
  return Ideal(problem, machine, cost, alone).time();
}

}  // namespace cortado::pipeline
