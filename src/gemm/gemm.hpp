// Matrix products on the compute units of one GPU: how they are cut into workgroups, and what a workgroup takes.
//
// C = A·B, A is m x k, B is k x n. The output is cut into tiles of tile_m x tile_n; split_k workgroups share the k of a
// tile. A workgroup occupies one compute unit until it is done; a GPU with u of them works in ceil(workgroups / u)
// waves, the last of which may be partial. docs/models.md gives the equations and what is assumed in them.
//
// Simulator and planners both use this: the simulator runs the workgroups beside everything else that goes on, planners
// estimate the GEMM alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado {

struct Tiling {
  std::uint64_t tile_m = 0;   ///< rows of C
  std::uint64_t tile_n = 0;   ///< columns of C
  std::uint64_t split_k = 1;  ///< workgroups that share a tile
  friend bool operator==(const Tiling&, const Tiling&) = default;
};

DType result_type(const GemmShape& shape);
std::uint64_t group_count(const GemmShape& shape);  ///< matrices B; at least 1
std::uint64_t group_rows(const GemmShape& shape);   ///< of a group, on the average, rounded up
/// `shape`, so many times in one kernel, each with an A, a B and a C of its own.
GemmShape batched(GemmShape shape, std::uint64_t count);

GemmShape shape_of(const Gemm& gemm);
Tiling tiling_of(const Gemm& gemm);

/// Rows of C whose tiles are in step, on the average: where tiles wait, those of a group; where they release, those of
/// as many groups as so many units make at a time, as groups are made one after another; else 0, which stands for all.
std::uint64_t rows_in_step(const Gemm& gemm, std::uint32_t units);

/// The command of such a GEMM; it raises no tile signals.
Gemm gemm_command(const GemmShape& shape, const Tiling& tiling, const Region& a, const Region& b, const Region& c);

double flops(const GemmShape& shape);         ///< 2 m n k
Bytes operand_bytes(const GemmShape& shape);  ///< A, B and C, with their scales
Bytes read_bytes(const GemmShape& shape);     ///< A and B, with their scales
std::uint64_t workgroups(const GemmShape& shape, const Tiling& tiling);
/// "8192x57344x8192 bf16"; "64*8+100x512x7168 f8 to bf16, scales of 128": eight groups of 64 rows and one of 100.
std::string to_string(const GemmShape& shape);
std::optional<GemmShape> parse_gemm(std::string_view text, DType dtype);  ///< "8192x57344x8k"; none: something else

/// No dimension zero or beyond 2^28; M may be that of so many GPUs together (gemm.shape).
Status check_dimensions(const GemmShape& shape, std::uint32_t gpus = 1);

/// Whether the machine can do it alone: dimensions as above, element types that the machine has GEMMs of
/// (gemm.dtype), block scales that it knows the cost of (gemm.scales), groups that add up to m (gemm.shape), operands
/// that fit the memory of a GPU together with `beside` (gemm.memory), a machine file with [compute] (gemm.compute).
Status check_gemm_alone(const GemmShape& shape, const Machine& machine, Bytes beside = {});

/// The same, and whether programs have such GEMMs: floating point, C of the type of A and B, no scales, no groups.
Status check_gemm(const GemmShape& shape, const Machine& machine, Bytes beside = {});

/// Of the compute units, under GEMMs of the element type, as the machine file has it. The machine passed check_gemm.
double sustained_clock_ghz(DType dtype, const Machine& machine);

/// More operands than the memory can bring while the compute units multiply: the memory, not the units, sets the time.
bool is_memory_bound(const GemmShape& shape, const Machine& machine);

/// A GEMM in parts that no tile spans, as even as can be: an output map cuts it so.
struct ProductCut {
  std::uint64_t row_parts = 1;
  std::uint64_t column_parts = 1;
  bool whole_tiles = false;  ///< tiles wait or are waited for: no workgroups share one, and a last wave is not cut
  friend bool operator==(const ProductCut&, const ProductCut&) = default;
};

/// As libraries choose: of the tiles and splits that kernels exist for, those with the least estimated time on so many
/// compute units. The machine passed check_gemm, as for all that follows.
Tiling choose_tiling(const GemmShape& shape, const Machine& machine, std::uint32_t units, const ProductCut& cut = {});

/// Whether L2 can be too small for the windows of all workgroups. Libraries choose their kernels as if it never were.
enum class L2Windows { modelled, ample };

/// Where the tiles of C go.
enum class ResultPath {
  cached,   ///< through the caches, with the operands
  streamed  ///< past them, by stores that are no part of what a workgroup takes (output maps, GEMMs in stages)
};

/// What goes on beside a GEMM on its GPU.
struct GemmSurroundings {
  std::uint32_t streams = 0;  ///< workgroups of others, each of which keeps a window of the L2 caches
  Bytes cache_held{};         ///< of the last-level cache, by what others read and write
};

/// Workgroups of a GEMM that run side by side.
struct GemmWave {
  std::uint64_t running = 0;
  std::uint32_t units = 0;  ///< that the GEMM can have
  bool last = false;        ///< behind others, with nothing left to start: its tiles are cut for all units, as far as
                            ///< wave_rounding lets them
};

/// What one workgroup of a wave takes.
struct WorkgroupDemand {
  double seconds = 0;         ///< that it holds its unit if the memory does not keep it waiting
  double memory_seconds = 0;  ///< that it keeps the memory busy, at its full rate
  double cache_bytes = 0;     ///< in and out of L2, to and from the last-level cache
  double memory_bytes = 0;    ///< in and out of the memory
  double memory_writes = 0;   ///< of these, written
};

class GemmModel {
 public:
  /// The machine passed check_gemm and outlives the model. `rows_together`: of C, whose tiles are made side by side,
  /// where groups of tiles wait for each other's bytes no longer than for their own; 0 = all.
  GemmModel(const GemmShape& shape, const Tiling& tiling, const Machine& machine,
            L2Windows windows = L2Windows::modelled, ResultPath results = ResultPath::cached,
            std::uint64_t rows_together = 0);

  const GemmShape& shape() const { return shape_; }
  std::uint64_t workgroups() const { return workgroups_; }

  /// Of the whole GEMM alone on so many units, from the first load to the last store.
  double seconds(double units, double clock_ghz) const;

  struct InWaves {
    double seconds = 0;
    double memory_bytes = 0;
    std::uint64_t waves = 0;  ///< the last of which may be partial
  };
  /// The same, one wave after the other as the simulator runs them: where the memory sets the pace of full waves, a
  /// last one that leaves it idle costs more.
  InWaves in_waves(std::uint32_t units, double clock_ghz) const;
  WorkgroupDemand demand(const GemmWave& wave, double clock_ghz, const GemmSurroundings& beside = {}) const;

  /// What the whole GEMM takes, by cause, in seconds: each alone would take so long.
  struct Traffic {
    double reads = 0;      ///< of the memory
    double writes = 0;     ///< of C
    double beyond_l2 = 0;  ///< between L2 and what is beyond it
    double out_of_l2 = 0;  ///< to the compute units
    double sums = 0;       ///< partial sums of a split GEMM, out and in
  };
  struct Terms {
    double products = 0;
    double latency = 0;
    double l2 = 0;
    double memory = 0;
    double overhead = 0;  ///< of tiles behind the first wave, in which units do none of these
    double beside = 0;    ///< not overlapped with any of these: last stores, sums of splits
    double waves = 0;
    double resident_waves = 0;
    double last_wave = 1;  ///< share of all workgroups that are in the last wave, as if waves were equal
    Traffic traffic;
  };
  Terms terms(double units, double clock_ghz, const GemmSurroundings& beside = {}) const;
  /// The same terms at another clock.
  void set_clock(Terms& terms, double clock_ghz) const;
  /// seconds() by its terms.
  double seconds(const Terms& terms) const;
  /// Not above seconds() and in_waves() but for rounding, and quicker: the longest of what the units take.
  double least_seconds(double units, double clock_ghz) const;
  /// Not above least_seconds() with any tile, but for rounding: all multiplications at the full rate of the units, and
  /// the sums of the split.
  double least_of_split(double units, double clock_ghz) const;
  /// Whether the units alone, as if the memory had all operands at once, take longer than that. Few are as fast as
  /// their least time.
  bool takes_longer(double seconds, double units, double clock_ghz) const;

  friend bool operator==(const GemmModel&, const GemmModel&) = default;
  /// All but the machine.
  bool is_like(const GemmModel& other) const {
    return tiling_ == other.tiling_ && windows_ == other.windows_ && results_ == other.results_ &&
           rows_together_ == other.rows_together_ && shape_ == other.shape_;
  }

 private:
  struct Body {
    double seconds = 0;
    double of_units = 0;
    double of_memory = 0;
  };

  /// Sums of the terms to the power of overlap_sharpness: those of the units, and all.
  struct Powers {
    double of_units = 0;
    double of_all = 0;
  };

  void set_waves(Terms& terms, double units) const;
  void set_beside(Terms& terms) const;
  double sum_bytes() const;  ///< of a split: its partial sums, written and read
  double with_sums(double seconds) const;
  Terms terms_of_units(double units, double clock_ghz) const;  ///< all but the memory
  double residents() const;
  Powers powers(const Terms& terms) const;
  double operand_rows(double tiles) const;
  double refetched(double per_die) const;
  Traffic traffic(double units, const GemmSurroundings& beside) const;
  Traffic traffic_of_tiles() const;  ///< out of L2, and sums of splits: what does not depend on units and caches
  double memory_bytes(const Traffic& traffic) const;
  double memory_writes(const Traffic& traffic) const;
  Body body(const Terms& terms) const;
  double share_of_work(const GemmWave& wave, const Terms& terms) const;

  const Machine* machine_;
  GemmShape shape_;
  Tiling tiling_;
  double element_;    // bytes of an element of A, with its part of a scale
  double element_b_;  // of B
  double element_c_;  // of C
  double group_rows_;
  std::uint64_t tiles_n_;
  std::uint64_t workgroups_;
  L2Windows windows_;
  ResultPath results_;
  std::uint64_t rows_together_;
};

/// Calls in a row of the benchmark that ClockMode::bursts describes: six of nine graphs.
inline constexpr double kCallsInARow = 54;
/// Weights that such calls take in turn, so that they are cold unless all fit the caches.
inline constexpr double kWeightsInTurn = 6;

/// Of the compute units while the GEMM runs alone on so many of them: the highest at which the board keeps to its
/// cap, or sustained_clock_ghz where machine.clock is fixed or the machine does not describe power.
double gemm_clock_ghz(const GemmModel& model, const Machine& machine, std::uint32_t units);

/// gemm_clock_ghz with a memory: ranks and pieces multiply the same shapes over and over.
class GemmClocks {
 public:
  explicit GemmClocks(const Machine& machine) : machine_(machine) {}

  double of(const GemmModel& model, std::uint32_t units);

 private:
  struct Known {
    GemmModel model;
    std::uint32_t units = 0;
    double clock_ghz = 0;
  };

  const Machine& machine_;
  std::vector<Known> known_{};
};

/// What decides the clock of GEMMs on the machine, for people: "clocks by power: ...", "clocks fixed: ...".
std::string clock_text(const Machine& machine);

/// Of a GPU with the GEMM alone on so many units at that clock. The machine describes power.
double gemm_watts(const GemmModel& model, const Machine& machine, std::uint32_t units, double clock_ghz);
/// The same with all clocks at their lowest: no cap below it can be kept to.
double least_gemm_watts(const GemmModel& model, const Machine& machine, std::uint32_t units);

struct GemmEstimate {
  double seconds = 0;       ///< without launch and start
  double memory_bytes = 0;  ///< of the whole GEMM
  std::uint64_t waves = 0;  ///< the last of which may be partial
  double clock_ghz = 0;
};

/// Alone on a GPU with so many compute units, at the clock that it then has or at another one.
GemmEstimate estimate_gemm(const GemmShape& shape, const Tiling& tiling, const Machine& machine, std::uint32_t units,
                           std::optional<double> clock_ghz = {});

/// From the end of the kernel before it in a stream to its first workgroups.
Nanoseconds gemm_start(const Machine& machine);
/// The same of any command of a compute queue.
Nanoseconds start_of(const Command& command, const Machine& machine);
/// Of the first kernel of a queue, from its launch.
Nanoseconds first_start(const Queue& queue, const Machine& machine);

}  // namespace cortado
