// Planning collectives: from (collective, variant, bytes, ranks) to a Program. Most variants move data with DMA
// engines; the cores-* ones use kernels on compute units, as GPU-core libraries do, and are the baseline of the
// others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado {

/// Which host threads drive the engines.
enum class HostThreads {
  single,    ///< one host thread submits everything and waits for everything, as in the DMA-Latte tool
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
  HostThreads host = HostThreads::single;  ///< cores-* always have per_rank, as in such libraries
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

}  // namespace cortado
