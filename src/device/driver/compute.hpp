// Operations of a compute queue with resolved addresses: what the executor hands to a driver that can compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "cortado/program.hpp"

namespace cortado::device {

/// `rows` runs of `width` bytes, `pitch` bytes apart.
struct Span2D {
  std::byte* data = nullptr;
  std::uint64_t width = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;
};

struct WaitOp {
  std::uint64_t* word = nullptr;
  std::uint64_t value = 0;
  Compare compare = Compare::ge;
};

struct SignalWriteOp {
  std::uint64_t* word = nullptr;
  std::uint64_t value = 0;
  SignalOp op = SignalOp::add;
};

struct CopyKernelOp {
  Span2D src;
  Span2D dst;
  CopyOp op = CopyOp::store;
  DType dtype = DType::u8;
};

struct KernelLaunchOp {
  KernelOp op = KernelOp::reduce;
  std::vector<Span2D> sources;
  Span2D dst;
  DType dtype = DType::u8;
  std::vector<std::uint64_t> rows;
  std::vector<Span2D> also{};  ///< further destinations of a sum
};

/// A function of the table (ir/functions.hpp).
struct CallLaunchOp {
  Function function = Function::rms_norm;
  std::vector<Span2D> operands;
  Span2D result;
  std::vector<std::uint64_t> parameters;
};

/// After this many output tiles, in production order (ir/tiles.hpp), the word is raised.
struct TileRaise {
  std::uint64_t tiles = 0;
  std::uint64_t* word = nullptr;
  std::uint64_t value = 1;
};

/// Tiles from number `tiles` on, up to the next entry with a higher number, start when the word is at least `value`.
struct TileHold {
  std::uint64_t tiles = 0;
  std::uint64_t* word = nullptr;
  std::uint64_t value = 1;
};

/// A block of the output and where it goes (OutputBlock).
struct OutputSpan {
  std::uint64_t row = 0;
  std::uint64_t column = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  Span2D to;  ///< one row per matrix row
  CopyOp op = CopyOp::store;
};

struct GemmLaunchOp {
  Span2D a;
  Span2D b;
  Span2D c;  ///< ignored if there are outputs
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  DType dtype = DType::f32;
  bool accumulate = false;
  std::uint64_t tile_m = 128;
  std::uint64_t tile_n = 128;
  std::vector<TileRaise> raises;
  std::uint64_t split_k = 1;          ///< of a GEMM with outputs: number of updates of each of their bytes
  std::vector<OutputSpan> outputs{};  ///< the output map; empty: all of C to `c`
  std::vector<TileHold> holds{};      ///< ascending in `tiles`; only for a GEMM with outputs
};

/// Stores the device clock; `slot` is 8-byte aligned.
struct TimestampOp {
  std::uint64_t* slot = nullptr;
};

/// Writes the packets of a dma queue into its ring.
class PacketWriter {
 public:
  /// Writes the packets of the iteration and rings the doorbell; `slot_offset` is that of its timestamps. False while
  /// the ring has no room: try again later.
  virtual bool write_packets(std::uint64_t iteration, std::uint64_t slot_offset) = 0;

 protected:
  ~PacketWriter() = default;
};

/// A kernel that writes packets and rings the doorbell; for nodes whose kernels do that.
struct SubmitOp {
  std::uint32_t queue = 0;  ///< in the program
  PacketWriter* writer = nullptr;
  std::uint64_t iteration = 0;
  std::uint64_t slot_offset = 0;
};

using ComputeOp = std::variant<WaitOp, SignalWriteOp, CopyKernelOp, KernelLaunchOp, GemmLaunchOp, CallLaunchOp,
                               TimestampOp, SubmitOp>;

}  // namespace cortado::device
