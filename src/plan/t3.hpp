// T3: a GEMM and the collective behind it as one, by memory that counts.
//
// The stores of a GEMM are sent where the collective needs them, and memory tracks them (cortado/program.hpp, rule
// 7). The kernel stays what it is; who writes it says where its output goes (an output map) and in which order it is
// made. When all updates of a piece are in, a DMA command that has been waiting for it passes the piece on; memory adds
// what meets in one place. No compute unit takes part in the collective, and no host between its steps.
//
// A map is of one rank. Its GEMM is cut into chunks, blocks of rows or of columns as even as can be, listed in the
// order of production:
//
//   remote_map   the stores of a chunk go straight to another rank
//   dma_map      the chunk is stored here; DMA commands pass its pieces on as soon as each has had all its updates,
//                those that come from other ranks included
//   keep         the chunk is stored here and final when it has had all its updates
//   relay        a chunk that others make and that arrives here; DMA commands pass its pieces on
//   receive      a chunk that others make; it is final here when it has had all its updates
//
// The ring reduce-scatter of 4 ranks, each of which sends to the next one, is on rank 0:
//
//   T3Map(4).remote_map(3, RankId{1}, CopyOp::add)
//           .dma_map(2, {RankId{1}, CopyOp::add}, 2)
//           .dma_map(1, {RankId{1}, CopyOp::add}, 2)
//           .keep(0, 2);
//
// A slot is the place of a chunk in a rank's memory, as large as the chunk. Chunk c is in slot c of every rank, or in
// the slot that is given: the block of rank r for rank p of an all-to-all is chunk p on r and lands in slot r of p.
//
// An update is one write of every byte: by a DMA command, or by one of the split_k workgroups of a GEMM that share a
// tile. So what a rank stores itself counts split_k times, and so does what another one stores straight into its slot.
// Of several updates all add: stores into the own slot do so where more than one update is expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

#include "gemm/gemm.hpp"

namespace cortado {

/// A copy that waits for its piece.
struct DmaOperation {
  RankId to;
  CopyOp op = CopyOp::store;
  std::optional<std::uint32_t> slot{};  ///< on `to`; none: the one it is copied from
  friend bool operator==(const DmaOperation&, const DmaOperation&) = default;
};

/// What a map says of one chunk.
struct T3Entry {
  std::uint32_t chunk = 0;
  std::uint32_t slot = 0;                 ///< here, or with `remote` there
  bool produced = true;                   ///< by this rank
  CopyOp op = CopyOp::store;              ///< of the stores, if it is
  std::optional<RankId> remote{};         ///< whom the stores go to
  std::vector<DmaOperation> dma{};        ///< who gets every piece that is complete here
  std::uint64_t updates = 0;              ///< of every byte here; 0 with `remote`
  std::optional<std::uint64_t> pieces{};  ///< none: as the plan has them
  friend bool operator==(const T3Entry&, const T3Entry&) = default;
};

/// The output map of one rank. Nothing is checked here: the planner says what it cannot make a program of, and the
/// verifier what the program does wrong.
class T3Map {
 public:
  /// The GEMM is cut into so many chunks.
  explicit T3Map(std::uint32_t chunks) : chunks_(chunks) {}

  /// `slot` is on `to`.
  T3Map& remote_map(std::uint32_t chunk, RankId to, CopyOp op, std::optional<std::uint32_t> slot = {});

  /// `pieces` is the granularity of the trigger: the chunk is cut
  /// into so many blocks of rows, as even as can be and at multiples of tile_m, each of which travels when it is
  /// complete; no more than there are rows of tiles.
  T3Map& dma_map(std::uint32_t chunk, DmaOperation dma, std::uint64_t updates, std::optional<std::uint64_t> pieces = {},
                 std::optional<std::uint32_t> slot = {});
  T3Map& dma_map(std::uint32_t chunk, std::vector<DmaOperation> dma, std::uint64_t updates,
                 std::optional<std::uint64_t> pieces = {}, std::optional<std::uint32_t> slot = {});

  T3Map& keep(std::uint32_t chunk, std::uint64_t updates, std::optional<std::uint32_t> slot = {});

  /// Copies towards a rank stand in one queue: pieces of own chunks as they are made, piece p of the i-th relay behind
  /// the (p+i)-th of them. So relays are listed in the order in which they arrive.
  T3Map& relay(std::uint32_t chunk, DmaOperation dma, std::uint64_t updates, std::optional<std::uint64_t> pieces = {},
               std::optional<std::uint32_t> slot = {});

  T3Map& receive(std::uint32_t chunk, std::uint64_t updates, std::optional<std::uint32_t> slot = {});

  /// Chunks are made in turns, piece by piece: the first pieces of all, then the second ones. Chunks for different
  /// ranks then keep the links to all of them busy at the same time, where one chunk after the other would use one link
  /// after the other.
  T3Map& in_turns();

  std::uint32_t chunks() const { return chunks_; }
  bool are_in_turns() const { return in_turns_; }
  const std::vector<T3Entry>& entries() const { return entries_; }
  friend bool operator==(const T3Map&, const T3Map&) = default;

 private:
  std::uint32_t chunks_;
  bool in_turns_ = false;
  std::vector<T3Entry> entries_;
};

/// Which dimension of C is cut into chunks.
enum class T3Axis {
  automatic,  ///< the longer one
  rows,
  columns,
};

/// A GEMM of every rank and what happens to it:
///
///   reduce-scatter   the sum of all GEMMs is divided among the ranks: rank r gets chunk r of it
///   all-gather       every rank gets the GEMMs of all, that of rank s in slot s; a GEMM is one chunk
///   all-to-all       rank p gets chunk p of all GEMMs, that of rank r in slot r
struct T3Request {
  GemmShape gemm{};  ///< what ONE rank computes; before a reduce-scatter, k is divided already
  Collective collective = "reduce-scatter";
  /// "direct": stores go to their ranks at once; "engines": chunks are stored at home and engines take their pieces
  /// away; "ring": from neighbour to neighbour; auto: direct where every pair of ranks is linked, else ring.
  std::string algorithm = "auto";
  std::uint32_t ranks = 0;         ///< 0 = all GPUs of the machine
  std::optional<Tiling> tiling{};  ///< none: as libraries choose for the machine
  std::uint64_t split_k = 0;       ///< 0 = that of the tiling
  std::uint64_t pieces = 0;        ///< of a chunk (T3Map::dma_map); 0 = about one row of tiles each
  T3Axis axis = T3Axis::automatic;
};

/// A way to do a collective, as maps of all ranks; one file each in src/plan/t3.
struct T3Preset {
  Collective collective;
  std::string algorithm;
  std::string summary;
  std::vector<T3Map> (*maps)(std::uint32_t ranks, std::uint64_t split_k);
};

std::vector<T3Preset> list_t3_presets();

/// "auto", "rows", "columns"
std::string name_of(T3Axis axis);

/// By name; unknown ones are refused with the nearest known one (t3.axis).
Result<T3Axis> find_t3_axis(std::string_view name);

struct T3Plan {
  Program program;
  Bytes footprint;           ///< memory of the rank that needs most
  std::string algorithm;     ///< "ring", "direct", or "map" if the maps were given
  std::uint32_t chunks = 0;  ///< of a GEMM
  std::uint64_t pieces = 0;  ///< of the chunk that has most
  T3Axis axis = T3Axis::rows;
  Tiling tiling{};
};

/// The program. Per rank buffers "a<r>", "b<r>", "out<r>" (what the contract says) and "chunks<r>" (slots of all else),
/// a compute queue with the one GEMM, dma queues that are submitted ahead and wait for trackers
/// ("chunk3.piece1.rank2" watches that piece of slot 3 on rank 2), and a host queue. A barrier of the hosts before an
/// iteration tells that the memory of all is free; then the GEMM starts, and the host waits for the trackers of what
/// is final.
///
/// Refuses machines without trackers or, if anything is added, without near_memory_compute (t3.feature), machines
/// without the links (t3.topology), one rank or more than there are (t3.ranks), unknown collectives and algorithms, or
/// such that do not go together (t3.collective, t3.algorithm), GEMMs that the machine cannot do (check_gemm), that
/// add to their output (t3.accumulate) or have fewer rows or columns than chunks (t3.shape), tiles of no size
/// (t3.tiling), and what does not fit the memory of a GPU (t3.memory).
Result<T3Plan> plan_t3(const T3Request& request, const Machine& machine);

/// With one map a rank instead of an algorithm. Maps that no program can be made of are refused (t3.map): not one a
/// rank, cut into other numbers of chunks than the collective needs, chunks and ranks that do not exist, ranks that are
/// not linked, no pieces. What else is wrong with them the verifier finds.
Result<T3Plan> plan_t3(const T3Request& request, const std::vector<T3Map>& maps, const Machine& machine);

}  // namespace cortado
