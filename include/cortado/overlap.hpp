// A GEMM and a collective at the same time: the question, and the one list of strategies that answer it.
//
// A strategy says whether it applies to a problem on a machine, and makes a program of it. Papers are families of
// strategies. `serial` is what all are compared with: the GEMM and the library's collective on compute units, one after
// the other. study.hpp compares strategies, and plans the best.
//
//   const OverlapProblem problem{.relation = Relation::gemm_needs_collective, .gemms = {{16384, 3584, 8192}},
//                                .collectives = {{.collective = "all-gather"}}};
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/collective.hpp"
#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

// --- Tokens ----------------------------------------------------------------------------------------------------------
//
// Rows from every rank to every rank: what an all-to-all moves where experts are not equally popular.
//
// As a file, one line a sender, one number a receiver, its own included, separated by commas or blanks; empty lines and
// what follows a # do not count:
//
//   # rows of rank 0 for ranks 0, 1 and 2
//   40, 8, 0
//   12,20,16
//    0,16,32
//
// As shares of the receivers, "3:1:1:1": every sender has the same number of rows, as far as that is possible, and
// divides them so.

namespace cortado {

/// [from][to]
using TokenTable = std::vector<std::vector<std::uint64_t>>;

/// The text of a file, whose name goes into errors with the line (ficco.tokens). As many numbers in every line as there
/// are lines.
Result<TokenTable> parse_tokens(std::string_view text, const std::string& file);

/// Whether this is how shares are written, right or wrong: with colons.
bool looks_like_shares(std::string_view text);

/// `rows` in all, by shares as above. Refuses what is no list of shares, or shares that are all zero (ficco.tokens).
Result<TokenTable> tokens_by_shares(std::string_view shares, std::uint64_t rows);

// --- The question ----------------------------------------------------------------------------------------------------

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

// --- Strategies ------------------------------------------------------------------------------------------------------

/// Who moves the bytes.
enum class CollectiveMeans {
  dma,     ///< engines
  cores,   ///< a kernel on as many compute units as libraries take (cores.collective_units of the machine)
  stores,  ///< tiles, GEMM first: it stores straight into the memory of the peer
};

/// How engines carry the pieces of a step: variants of the collective planner. Swap is none of them: it exchanges two
/// places, and here pieces go to places of their own while the sender keeps its rows.
enum class ExchangeVariant {
  automatic,  ///< the one below that takes least time, step by step (src/plan/ficco/exchange_cost.hpp)
  pcpy,       ///< a queue towards every peer, one copy and one signal a step each
  bcst,       ///< a queue for every two peers, one broadcast and one signal a step each; all-gather, whole rows
  b2b,        ///< one queue, the copies of a step back to back, one signal a step
};

/// What the caller decides instead of the strategy. Those that a strategy does not have are ignored, but for the
/// variant.
struct StrategyKnobs {
  std::string variant{};  ///< of the collective; empty: the strategy's own
  bool prelaunch = false;
  std::optional<std::uint32_t> gemm_cus{};
  std::optional<std::uint32_t> comm_cus{};  ///< of collectives on compute units
  bool reserved = false;                    ///< comm_cus stands behind the name: c3-sp/32
  std::uint32_t chunks = 0;                 ///< of FiCCO's schedules; 0 = as many as ranks; beyond 8 ranks fewer
  CollectiveMeans means = CollectiveMeans::dma;
  ExchangeVariant exchange = ExchangeVariant::automatic;
  std::uint64_t pieces = 0;       ///< of a chunk of T3; 0 = automatic
  std::uint64_t split_k = 0;      ///< workgroups of T3 that share the k of a tile; 0 = that of the tiling
  std::string algorithm{"auto"};  ///< of T3: ring, direct or auto
  std::string axis{"auto"};       ///< along which T3 cuts the GEMM: rows, columns or auto
};

struct PlannedOverlap {
  Program program;
  std::string name{};  ///< with the knobs that were decided: "hetero-fused-1d/8", "conccl/bcst-prelaunch"
  std::string how{};   ///< what was decided, in one line
  std::uint32_t gemm_cus = 0;
  std::uint32_t comm_cus = 0;                      ///< that the collective takes; 0: DMA engines alone
  std::uint32_t steps = 0;                         ///< exchanges one after another; 0: not cut
  Bytes footprint{};                               ///< memory of the rank that needs most; 0: not known
  Bytes staging{};                                 ///< part of it that is neither operand nor result
  std::optional<ArbitrationPolicy> arbitration{};  ///< of the memory, under which it is simulated
};

/// Problem, machine and costs, as a strategy is asked (src/plan/overlap.hpp).
struct OverlapQuestion;

struct Strategy {
  std::string name{};
  std::string family{};  ///< "serial", "C3", "ConCCL", "FiCCO", "T3", "ideal"
  std::string summary{};
  std::string wins{};   ///< when
  std::string loses{};  ///< when
  bool by_default = true;
  /// Whether it can be asked about the problem at all; plan() may still find that it cannot be done.
  std::function<Status(const OverlapProblem&, const Machine&)> applies{};
  /// None: an ideal, which has no program.
  std::function<Result<PlannedOverlap>(const OverlapQuestion&)> plan{};
};

/// The one list, in the order of tables.
const std::vector<Strategy>& strategies();

/// A strategy as it was asked for: "conccl", "conccl/bcst-prelaunch", "c3-sp/32", "hetero-fused-1d/8",
/// "planner:./mine".
struct NamedStrategy {
  std::shared_ptr<const Strategy> strategy;
  StrategyKnobs knobs{};
};

/// Unknown names are refused with the nearest known one, and knobs that a strategy does not have (overlap.strategy).
Result<NamedStrategy> find_strategy(std::string_view name, const StrategyKnobs& knobs = {});

}  // namespace cortado
