// What a collective library (NCCL, RCCL) runs: which variant it chooses for a size and a number of ranks, and the rings
// that it lays over the links.
//
// The choice follows the libraries' own: by their estimate for every protocol (ProtocolEstimate of the machine),
// whatever the protocol really takes, after a few thresholds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/collective/ring.hpp"

namespace cortado::plan {

/// The name of a ring variant of the protocol: "ring-ll".
std::string_view ring_variant(Protocol protocol);

/// What the variant `library` means on copy engines (RuntimeMode): "b2b" for batches that the runtime sends through one
/// engine (library.batch_bytes), otherwise "pcpy".
std::string engine_variant(const CollectiveRequest& request, const Machine& machine);

/// Rings over all ranks that load all links evenly. A single one if every pair shares the ports of a switch. On a full
/// mesh, the Hamiltonian cycles of the zigzag construction (Walecki) and their reverses: for N ranks, N-1 rings that
/// use every link once if N is odd, 2 (N-1) rings that use every link twice if it is even.
std::vector<std::vector<RankId>> balanced_rings(std::uint32_t ranks, const Machine& machine);

/// A ring of the collective and its compute units: it takes the corresponding share of every block.
struct LibraryRing {
  Ring ring;
  std::uint32_t units = 1;
};

/// The rings of the collective as parts of one kernel per rank; `block` is the largest block of a rank.
std::vector<LibraryRing> library_rings(Schedule& schedule, Protocol protocol, Bytes block);

/// How many bytes of a reduction in the switch a compute unit processes at a time.
Bytes multicast_chunk(Bytes bytes, std::uint32_t ranks, std::uint32_t units);

}  // namespace cortado::plan
