// The Program: the output of planners and the input of verifier, simulator and devices. A program is data.
//
// ---------------------------------------------------------------------------------------------------------------------
// Meaning of a program. Verifier, simulator and devices all implement exactly this.
//
// 1. Queues. A program has queues of three kinds; each holds an ordered list of commands.
//    - host:    a CPU thread. A command finishes before the next one starts.
//    - compute: a stream of kernels of one GPU. A command finishes before the next one starts. Queues of a rank that
//               name the same `kernel` are parts (workgroups) of one kernel: one launch, submitted one right after
//               another. They run concurrently and, like any queues, are ordered only by signals.
//    - dma:     a ring buffer read by one DMA engine of one GPU. Commands START in order. Copy, Broadcast and Swap may
//               still be moving bytes while later commands run: consecutive copies may overlap, in any interleaving of
//               their bytes. Signal and Timestamp start only when every earlier command of the queue has finished and
//               its bytes are visible to all. Wait blocks everything after it, but does not wait for earlier copies.
//    Host queues start by themselves. A dma or compute queue starts when a host queue executes the one Submit that
//    names it. Submit makes everything that the host did before visible to the queue. On machines whose kernels can
//    ring doorbells, a compute queue may submit dma queues of its GPU in the same way.
//
// 2. Signals are 64-bit counters, zero before the first iteration. A Signal (or Trigger) makes everything that finished
//    before it visible to every queue that it releases. Wait(ge, v) blocks its queue until the counter is at least v.
//    Two queues are ordered only by Submit and by signals.
//
// 3. Iterations. A program is replayed any number of times without a barrier in between: in every queue the commands of
//    iteration k+1 directly follow those of iteration k. Counters are never reset. All values in commands are
//    relative to the iteration. Let D(s) be what one iteration adds to signal s (its `advance`). In iteration k = 0, 1,
//    ... a Wait for v compares with k*D(s) + v, and a Signal that sets v stores k*D(s) + v. D(s) is the sum of all adds
//    to s, or the largest value set. A signal is either added to or set, never both.
//
// 4. The caller. Every rank has a caller, in the first host queue of that rank (or the first one without a rank).
//    Before the first command of each iteration, the caller writes the rank's input bytes (all regions named as terms
//    or factors in the contract or read by its formula). After the last command, it reads the rank's output bytes
//    (all outputs of the contract). So a host queue must not end before its ranks' outputs are complete and its ranks'
//    inputs are no longer read.
//
// 5. The contract says what every output byte is when the caller reads it, in terms of the input bytes that the
//    caller wrote in the same iteration; floating-point sums and GEMMs are up to rounding. It covers every
//    byte of an output buffer and at least one byte of every inout buffer. Clauses cannot express functions and GEMMs
//    of other results. The formula can: it is a list of commands over values, which are matrices that exist in no
//    memory, executed in sequence. A formula may read any input of any rank; it writes only values. Two results of a
//    Call are equal if the function, the parameters and the bytes of the operands are equal; the verifier knows nothing
//    else about functions. Sums may be computed in any order and GEMMs in any panels of k.
//
// 6. Memory. Buffers with different ids never overlap; each starts at an address aligned to the machine's allocation
//    alignment (at least 256 bytes). Any engine may address any buffer, within the limits of the machine. Only Copy
//    and Broadcast may read and write buffers in host memory.
//    Two accesses to overlapping bytes, at least one of them a write, must be ordered by rules 1 to 4 or 7. Otherwise
//    the program has a race and its behaviour is undefined.
//
// 7. Trackers. A tracker watches a region of one GPU's memory. Writes to its bytes by a Gemm with an output map and by
//    copies of dma queues are updates: a Copy updates its destination once, an output block of a Gemm split_k times.
//    Every byte of the region must be updated `updates` times per iteration. Of updates with op add, the first one in
//    an iteration stores and all later ones add, so the memory need not be cleared. When every byte has received its
//    updates, the tracker makes them visible, starts over, and raises its signal by `value`.
//    Updates with op add of tracked bytes need no order among each other within an iteration (the memory adds them one
//    after another, in an unspecified order). Any other access must be ordered, and updates of the next iteration must
//    come after the tracker has started over. A byte is either added to by all its updates or stored by its only one;
//    nothing else writes it. A tracker says nothing about other bytes: the tiles of a Gemm may finish in any order.
//
// 8. Compute units. Copies, Kernels, Calls and the tiles of Gemms run on the compute units of their GPU; a queue may
//    limit itself to some of them. A tile holds one unit from its start to its end, including while it waits
//    (TileWait), and is never preempted. A kernel is never preempted either: it holds the units of its parts from its
//    launch to its end. The tiles of a Gemm get units in the order of production, so a waiting tile may keep later
//    tiles from starting, but never earlier ones. Units go to the highest priority first and, among equals, to what was
//    launched first. This rule does not change any order that the other rules define.
// ---------------------------------------------------------------------------------------------------------------------
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "cortado/result.hpp"

namespace cortado {

/// Element type of reductions and GEMMs. Plain copies ignore it.
enum class DType {
  u8,
  i32,
  f16,
  bf16,
  f32,
  i8,
  f8,  ///< 4 bits of exponent (bias 8), 3 of fraction, no infinity, no negative zero: FP8 of gfx942 (E4M3 FNUZ)
};

constexpr Bytes size_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
    case DType::i8:
    case DType::f8:
      return {1};
    case DType::f16:
    case DType::bf16:
      return {2};
    case DType::i32:
    case DType::f32:
      return {4};
  }
  return {0};
}

/// Floating point: the types that GEMMs support.
constexpr bool is_float(DType dtype) {
  return dtype != DType::u8 && dtype != DType::i8 && dtype != DType::i32;
}

/// Bytes of a buffer: `rows` runs of `width` bytes whose starts are `pitch` bytes apart. One row is a plain range (its
/// pitch is ignored; make_region leaves it zero). Rows never overlap: pitch >= width.
struct Region {
  BufferId buffer;
  Bytes offset;
  Bytes width;
  std::uint64_t rows = 1;
  Bytes pitch{};

  constexpr Bytes bytes() const { return width * rows; }                                       ///< bytes touched
  constexpr Bytes extent() const { return rows == 0 ? Bytes{} : pitch * (rows - 1) + width; }  ///< first to last
  constexpr Bytes row_offset(std::uint64_t row) const { return offset + pitch * row; }
  friend bool operator==(const Region&, const Region&) = default;
};

constexpr Region make_region(BufferId buffer, Bytes offset, Bytes bytes) {
  return {buffer, offset, bytes, 1, {}};
}

// --- Commands --------------------------------------------------------------------------------------------------------

enum class CopyOp {
  store,  ///< destination = source
  add,    ///< destination += source, element by element; on a dma queue needs memory that adds
};

/// Copies bytes from one region to another of the same shape. One packet of a DMA engine.
struct Copy {
  Region src;
  Region dst;
  CopyOp op = CopyOp::store;
  DType dtype = DType::u8;  ///< element type for `add`
  friend bool operator==(const Copy&, const Copy&) = default;
};

/// One source, two destinations, one packet; the source is read once. One-row regions of equal width.
struct Broadcast {
  Region src;
  Region dst1;
  Region dst2;
  friend bool operator==(const Broadcast&, const Broadcast&) = default;
};

/// Exchanges two regions in place, one packet. One-row regions of equal width that do not overlap.
struct Swap {
  Region a;
  Region b;
  friend bool operator==(const Swap&, const Swap&) = default;
};

enum class Compare {
  ge,  ///< counter >= value: use this one
  eq,  ///< counter == value: hangs forever once the counter has passed the value
};

/// Blocks the queue until the comparison of signal and value holds (relative to the iteration, rule 3).
struct Wait {
  SignalId signal;
  std::uint64_t value = 1;
  Compare compare = Compare::ge;
  friend bool operator==(const Wait&, const Wait&) = default;
};

enum class SignalOp {
  add,  ///< atomic 64-bit add; any number of queues may add
  set,  ///< store of a value (relative to the iteration); only one queue may set a signal, with increasing values
};

/// Raises a signal once everything before it in its queue is finished and visible.
struct Signal {
  SignalId signal;
  std::uint64_t value = 1;
  SignalOp op = SignalOp::add;
  friend bool operator==(const Signal&, const Signal&) = default;
};

/// Raises `signal` by `value` when the first `tiles` output tiles of a Gemm, in the order of production (see Gemm),
/// have been written.
struct TileSignal {
  std::uint64_t tiles = 0;
  SignalId signal;
  std::uint64_t value = 1;
  friend bool operator==(const TileSignal&, const TileSignal&) = default;
};

/// The tiles of a Gemm from number `tiles` on (counted from 0 in the order of production), up to the next entry with a
/// higher number, start only when the signal is at least `value` (relative to the iteration, rule 3). Entries with the
/// same number count together. A group of tiles waits only for its own entries. Rule 8 defines the order in which tiles
/// start, and what a waiting tile holds.
struct TileWait {
  std::uint64_t tiles = 0;
  SignalId signal;
  std::uint64_t value = 1;
  friend bool operator==(const TileWait&, const TileWait&) = default;
};

/// A block of a Gemm's output and where its stores go: to the memory of its own GPU or directly to that of another.
struct OutputBlock {
  std::uint64_t row = 0;     ///< first row of C
  std::uint64_t column = 0;  ///< first column of C
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  Region to{};                ///< one row per matrix row of the block
  CopyOp op = CopyOp::store;  ///< add: every byte of `to` has a tracker (rule 7), and the memory adds
  friend bool operator==(const OutputBlock&, const OutputBlock&) = default;
};

/// C = A·B or C += A·B, row-major: A is m x k, B is k x n, C is m x n elements; each region has one row per matrix row.
/// With an output map, C has no region: its blocks, which contain every element of C exactly once, go where the
/// map says, and `accumulate` is false. Tiles are produced block by block in the order of the map, in row-major order
/// within a block; a tile never spans two blocks (tiles.hpp). Without a map, C is a single block. A Gemm whose tiles
/// wait needs a map, because the order of its tiles is part of the program.
struct Gemm {
  Region a;
  Region b;
  Region c{};  ///< empty, Region{}, if there is an output map
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  DType dtype = DType::f32;
  bool accumulate = false;
  std::uint64_t tile_m = 128;
  std::uint64_t tile_n = 128;
  std::vector<TileSignal> raises{};    ///< ascending in `tiles`
  std::uint64_t split_k = 1;           ///< workgroups that share the k of one tile. Affects only the cost, except with
                                       ///< trackers: each workgroup updates an output block once
  std::vector<OutputBlock> outputs{};  ///< the output map; empty: all of C to region c
  std::vector<TileWait> waits{};       ///< ascending in `tiles`
  friend bool operator==(const Gemm&, const Gemm&) = default;
};

/// `count` groups of rows of A and C, each multiplied by a separate B.
struct RowGroup {
  std::uint64_t rows = 0;
  std::uint64_t count = 1;
  friend bool operator==(const RowGroup&, const RowGroup&) = default;
};

/// The sizes of a GEMM: C = A·B, A is m x k, B is k x n.
struct GemmShape {
  std::uint64_t m = 0;  ///< rows of A and C, all groups together
  std::uint64_t n = 0;  ///< columns of B and C
  std::uint64_t k = 0;  ///< columns of A, rows of B
  DType dtype = DType::bf16;
  bool accumulate = false;  ///< adds to the contents of C
  // The rest is for the model of a single GEMM; programs cannot use it (gemm.program).
  std::optional<DType> result{};   ///< element type of C; none: that of A and B
  std::uint32_t scale_block = 0;   ///< elements along k (for B also along n) that share an f32 scale; 0 = no scales
  std::vector<RowGroup> groups{};  ///< batched and grouped GEMMs, in one kernel; empty: one group of all rows
  friend bool operator==(const GemmShape&, const GemmShape&) = default;
};

enum class KernelOp {
  reduce,        ///< dst = sum of all sources, element by element; of one source: its bytes; dst may be a source
  gather_rows,   ///< row i of dst = row rows[i] of sources[0]
  scatter_rows,  ///< row rows[i] of dst = row i of sources[0]
};

/// A small kernel on compute units.
struct Kernel {
  KernelOp op = KernelOp::reduce;
  std::vector<Region> sources;
  Region dst;
  DType dtype = DType::u8;
  std::vector<std::uint64_t> rows{};  ///< row numbers of gather and scatter
  std::vector<Region> also{};         ///< reduce: also receive the sum; each may be one of the sources
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// What a transformer layer needs in addition to GEMMs, copies and sums; ir/functions.hpp has the table of operands.
///
/// All matrices are f32 and row-major, except token ids and positions, which are i32, one per row. Every
/// function is total: any bytes give a result.
///
///   rms_norm   y = x * w / sqrt(mean over the row of x^2 + epsilon);  parameter epsilon in units of 1e-9
///   rope       every head of a row is rotated by its position p: with h = head_dim / 2 and f = p * theta^(-i / h),
///              (x[i], x[i + h]) -> (x[i] cos f - x[i + h] sin f, x[i + h] cos f + x[i] sin f);
///              parameters head_dim, theta
///   swiglu     y = g / (1 + exp(-g)) * u
///   embedding  row (token modulo rows of the table) of the table
///   argmax     the first column that has the largest number of the row
///   append     the cache of `sequences` sequences, one after another, each with `capacity` rows; new rows are grouped
///              by sequence. A new row replaces row (its position modulo capacity) of its
///              sequence, first to last; parameter sequences
///   attention  row i of q, of sequence s at position p, over rows 0 .. p (at most all) of sequence s of the caches of
///              keys and values: softmax(q k / sqrt(head_dim)) v, for each head; heads / kv_heads consecutive heads
///              share one KV head; parameters sequences, heads, kv_heads
///   route      gates of experts: the softmax over the `top_k` largest numbers of the row (the first of equal ones),
///              0 for all others; parameter top_k
///   scale      y = x * (column `column` of the row of gates); parameter column
enum class Function { rms_norm, rope, swiglu, embedding, argmax, append, attention, route, scale };

/// A function of whole matrices: a kernel on compute units. Each region has one row per
/// matrix row. The result of `append` may be its cache; nothing else may overlap.
struct Call {
  Function function = Function::rms_norm;
  std::vector<Region> operands;
  Region result{};
  std::vector<std::uint64_t> parameters{};
  friend bool operator==(const Call&, const Call&) = default;
};

/// Publishes the commands of a dma or compute queue for this iteration: one write of the pointers, one doorbell. On a
/// compute queue (machines whose kernels ring doorbells) it names a dma queue of the same rank.
struct Submit {
  QueueId queue;
  friend bool operator==(const Submit&, const Submit&) = default;
};

/// Adds to the word that prelaunched queues poll. Host only; otherwise as Signal with `add`.
struct Trigger {
  SignalId signal;
  std::uint64_t value = 1;
  friend bool operator==(const Trigger&, const Trigger&) = default;
};

/// Records the time under a label. The labels "begin" and "end" in a host queue, in this order, bracket the
/// reported time of the program; without them it is the time of the whole iteration.
struct Timestamp {
  std::string label;
  friend bool operator==(const Timestamp&, const Timestamp&) = default;
};

/// All commands. ir/command_table.hpp has the table of their names and of the queues that accept them.
using Command = std::variant<Copy, Broadcast, Swap, Wait, Signal, Gemm, Kernel, Call, Submit, Trigger, Timestamp>;

// --- Resources -------------------------------------------------------------------------------------------------------

/// How the caller uses a buffer. The program may write to all of them.
enum class BufferRole {
  input,    ///< the caller writes it, or parts of it
  output,   ///< the caller reads all of it
  inout,    ///< the caller writes and reads it; it may leave parts unread
  scratch,  ///< the caller does not use it
};

struct Buffer {
  std::string name;
  RankId rank;
  Bytes size;
  BufferRole role = BufferRole::scratch;
  /// In pinned memory of this NUMA node of the host, where copies and broadcasts of all GPUs reach it; `rank` is then
  /// the rank whose caller uses it. None: in the memory of the rank's GPU.
  std::optional<std::uint32_t> host{};
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

struct SignalInfo {
  std::string name;
  std::optional<RankId> home{};  ///< whose memory holds it; host memory if none
  friend bool operator==(const SignalInfo&, const SignalInfo&) = default;
};

/// Counts updates of a region's bytes and raises a signal when all have arrived (rule 7). Needs a machine with
/// trackers.
struct Tracker {
  std::string name;
  Region region;              ///< regions of trackers do not overlap
  std::uint64_t updates = 1;  ///< of every byte, per iteration
  SignalId signal;
  std::uint64_t value = 1;  ///< added to the signal
  friend bool operator==(const Tracker&, const Tracker&) = default;
};

enum class QueueKind { dma, compute, host };

/// What the time of a queue counts as, for reports. It does not affect how a program runs.
enum class QueueRole {
  collective,
  gemm,     ///< a stream of GEMMs; some of its other commands belong to the collective (ir/visit.hpp, role_of)
  control,  ///< launches and waits
};

/// How a kernel of a collective library moves bytes between GPUs. It affects only the cost of copies, sums and signals
/// of the queue (Timing::library of the machine).
enum class Protocol {
  none,
  ll,        ///< a flag in every 8 bytes: half the wire, no handshake
  ll128,     ///< a flag in every 128 bytes
  simple,    ///< plain data, announced by a counter
  sends,     ///< as simple, in kernels made of sends and receives
  multicast  ///< the switch reads from all GPUs, adds, and writes to all of them: reductions only
};

/// How the host passes the commands of a dma queue to the engine. It affects only their cost (Timing::runtime of the
/// machine) and the number of doorbells.
enum class Submission {
  ring,   ///< all packets, one doorbell
  calls,  ///< one call of the vendor's runtime for every copy and the commands up to the next copy
  batch,  ///< one call of the vendor's runtime with a list of copies
};

/// How the commands of a dma queue become packets. Packets with several commands need a machine that supports them
/// (Features); they affect only the cost.
enum class Packing {
  each,       ///< one packet per command
  multicast,  ///< consecutive copies of the same bytes: the source is read once
  fused,      ///< a copy with the Wait before it and the Signal after it
  indirect,   ///< consecutive copies of equal size between the same two buffers: the packet refers to a list of
              ///< addresses
};

struct Queue {
  std::string name;
  QueueKind kind = QueueKind::dma;
  std::optional<RankId> rank{};                  ///< dma, compute: always; host: the rank it acts for, none = all ranks
  std::optional<EngineId> engine{};              ///< dma only, where it is required
  std::int32_t priority = 0;                     ///< compute: higher runs first
  std::optional<std::uint32_t> compute_units{};  ///< compute: upper limit; none = all
  std::vector<Command> commands{};
  std::string kernel{};     ///< compute: the kernel of the rank that the queue is a part of; empty = a separate stream.
                            ///< A Gemm is a kernel of its own and stands in separate streams only
  std::uint32_t calls = 0;  ///< compute: additional library calls of the host (a send, a receive); they only cost
                            ///< host time
  QueueRole role = QueueRole::collective;
  Protocol protocol = Protocol::none;  ///< compute
  Bytes chunk{};  ///< multicast: bytes of a GPU's part of the sum that a compute unit takes at a time
  Submission submission = Submission::ring;  ///< dma
  Packing packing = Packing::each;           ///< dma
  friend bool operator==(const Queue&, const Queue&) = default;
};

// --- Contract --------------------------------------------------------------------------------------------------------

/// Every byte of `output` equals the element-wise sum of the terms (a single term: byte for byte). All regions
/// have the same number of bytes, in row order.
struct Clause {
  Region output;
  std::vector<Region> terms;
  DType dtype = DType::u8;
  friend bool operator==(const Clause&, const Clause&) = default;
};

/// A matrix product as a term. A consists of blocks, one below another, each with one row per matrix row and all k
/// columns; B has k rows.
struct Product {
  std::vector<Region> a;
  Region b;
  friend bool operator==(const Product&, const Product&) = default;
};

/// `output`, one row per matrix row, equals the sum of the GEMMs. A device may round after every GEMM and every
/// partial sum over k; the contract does not define rounding.
struct ProductClause {
  Region output;
  std::vector<Product> products;
  DType dtype = DType::f32;  ///< of A, B and the output
  friend bool operator==(const ProductClause&, const ProductClause&) = default;
};

/// A matrix of a formula.
struct FormulaValue {
  std::string name;
  Bytes size;
  friend bool operator==(const FormulaValue&, const FormulaValue&) = default;
};

/// Every byte of `output` equals that of `value`, a region of one of the formula's values, in row order.
struct FormulaClause {
  Region output;
  Region value;
  friend bool operator==(const FormulaClause&, const FormulaClause&) = default;
};

/// Defines outputs as a list of commands (rule 5). BufferIds after those of the program's buffers are values.
struct Formula {
  std::vector<FormulaValue> values{};
  std::vector<Command> steps{};  ///< Copy, Gemm without map, signals and waits, Kernel, Call
  std::vector<FormulaClause> outputs{};
  friend bool operator==(const Formula&, const Formula&) = default;
};

struct Contract {
  std::string name;  ///< e.g. "all-gather"; the functions below make the contracts of collectives
  std::vector<Clause> clauses;
  std::vector<ProductClause> products{};
  Formula formula{};
  friend bool operator==(const Contract&, const Contract&) = default;
};

/// The whole program. Ids are indices into the vectors. You can build one by hand; ProgramBuilder is shorter.
struct Program {
  std::string name;
  std::string machine;  ///< name of the machine it was planned for
  std::uint32_t ranks = 0;
  std::vector<Buffer> buffers;
  std::vector<SignalInfo> signals;
  std::vector<Queue> queues;
  Contract contract;
  std::vector<Tracker> trackers{};
  friend bool operator==(const Program&, const Program&) = default;

  const Buffer& buffer(BufferId id) const { return buffers.at(id.value); }
  const Queue& queue(QueueId id) const { return queues.at(id.value); }
};

// --- Figures ---------------------------------------------------------------------------------------------------------

/// Numbers of a program that users compare: 56 / 56 / 56 for the plain 8-GPU all-gather.
struct ProgramCounts {
  std::uint64_t commands = 0;      ///< Copy, Broadcast and Swap between GPUs
  std::uint64_t local_copies = 0;  ///< those within one GPU
  std::uint64_t signals = 0;       ///< Signal commands on dma queues
  std::uint64_t doorbells = 0;     ///< Submits of dma queues
  std::uint64_t triggers = 0;
  std::uint64_t waits = 0;    ///< all queues
  std::uint64_t kernels = 0;  ///< Gemm, Kernel and Call commands of streams, and kernels made of several queues
};
ProgramCounts count(const Program& program);

// --- Collectives -----------------------------------------------------------------------------------------------------
//
// The collectives as a type. Only find_collective() turns a name from outside into a Collective.

/// A string literal converts, checked by the compiler: `request.collective = "all-gather"`.
class Collective {
 public:
  enum class Kind : std::uint8_t {
    all_gather,
    all_to_all,
    reduce_scatter,
    all_reduce,
    broadcast,
    gather,
    scatter,
    point_to_point,
  };
  static constexpr std::array<std::string_view, 8> kNames{
      "all-gather", "all-to-all", "reduce-scatter", "all-reduce", "broadcast", "gather", "scatter", "point-to-point"};

  constexpr Collective() = default;
  constexpr explicit Collective(Kind kind) : kind_(kind) {}
  consteval Collective(const char* name) : kind_(literal(name)) {}

  constexpr Kind kind() const { return kind_; }
  constexpr std::string_view name() const { return kNames[static_cast<std::size_t>(kind_)]; }
  friend constexpr auto operator<=>(Collective, Collective) = default;

 private:
  static consteval Kind literal(std::string_view name) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (kNames[i] == name) return static_cast<Kind>(i);
    }
    throw "there is no such collective";
  }

  Kind kind_ = Kind::all_gather;
};

/// All, in the order in which lists show them.
inline constexpr auto kCollectives = [] {
  std::array<Collective, Collective::kNames.size()> all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = Collective(static_cast<Collective::Kind>(i));
  return all;
}();

/// By name; unknown names are refused, with the nearest known one (plan.unknown_collective).
Result<Collective> find_collective(std::string_view name);

}  // namespace cortado

template <>
struct fmt::formatter<cortado::Collective> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(cortado::Collective collective, Context& context) const {
    return fmt::formatter<std::string_view>::format(collective.name(), context);
  }
};

// --- Building --------------------------------------------------------------------------------------------------------
//
// Builds a Program step by step. The builder only appends; the verifier checks whether the program is right.

namespace cortado {

class ProgramBuilder {
 public:
  ProgramBuilder(std::string name, std::string machine, std::uint32_t ranks);

  BufferId buffer(std::string name, RankId rank, Bytes size, BufferRole role);
  /// In memory of the host.
  BufferId host_buffer(std::string name, RankId rank, std::uint32_t numa_node, Bytes size, BufferRole role);
  SignalId signal(std::string name, std::optional<RankId> home = {});
  QueueId dma_queue(std::string name, RankId rank, EngineId engine);
  QueueId compute_queue(std::string name, RankId rank, std::int32_t priority = 0,
                        std::optional<std::uint32_t> compute_units = {}, std::string kernel = {},
                        std::uint32_t calls = 0);
  /// Of a dma queue.
  void submission(QueueId queue, Submission submission) { program_.queues.at(queue.value).submission = submission; }
  /// Of a dma queue.
  void packing(QueueId queue, Packing packing) { program_.queues.at(queue.value).packing = packing; }
  /// Of a compute queue.
  void protocol(QueueId queue, Protocol protocol, Bytes chunk = {});
  QueueId host_queue(std::string name, std::optional<RankId> rank = {});

  void tracker(Tracker tracker) { program_.trackers.push_back(std::move(tracker)); }

  /// Appends to a queue; returns *this for chaining. A queue with a Gemm gets the role gemm, host queues get control,
  /// all others collective.
  ProgramBuilder& add(QueueId queue, Command command);

  void contract(Contract contract) { program_.contract = std::move(contract); }

  const Program& peek() const { return program_; }
  Program finish() && { return std::move(program_); }

 private:
  Program program_;
};

// --- Contracts of collectives ----------------------------------------------------------------------------------------
//
// The contracts of the collectives. Vectors are indexed by rank. The planner passes regions, so blocks
// may be uneven and outputs may be the input buffers (in place).

/// The part of a one-row region from `offset`, `bytes` long.
constexpr Region slice(const Region& region, Bytes offset, Bytes bytes) {
  return make_region(region.buffer, region.offset + offset, bytes);
}

/// outputs[r] = inputs[0], inputs[1], ... concatenated, for every rank r.
Contract all_gather_contract(const std::vector<Region>& inputs, const std::vector<Region>& outputs);

/// send[i][j] goes to receive[j][i]; zero-size blocks have no clause.
Contract all_to_all_contract(const std::vector<std::vector<Region>>& send,
                             const std::vector<std::vector<Region>>& receive);

/// outputs[r] = sum over ranks i of blocks[i][r].
Contract reduce_scatter_contract(const std::vector<std::vector<Region>>& blocks, const std::vector<Region>& outputs,
                                 DType dtype);

/// outputs[r] = sum over ranks i of inputs[i], for every rank r.
Contract all_reduce_contract(const std::vector<Region>& inputs, const std::vector<Region>& outputs, DType dtype);

/// outputs[r] = input of the root, for every rank r that has an output.
Contract broadcast_contract(const Region& input, const std::vector<Region>& outputs);

/// output of the root = inputs[0], inputs[1], ... concatenated.
Contract gather_contract(const std::vector<Region>& inputs, const Region& output);

/// outputs[r] = blocks[r]; all blocks are on the root.
Contract scatter_contract(const std::vector<Region>& blocks, const std::vector<Region>& outputs);

/// C = A·B of the Gemm's operands; if it accumulates, C was zero before.
ProductClause product_clause(const Gemm& gemm);

/// output = input.
Contract point_to_point_contract(const Region& input, const Region& output);

// --- Text ------------------------------------------------------------------------------------------------------------
//
// Text forms of a program: a listing for people and JSON for files.

/// Names of enumerators as used in JSON and on the command line.
std::string_view to_string(DType dtype);
std::string_view to_string(QueueKind kind);
std::string_view to_string(QueueRole role);
std::string_view to_string(BufferRole role);
std::string_view to_string(CopyOp op);
std::string_view to_string(Compare compare);
std::string_view to_string(SignalOp op);
std::string_view to_string(KernelOp op);
std::string_view to_string(Function function);
std::string_view to_string(Protocol protocol);
std::string_view to_string(Submission submission);
std::string_view to_string(Packing packing);
/// Also accepts fp32, fp16 and fp8.
Result<DType> parse_dtype(std::string_view name);

/// One line: "copy in0[0+128] -> out3[0+128]".
std::string to_string(const Program& program, const Command& command);
std::string to_string(const Program& program, const Region& region);

/// The whole program, one line per command, grouped by queue.
std::string listing(const Program& program);

inline constexpr int kProgramSchema = 1;

/// JSON with "schema": "cortado.program" and "version": kProgramSchema. parse_program(to_json(p)) == p, and
/// to_json(parse_program(text)) is canonical. One line per buffer, signal and command, so that files can be read and
/// diffed.
std::string to_json(const Program& program);

/// Refuses anything that is not exactly a program: wrong schema or version, missing, unknown or mistyped keys, numbers
/// out of range. The error names the key (queues[3].commands[0].src.offset) and, for broken JSON, the line. Ids are
/// not resolved here: the verifier checks them. `file` is only for the place in the Diagnostic.
Result<Program> parse_program(std::string_view text, const std::string& file = {});

/// A program from a file, or from standard input for "-".
Result<Program> load_program(const std::string& path);

}  // namespace cortado
