// A GEMM and a collective at the same time: the question, and the list of strategies that answer it.
//
// A strategy says whether it applies to a problem on a machine, and makes a program for it. Each family of strategies
// comes from a paper. `serial` is the baseline: the GEMM and the library's collective on compute units, run
// sequentially. study.hpp compares strategies, and plans the best.
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
// Rows from every rank to every rank: what an all-to-all moves if experts are not equally popular.
//
// As a file: one line per sender, one number per receiver (including the sender), separated by commas or blanks; empty
// lines and everything after a # are ignored:
//
//   # rows of rank 0 for ranks 0, 1 and 2
//   40, 8, 0
//   12,20,16
//    0,16,32
//
// As shares of the receivers, "3:1:1:1": every sender has the same number of rows, as far as possible, and
// divides them in this proportion.

namespace cortado {

/// [from][to]
using TokenTable = std::vector<std::vector<std::uint64_t>>;

/// The text of a file; errors contain its name and the line (ficco.tokens). Every line must have as many numbers as
/// there are lines.
Result<TokenTable> parse_tokens(std::string_view text, const std::string& file);

/// Whether the text has the form of shares, valid or not: with colons.
bool looks_like_shares(std::string_view text);

/// `rows` in total, by shares as above. Refuses anything that is not a list of shares, or shares that are all zero
/// (ficco.tokens).
Result<TokenTable> tokens_by_shares(std::string_view shares, std::uint64_t rows);

// --- The question ----------------------------------------------------------------------------------------------------

/// How a GEMM and a collective depend on each other.
enum class Relation {
  independent,            ///< neither needs the other
  gemm_needs_collective,  ///< the GEMM consumes the collective's output: all-gather, all-to-all
  collective_needs_gemm,  ///< the collective consumes the GEMM's output: reduce-scatter, all-reduce, all-to-all,
                          ///< all-gather
};

std::string_view name_of(Relation relation);  ///< "independent", "gemm-needs-collective", "collective-needs-gemm"

/// The work to overlap.
///
/// A dependent problem has one GEMM and one collective, which moves one of the GEMM's matrices:
///
///   all-gather -> GEMM      A, m x k, is divided by rows among the ranks; every rank gathers all of it
///   all-to-all -> GEMM      every rank sends rows of A to every rank and multiplies the m rows it receives
///   GEMM -> reduce-scatter  the m x n results of all ranks are added up and divided by rows among them
///   GEMM -> all-reduce      the same sum on every rank: a reduce-scatter, which can overlap, then an all-gather
///   GEMM -> all-to-all      every rank sends rows of its m x n result to every rank
///   GEMM -> all-gather      every rank gets the m x n results of all
///
/// An independent problem may have several of both, as in FSDP: the GEMMs of a layer run in sequence in one stream,
/// while the all-gather of the next layer's weights and the reduce-scatter of the previous layer's gradients run in
/// sequence in another stream.
struct OverlapProblem {
  Relation relation = Relation::independent;
  std::vector<GemmShape> gemms{};  ///< the GEMMs of ONE GPU, in sequence
  /// Independent: collective, bytes, place and own_block. Dependent: only the collective and the runtime, the rest
  /// follows.
  std::vector<CollectiveRequest> collectives{};
  std::uint32_t ranks = 0;  ///< 0 = all GPUs of the machine
  /// all-to-all of a dependent problem: rows [from][to], of which a GPU multiplies m on average, rounded up; empty: as
  /// even as possible.
  TokenTable tokens{};

  const GemmShape& gemm() const { return gemms.front(); }
  const CollectiveRequest& collective() const { return collectives.front(); }
};

/// Fills in the number of ranks and, for a dependent problem, the bytes of its collective. Refuses problems without a
/// GEMM or a collective, dependent ones with several, collectives that do not fit the relation (overlap.collective),
/// one rank or more ranks than GPUs (overlap.ranks), and GEMMs that the machine does not support (check_gemm).
Result<OverlapProblem> check_problem(const OverlapProblem& problem, const Machine& machine);

// --- Strategies ------------------------------------------------------------------------------------------------------

/// What moves the bytes.
enum class CollectiveMeans {
  dma,     ///< engines
  cores,   ///< a kernel on as many compute units as libraries use (cores.collective_units of the machine)
  stores,  ///< tiles, GEMM first: the GEMM stores directly to the memory of the peer
};

/// How engines move the pieces of a step: variants of the collective planner. Swap is not among them: it exchanges two
/// places, while here pieces go to separate places and the sender keeps its rows.
enum class ExchangeVariant {
  automatic,  ///< the fastest of those below, step by step (src/plan/ficco/exchange_cost.hpp)
  pcpy,       ///< a queue per peer, one copy and one signal per step each
  bcst,       ///< a queue per two peers, one broadcast and one signal per step each; all-gather, whole rows
  b2b,        ///< one queue, the copies of a step back to back, one signal per step
};

/// What the caller decides instead of the strategy. Knobs that a strategy does not have are ignored, except the
/// variant.
struct StrategyKnobs {
  std::string variant{};  ///< of the collective; empty: the strategy decides
  bool prelaunch = false;
  std::optional<std::uint32_t> gemm_cus{};
  std::optional<std::uint32_t> comm_cus{};  ///< of collectives on compute units
  bool reserved = false;                    ///< comm_cus is part of the name: c3-sp/32
  std::uint32_t chunks = 0;                 ///< of FiCCO's schedules; 0 = as many as ranks, fewer beyond 8 ranks
  CollectiveMeans means = CollectiveMeans::dma;
  ExchangeVariant exchange = ExchangeVariant::automatic;
  std::uint64_t pieces = 0;       ///< of a chunk of T3; 0 = automatic
  std::uint64_t split_k = 0;      ///< workgroups of T3 that share the k of a tile; 0 = that of the tiling
  std::string algorithm{"auto"};  ///< of T3: ring, direct or auto
  std::string axis{"auto"};       ///< along which T3 splits the GEMM: rows, columns or auto
};

struct PlannedOverlap {
  Program program;
  std::string name{};  ///< with the chosen knobs: "hetero-fused-1d/8", "conccl/bcst-prelaunch"
  std::string how{};   ///< the decisions, in one line
  std::uint32_t gemm_cus = 0;
  std::uint32_t comm_cus = 0;                      ///< of the collective; 0: DMA engines only
  std::uint32_t steps = 0;                         ///< consecutive exchanges; 0: not split
  Bytes footprint{};                               ///< memory of the rank that needs the most; 0: not known
  Bytes staging{};                                 ///< part of it that is neither operand nor result
  std::optional<ArbitrationPolicy> arbitration{};  ///< of the memory, under which it is simulated
};

/// Problem, machine and costs: the input of a strategy (src/plan/overlap.hpp).
struct OverlapQuestion;

struct Strategy {
  std::string name{};
  std::string family{};  ///< "serial", "C3", "ConCCL", "FiCCO", "T3", "ideal"
  std::string summary{};
  std::string wins{};   ///< when
  std::string loses{};  ///< when
  bool by_default = true;
  /// Whether it applies to the problem; plan() may still find that it is not possible.
  std::function<Status(const OverlapProblem&, const Machine&)> applies{};
  /// None: an ideal, which has no program.
  std::function<Result<PlannedOverlap>(const OverlapQuestion&)> plan{};
};

/// All strategies, in the order of tables.
const std::vector<Strategy>& strategies();

/// A strategy as requested: "conccl", "conccl/bcst-prelaunch", "c3-sp/32", "hetero-fused-1d/8",
/// "planner:./mine".
struct NamedStrategy {
  std::shared_ptr<const Strategy> strategy;
  StrategyKnobs knobs{};
};

/// Refuses unknown names, with the nearest known one, and knobs that a strategy does not have (overlap.strategy).
Result<NamedStrategy> find_strategy(std::string_view name, const StrategyKnobs& knobs = {});

}  // namespace cortado
