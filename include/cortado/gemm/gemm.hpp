// Matrix products on the compute units of one GPU: how they are cut into workgroups, and what a workgroup takes.
//
// C = A·B, A is m x k, B is k x n. The output is cut into tiles of tile_m x tile_n; split_k workgroups share the k of a
// tile. A workgroup occupies one compute unit until it is done; a GPU with u of them works in ceil(workgroups / u)
// waves, the last of which may be partial. docs/models.md gives the equations and what is assumed in them.
//
// Simulator and planners both use this: the simulator runs the workgroups beside everything else that goes on, planners
// estimate the product alone.
#pragma once

#include <cstdint>
#include <string>

#include "cortado/base/result.hpp"
#include "cortado/ir/program.hpp"
#include "cortado/machine/machine.hpp"

namespace cortado {

struct GemmShape {
  std::uint64_t m = 0;  ///< rows of A and C
  std::uint64_t n = 0;  ///< columns of B and C
  std::uint64_t k = 0;  ///< columns of A, rows of B
  DType dtype = DType::bf16;
  bool accumulate = false;  ///< adds to what C holds
  friend bool operator==(const GemmShape&, const GemmShape&) = default;
};

struct Tiling {
  std::uint64_t tile_m = 0;   ///< rows of C
  std::uint64_t tile_n = 0;   ///< columns of C
  std::uint64_t split_k = 1;  ///< workgroups that share a tile
  friend bool operator==(const Tiling&, const Tiling&) = default;
};

GemmShape shape_of(const Gemm& gemm);
Tiling tiling_of(const Gemm& gemm);

/// The command of such a product; it raises no tile signals.
Gemm gemm_command(const GemmShape& shape, const Tiling& tiling, const Region& a, const Region& b, const Region& c);

double flops(const GemmShape& shape);         ///< 2 m n k
Bytes operand_bytes(const GemmShape& shape);  ///< A, B and C
Bytes read_bytes(const GemmShape& shape);     ///< A and B
std::uint64_t workgroups(const GemmShape& shape, const Tiling& tiling);
std::string to_string(const GemmShape& shape);  ///< "8192x57344x8192 bf16"

/// No dimension zero or beyond 2^28; M may be that of so many GPUs together (gemm.shape).
Status check_dimensions(const GemmShape& shape, std::uint32_t gpus = 1);

/// Whether the machine can do it: dimensions as above, an element type that the machine has
/// products of (gemm.dtype), operands that fit the memory of a GPU together with `beside` (gemm.memory), a machine file
/// with [compute] (gemm.compute).
Status check_gemm(const GemmShape& shape, const Machine& machine, Bytes beside = {});

/// Of the compute units, under products of the element type, as the machine file has it. The machine passed check_gemm.
double sustained_clock_ghz(DType dtype, const Machine& machine);

/// More operands than the memory can bring while the compute units multiply: the memory, not the units, sets the time.
bool is_memory_bound(const GemmShape& shape, const Machine& machine);

/// A product in parts that no tile spans, as even as can be: an output map cuts it so.
struct ProductCut {
  std::uint64_t row_parts = 1;
  std::uint64_t column_parts = 1;
};

/// As libraries choose: of the tiles and splits that kernels exist for, those with the least estimated time on so many
/// compute units. The machine passed check_gemm, as for all that follows.
Tiling choose_tiling(const GemmShape& shape, const Machine& machine, std::uint32_t units, const ProductCut& cut = {});

/// Whether L2 can be too small for the windows of all workgroups. Libraries choose their kernels as if it never were.
enum class L2Windows { modelled, ample };

/// Where the tiles of C go.
enum class ResultPath {
  cached,   ///< through the caches, with the operands
  streamed  ///< past them, by stores that are no part of what a workgroup takes (output maps, products in stages)
};

/// What goes on beside a product on its GPU.
struct GemmSurroundings {
  std::uint32_t streams = 0;  ///< workgroups of others, each of which keeps a window of the L2 caches
  Bytes cache_held{};         ///< of the last-level cache, by what others read and write
};

/// What one workgroup takes while so many of them run side by side.
struct WorkgroupDemand {
  double seconds = 0;       ///< alone: products at the sustained clock, operands out of L2 and from beyond it, overhead
  double cache_bytes = 0;   ///< in and out of L2, to and from the last-level cache
  double memory_bytes = 0;  ///< in and out of the memory
  double memory_writes = 0;  ///< of these, written
};

class GemmModel {
 public:
  /// The machine passed check_gemm and outlives the model.
  GemmModel(const GemmShape& shape, const Tiling& tiling, const Machine& machine,
            L2Windows windows = L2Windows::modelled, ResultPath results = ResultPath::cached);

  std::uint64_t workgroups() const { return workgroups_; }

  /// `running` is at least 1.
  WorkgroupDemand demand(std::uint64_t running, const GemmSurroundings& beside = {}) const;

 private:
  double operand_rows(double tiles) const;
  double refetched(double per_die) const;

  const Machine* machine_;
  GemmShape shape_;
  Tiling tiling_;
  std::uint64_t tiles_m_;
  std::uint64_t tiles_n_;
  std::uint64_t workgroups_;
  double flops_per_second_;  // of one compute unit
  L2Windows windows_;
  ResultPath results_;
};

struct GemmEstimate {
  double seconds = 0;       ///< without launch
  double memory_bytes = 0;  ///< of the whole product
  std::uint64_t waves = 0;  ///< the last of which may be partial
};

/// Alone on a GPU with so many compute units.
GemmEstimate estimate_gemm(const GemmShape& shape, const Tiling& tiling, const Machine& machine, std::uint32_t units,
                           L2Windows windows = L2Windows::modelled);

}  // namespace cortado
