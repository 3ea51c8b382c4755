// What is to overlap: GEMMs and collectives, and how they depend on each other.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/gemm/gemm.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/plan/collective.hpp"
#include "cortado/plan/tokens.hpp"

namespace cortado {

/// How a GEMM and a collective depend on each other.
enum class Relation {
  independent,            ///< neither needs the other
  gemm_needs_collective,  ///< the GEMM multiplies what the collective delivers: all-gather, all-to-all
  collective_needs_gemm,  ///< the collective moves what the GEMM computes: reduce-scatter, all-reduce, all-to-all,
                          ///< all-gather
};

std::string_view name_of(Relation relation);  ///< "independent", "gemm-needs-collective", "collective-needs-gemm"

/// What is to be done at the same time.
///
/// A dependent problem has one GEMM and one collective, and moves a matrix of it:
///
///   all-gather -> GEMM      A, m x k, is divided by rows among the ranks; every rank gathers all of it
///   all-to-all -> GEMM      every rank sends rows of A to every rank and multiplies the m rows it receives
///   GEMM -> reduce-scatter  the m x n results of all ranks are added up and divided by rows among them
///   GEMM -> all-reduce      the same sum on every rank: a reduce-scatter, which can overlap, then an all-gather
///   GEMM -> all-to-all      every rank sends rows of its m x n result to every rank
///   GEMM -> all-gather      every rank gets the m x n results of all
///
/// An independent problem may have several of both: the GEMMs of a layer, one after another in one stream, beside the
/// gather of the next layer's weights and the reduce-scatter of the last one's gradients, one after another in another
/// stream. That is what FSDP does.
struct OverlapProblem {
  Relation relation = Relation::independent;
  std::vector<GemmShape> gemms{};  ///< what ONE GPU multiplies, one after another
  /// Independent: collective, bytes, place and own_block. Dependent: only the collective and the runtime, the rest
  /// follows.
  std::vector<CollectiveRequest> collectives{};
  std::uint32_t ranks = 0;  ///< 0 = all GPUs of the machine
  /// all-to-all of a dependent problem: rows [from][to], of which a GPU multiplies m on average, rounded up; empty: as
  /// even as can be.
  TokenTable tokens{};

  const GemmShape& gemm() const { return gemms.front(); }
  const CollectiveRequest& collective() const { return collectives.front(); }
};

/// With the number of ranks, and of a dependent problem the bytes of its collective. Refuses problems without a GEMM or
/// a collective, dependent ones with several, collectives that the relation cannot have (overlap.collective), one rank
/// or more than there are (overlap.ranks), and GEMMs that the machine cannot do (check_gemm).
Result<OverlapProblem> check_problem(const OverlapProblem& problem, const Machine& machine);

}  // namespace cortado
