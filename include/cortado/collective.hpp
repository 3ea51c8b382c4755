// Planning collectives: from (collective, variant, bytes, ranks) to a Program. Most variants move data with DMA
// engines; the cores-* ones do it with kernels on compute units, as GPU-core libraries do, and are what the others
// compare with.
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

/// Who drives the engines.
enum class HostThreads {
  single,    ///< one host thread issues everything and waits for everything, as the DMA-Latte tool does
  per_rank,  ///< one host thread a GPU, as frameworks run; a barrier of signals before and after keeps ranks together
};

/// The words that prelaunched queues poll.
enum class TriggerWords {
  shared,     ///< one word for all queues of a host thread: one write starts them all
  per_queue,  ///< a word of its own for every queue, written one after another, as the DMA-Latte measurements did
};

/// What stands between the caller and the DMA engines.
enum class RuntimeMode {
  raw,      ///< nothing: the caller writes packets and rings doorbells itself, as the DMA-Latte tool does
  runtime,  ///< a GPU runtime: all copies of a GPU wait at a gate, a coordinator opens it and joins them
  library,  ///< a library's collective on copy engines: a barrier of all GPUs before the copies and one behind
  device,   ///< a kernel that writes packets and rings doorbells, with the barriers of a library
};

struct CollectiveRequest {
  Collective collective;
  std::string variant = "pcpy";  ///< "pcpy", "bcst", "b2b", ...; list_variants(collective)
  /// Size of the whole buffer, as nccl-tests count it: all-gather: the gathered output; all-to-all: a rank's send
  /// buffer; reduce-scatter: a rank's input; all-reduce, broadcast: the buffer; gather: the root's output; scatter: the
  /// root's input.
  Bytes bytes{};
  std::uint32_t ranks = 0;  ///< 0 = all GPUs of the machine
  bool prelaunch = false;   ///< queues are submitted first, hold at a poll, and start on a trigger
  TriggerWords trigger_words = TriggerWords::shared;
  bool in_place = false;
  bool own_block = true;     ///< all-to-all out of place: false leaves the block of a rank for itself to the caller
  DType dtype = DType::f32;  ///< element type of reductions; sizes must be whole elements there
  RankId root{};             ///< broadcast, gather, scatter, point-to-point (source)
  RankId peer{1};            ///< point-to-point (destination)
  std::uint32_t ways = 0;    ///< b2b: copies per engine at most; 0 = all on one engine
  /// On compute units: that a rank gives to the collective; 0 = as many as the machine's library takes
  /// (cores.collective_units, twice as many for sends and receives), all where the machine does not say.
  std::uint32_t compute_units = 0;
  RuntimeMode runtime = RuntimeMode::raw;  ///< of DMA engines; all others have one host thread a rank
  HostThreads host = HostThreads::single;  ///< cores-* always have per_rank, as such libraries run
};

/// The variant that a collective library (RCCL, NCCL) would choose; "rccl" and "nccl" are the same.
inline constexpr std::string_view kLibraryVariant = "library";

struct VariantInfo {
  Collective collective;
  std::string variant;
  std::string summary;
  bool in_place = false;      ///< can work in place
  bool out_of_place = false;  ///< can work out of place
  /// Moves data with kernels on compute units, not with DMA engines: one host thread a rank, whatever the request says,
  /// and no prelaunch, since a kernel holds its compute units while it waits.
  bool on_cores = false;
  /// On compute units: sends and receives have workgroups of their own, so that it needs twice the units of a
  /// collective that only sends.
  bool both_directions = false;
  /// One of those that a library chooses from (kLibraryVariant).
  bool of_library = false;
};

const std::vector<VariantInfo>& list_variants();  ///< of all collectives
std::span<const VariantInfo> list_variants(Collective collective);

/// The variant that stands behind kLibraryVariant for this collective, size and number of ranks. Fails with
/// plan.library if the machine does not say what its library does.
Result<std::string> library_variant(const CollectiveRequest& request, const Machine& machine);

/// Where nobody said: all-gather works in place, as its published counts do (56/56/56, 32/32/32, 56/8/8 on 8 GPUs), and
/// everything else out of place; a variant that can do only the other does the other.
bool default_in_place(Collective collective, const std::string& variant);

/// "raw", "runtime", "library" or "device"; refused with usage.runtime.
Result<RuntimeMode> parse_runtime_mode(std::string_view name);

/// The program, or why it cannot be: unknown names (with the nearest known one), sizes or alignments that the variant
/// cannot do on this machine (with the nearest sizes that it can), missing hardware features, too many ranks.
Result<Program> plan_collective(const CollectiveRequest& request, const Machine& machine);

}  // namespace cortado
