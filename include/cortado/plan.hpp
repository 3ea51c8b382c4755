// What can be asked for, and its plan as a Program: a collective, or a GEMM and a collective at the same time.
//
//   const auto program = plan_collective({.collective = "all-gather", .bytes = 1_MiB}, machine);
//
//   const OverlapProblem problem{.relation = Relation::gemm_needs_collective, .gemms = {{16384, 3584, 8192}},
//                                .collectives = {{.collective = "all-gather"}}};
//
// study.hpp compares the strategies for an OverlapProblem, and plans the best.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado {

// --- Collectives -----------------------------------------------------------------------------------------------------
//
// From (collective, variant, bytes, ranks) to a Program. Most variants move data with DMA engines; the cores-* ones use
// kernels on compute units, as GPU-core libraries do, and are the baseline of the others.

/// Which host threads drive the engines.
enum class HostThreads {
  single,    ///< one host thread submits everything and waits for everything, as in the DMA-Latte tool; of one computer
  per_rank,  ///< one host thread per GPU, as in frameworks; barriers of signals before and after keep ranks together
};

/// The words that prelaunched queues poll.
enum class TriggerWords {
  shared,     ///< one word for all queues of a host thread: one write starts them all
  per_queue,  ///< a separate word for every queue, written one after another, as in the DMA-Latte measurements
};

/// The software layer between the caller and the DMA engines.
enum class RuntimeMode {
  raw,      ///< none: the caller writes packets and rings doorbells itself, as in the DMA-Latte tool
  runtime,  ///< a GPU runtime: all copies of a GPU wait for a gate signal; a coordinator raises it and joins them
  library,  ///< a library's collective on copy engines: a barrier of all GPUs before the copies and one after them
  device,   ///< a kernel that writes packets and rings doorbells, with the barriers of a library
};

struct CollectiveRequest {
  Collective collective;
  std::string variant = "pcpy";  ///< "pcpy", "bcst", "b2b", ...; list_variants(collective)
  /// Size of the whole buffer, counted as in nccl-tests. all-gather: the gathered output; all-to-all: a rank's send
  /// buffer; reduce-scatter: a rank's input; all-reduce, broadcast: the buffer; gather: the root's output; scatter: the
  /// root's input.
  Bytes bytes{};
  std::uint32_t ranks = 0;  ///< 0 = all GPUs of the machine
  bool prelaunch = false;   ///< queues are submitted in advance, wait at a poll, and start on a trigger
  TriggerWords trigger_words = TriggerWords::shared;
  bool in_place = false;
  bool own_block = true;     ///< all-to-all out of place: false leaves a rank's block for itself to the caller
  DType dtype = DType::f32;  ///< element type of reductions, whose sizes must be whole elements
  RankId root{};             ///< broadcast, gather, scatter, point-to-point (source)
  RankId peer{1};            ///< point-to-point (destination)
  std::uint32_t ways = 0;    ///< b2b: most copies per engine; 0 = all on one engine
  /// Compute units of a rank for the collective; 0 = as many as the machine's library uses
  /// (cores.collective_units, twice as many for sends and receives), or all if the machine does not say.
  std::uint32_t compute_units = 0;
  RuntimeMode runtime = RuntimeMode::raw;  ///< of DMA engines; all modes but raw have one host thread per rank
  /// None: single where one computer has all ranks, otherwise per_rank (Machine::spans_hosts). cores-* always have
  /// per_rank, as in such libraries.
  std::optional<HostThreads> host{};
};

/// The variant that a collective library (RCCL, NCCL) would choose; "rccl" and "nccl" are the same.
inline constexpr std::string_view kLibraryVariant = "library";

struct VariantInfo {
  Collective collective;
  std::string variant;
  std::string summary;
  bool in_place = false;      ///< can work in place
  bool out_of_place = false;  ///< can work out of place
  /// Moves data with kernels on compute units, not with DMA engines: one host thread per rank, whatever the request
  /// says, and no prelaunch, because a kernel holds its compute units while it waits.
  bool on_cores = false;
  /// On compute units: sends and receives have separate workgroups, so it needs twice the units of a
  /// collective that only sends.
  bool both_directions = false;
  /// One of the variants that a library chooses from (kLibraryVariant).
  bool of_library = false;
};

const std::vector<VariantInfo>& list_variants();  ///< of all collectives
std::span<const VariantInfo> list_variants(Collective collective);

/// The variant that kLibraryVariant means for this collective, size and number of ranks. Fails with
/// plan.library if the machine does not describe its library.
Result<std::string> library_variant(const CollectiveRequest& request, const Machine& machine);

/// The default: all-gather works in place, as in its published counts (56/56/56, 32/32/32, 56/8/8 on 8 GPUs), and
/// everything else out of place; a variant that supports only one of them uses that one.
bool default_in_place(Collective collective, const std::string& variant);

/// "raw", "runtime", "library" or "device"; refused with usage.runtime.
Result<RuntimeMode> parse_runtime_mode(std::string_view name);

/// The program, or the reason why there is none: unknown names (with the nearest known one), sizes or alignments that
/// the variant does not support on this machine (with the nearest supported sizes), missing hardware features, too many
/// ranks.
Result<Program> plan_collective(const CollectiveRequest& request, const Machine& machine);

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

// --- Overlap: the question -------------------------------------------------------------------------------------------

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

// --- Overlap: strategies ---------------------------------------------------------------------------------------------
//
// A strategy says whether it applies to a problem on a machine, and makes a program for it. Each family of strategies
// comes from a paper. `serial` is the baseline: the GEMM and the library's collective on compute units, run
// sequentially.

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
