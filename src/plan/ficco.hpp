// Finer-grain overlap of a matrix product with the collective that it depends on (FiCCO).
//
// The GEMM needs what the collective brings, so both are cut into steps: while step t is multiplied, step t+1
// travels. Cutting one level below the shard makes every step an exchange between all ranks, which keeps all links
// busy. The ways to cut are data (FiccoSchedule); two composers, one a direction, make the programs of all of them.
//
//   shape     1d: a chunk is a block of rows. 2d: a chunk is a panel of columns of what travels: of A, and steps add
//             up, C += A_t * B_t; or of C
//   uniform   every step multiplies its rows of all ranks, the own ones included; else (hetero) the own rows are a
//             GEMM of their own, made while the first step travels, and steps have the rows of other ranks only
//   fused     the pieces of a step stand one below another in staging memory and are one GEMM, whose rows a kernel
//             scatters if they do not stand together in C; else (unfused) every piece lands where it stands in A and is
//             a GEMM of its own
//
// Tiles (Grain::tiles, Grain::waves) cut finer still and leave the GEMM whole: one kernel whose tiles wait for the
// pieces that they multiply, or release pieces as they are written. Whether another system calls it fused, tile-centric
// or persistent, it is this: Flux, Triton-distributed and TileLink, kraken, FlashOverlap (waves).
//
// Engines put every piece right at its place in the staging of its step; what a rank has itself is copied there by a
// kernel. There are two stagings, used in turn: the engines hold step t back until the GEMMs of step t-2 have been
// made.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

#include "gemm/gemm.hpp"

namespace cortado {

/// Who waits for whom.
enum class Dependence {
  collective_first,  ///< the GEMM multiplies what the collective brings
  product_first,     ///< the collective takes away what the GEMM makes
};

/// A GEMM of every rank, and the collective that it depends on or that depends on it.
///
///   all-gather -> GEMM   A, m x k, is divided by rows among the ranks, as evenly as can be. Every rank gathers
///                           all of it and multiplies it with its own B, k x n: C is m x n on every rank.
///   all-to-all -> GEMM   Every rank has rows of A for every rank (tokens for experts). Rank r multiplies the rows
///                           that it receives with its own B, k x n, in the order of the senders.
///
///   GEMM -> reduce-scatter   Every rank multiplies its own A, m x k, with its own B, k x n. The sum of all GEMMs
///                           is divided by rows among the ranks, as evenly as can be.
///   GEMM -> all-to-all   Every rank multiplies its rows of A, which are for all ranks, with its own B. Rank r gets
///                           the rows of all GEMMs that are for it, in the order of the senders.
///
/// `gemm.n` and `gemm.k` are what ONE rank computes: who divides columns of a weight matrix (before a GEMM that
/// follows an all-gather) or k (before a reduce-scatter) among ranks divides them before.
struct DependentRequest {
  GemmShape gemm{};                      ///< m: rows of all ranks together; before a reduce-scatter: of each
  Collective collective = "all-gather";  ///< as above
  Dependence dependence = Dependence::collective_first;
  std::uint32_t ranks = 0;  ///< 0 = all GPUs of the machine
  /// all-to-all: rows [from][to], m in all. Empty: m divided as evenly as can be, first among senders, then receivers.
  TokenTable tokens{};
  RuntimeMode runtime = RuntimeMode::raw;  ///< of DMA engines
};

enum class CommShape {
  rows_1d,    ///< blocks of whole rows
  panels_2d,  ///< panels of columns: strided copies
};

/// How far the work is cut.
enum class Grain {
  whole,   ///< serial: the collective, then one GEMM
  shards,  ///< shard-p2p: step t brings the whole shard of the peer t ranks away; the own one is multiplied first
  chunks,  ///< FiCCO
  tiles,   ///< one GEMM; tiles wait for chunks of every shard, or release them
  waves,   ///< one GEMM, which comes first; it releases what some whole waves of tiles have written
};

/// The GEMM is one kernel.
constexpr bool has_tiles(Grain grain) {
  return grain == Grain::tiles || grain == Grain::waves;
}

/// Steps of a schedule that does not say how many: as many as ranks, as published, up to eight; beyond, about 64 pieces
/// a GPU: shards of many ranks are small already, and each piece of a GEMM must fill a GPU.
constexpr std::uint32_t default_chunks(std::uint32_t ranks) {
  constexpr std::uint32_t kMost = 8;
  if (ranks <= kMost) return ranks;
  return ranks * 2 < kMost * kMost ? kMost * kMost / ranks : 2;
}

struct FiccoSchedule {
  Grain grain = Grain::chunks;
  CommShape shape = CommShape::rows_1d;  ///< this and the next three: of chunks only
  bool uniform = false;
  bool fused = true;
  std::uint32_t chunks = 0;  ///< steps; 0 = default_chunks, or fewer. Of tiles: of a shard. Of waves: in all
  CollectiveMeans means = CollectiveMeans::dma;
  ExchangeVariant exchange = ExchangeVariant::automatic;  ///< of engines; to one peer a step (shards) all are the same
  std::uint32_t units = 0;  ///< means cores, tiles: compute units that copy; 0 = cores.collective_units
  friend bool operator==(const FiccoSchedule&, const FiccoSchedule&) = default;
};

/// "serial-dma", "shard-p2p", "hetero-fused-1d", ...
std::string name_of(const FiccoSchedule& schedule);

/// The name with its number of chunks and its means, as find_schedule takes it: "hetero-fused-1d/16", "tiles/2-cores",
/// "serial-dma/cores".
std::string full_name(const FiccoSchedule& schedule);

/// What stands behind a number of chunks: nothing (dma), "-cores" or "-stores".
std::string_view suffix_of(CollectiveMeans means);
/// Takes "-cores" or "-stores" off the end of a text, or the word alone; none: nothing was there.
std::optional<CollectiveMeans> take_means(std::string_view& text);

struct FiccoScheduleInfo {
  FiccoSchedule schedule;
  std::string name;
  std::string summary;
  bool published = false;  ///< one of the four that FiCCO chooses from
};

/// serial, shard-p2p, and the eight of FiCCO, published ones first.
std::vector<FiccoScheduleInfo> list_schedules();

/// Those of tiles: one for both directions, and waves.
std::vector<FiccoScheduleInfo> list_tile_schedules();

/// The bound of perfect overlap, max(collective, GEMM): a name in tables, not a schedule.
inline constexpr const char* kIdealSchedule = "ideal";

/// By name, with plain copies, default means and chunks, or with as many chunks as are given: "hetero-fused-1d/16".
/// Unknown names are refused with the nearest known one, `ideal` because no program reaches it, and chunks of what is
/// not cut into them (ficco.schedule).
Result<FiccoSchedule> find_schedule(std::string_view name);

/// "auto", "pcpy", "bcst", "b2b".
std::string name_of(ExchangeVariant exchange);

/// By name; unknown ones are refused with the nearest known one (ficco.exchange).
Result<ExchangeVariant> find_exchange(std::string_view name);

struct FiccoPlan {
  Program program;
  Bytes footprint;          ///< memory of the rank that needs most
  Bytes staging;            ///< part of it (on that rank) that is neither operand, gathered operand nor GEMM
  std::uint32_t steps = 0;  ///< exchanges
  bool is_cut = false;      ///< of a rank that stands for all: see RankProgram
};

/// The program. Per rank buffers "a<r>" (its rows, or with them all rows where others land beside them), "b<r>",
/// "c<r>", where needed "gathered<r>", "stage.even<r>", "stage.odd<r>" and "out<r>", queues towards peers and a compute
/// queue; one host queue a rank submits them all and then only waits.
///
/// Refuses one rank or more than there are (ficco.ranks), collectives other than these (ficco.collective), GEMMs
/// that the machine cannot do (check_gemm) or that add to their output (ficco.accumulate), rows per rank that do not
/// fit the request (ficco.tokens), more chunks than there are rows or panels (ficco.chunks), panels that no strided
/// copy can bring (ficco.panels), exchanges that engines cannot make (ficco.exchange), and what does not fit the memory
/// of a GPU (ficco.memory).
Result<FiccoPlan> plan_ficco(const DependentRequest& request, const FiccoSchedule& schedule, const Machine& machine);

/// Longer than anything takes.
inline constexpr Nanoseconds kEndless{std::numeric_limits<std::int64_t>::max()};

/// The program of one rank that stands for all, for a model that is faster than the simulator (sim/fast). It has the
/// kernels of the rank, and one queue for every distance to a peer. Where the collective comes first these queues carry
/// what the rank receives, else what it sends. What the rank waits for is done by its own queues: all ranks do the same
/// at the same time, as far as their rows are even. It has no contract and cannot be run.
struct RankProgram {
  RankId rank;
  Program program;
  bool closed = false;  ///< the rank waits for nobody but these queues; else for ranks that are only about alike
  bool is_cut = false;  ///< the last steps are missing
};

/// Of the ranks that can be last: the one with most rows to multiply, of several the middle one; and if rows are uneven
/// the one with most kernels, where it is another. But for tiles, engines carry pieces by plain copies, whatever the
/// schedule says.
/// Refuses what plan_ficco refuses. Of a rank whose GEMMs, each alone, take longer than `enough` only the steps up to
/// there may be planned: it takes longer than that in any case.
Result<std::vector<RankProgram>> plan_ficco_ranks(const DependentRequest& request, const FiccoSchedule& schedule,
                                                  const Machine& machine, Nanoseconds enough = kEndless);

}  // namespace cortado
