// Everything that run() needs and that is created once: memory, queues, encoded frames, compiled host programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cortado/program.hpp"
#include "cortado/result.hpp"

#include "device/executor/address_map.hpp"
#include "device/executor/compute_stream.hpp"
#include "device/executor/contract_check.hpp"
#include "device/executor/device_resources.hpp"
#include "device/executor/executor.hpp"
#include "device/executor/host_program.hpp"
#include "device/executor/ring_writer.hpp"
#include "ir/visit.hpp"

namespace cortado::device {

/// Timestamp slots of the last `depth` iterations: those of iteration g begin `stride * (g % depth)` bytes after the
/// first.
struct SlotRing {
  const std::byte* data = nullptr;
  std::uint64_t stride = 0;
  std::uint64_t depth = 1;

  std::uint64_t offset(std::uint64_t iteration) const { return depth == 1 ? 0 : stride * (iteration % depth); }
};

struct Preparation {
  Preparation(const VerifiedProgram& verified_program, Driver& used_driver, bool with_trace)
      : verified(verified_program), driver(used_driver), trace(with_trace), resources(used_driver) {}

  const Program& program() const { return verified.program(); }

  VerifiedProgram verified;
  Driver& driver;
  bool trace;
  DeviceResources resources;

  std::vector<std::uint64_t> advances;     ///< by SignalId
  std::vector<std::uint64_t*> words;       ///< by SignalId
  bool kernels_submit = false;             ///< kernels ring doorbells of dma queues
  std::uint64_t* drain_word = nullptr;     ///< counts queues that have finished everything submitted
  std::uint64_t max_batch_iterations = 0;  ///< batch_iterations()
  AddressMap addresses;
  SlotLayout slot_layout;
  SlotRing slots;

  std::vector<TrackerHandle> trackers;  ///< in program order
  std::vector<RingWriter> dma;          ///< in queue order
  std::vector<ComputeStream> compute;   ///< in queue order
  std::vector<HostProgram> hosts;       ///< in queue order
  std::unique_ptr<ContractCheck> check;
  Bytes bytes_per_iteration;
  std::vector<Binding> bindings;  ///< by BufferId; empty: none is bound
  Bytes binding_alignment;        ///< required of the bound memory
};

/// Allocates, creates, encodes and compiles; on failure nothing is left behind.
Result<std::unique_ptr<Preparation>> make_preparation(const VerifiedProgram& verified, Driver& driver,
                                                      const PrepareOptions& options);

// How long a program may run before a counter leaves the range in which 32-bit polls compare
// exactly.
//
// DMA engines compare the low 32 bits of a counter (ir/engine_signals.hpp); counters of hosts and
// compute queues have 64. A run is cut into batches: between two batches the device is drained and
// all counters are reset to zero, which a program cannot notice, because its values are relative to
// the iteration.

/// For signals that no engine compares.
inline constexpr std::uint64_t kMaxWideCounter = (std::uint64_t{1} << 63) - 1;

/// The largest number n of iterations after which every counter and every awaited value is at most its limit,
/// kMaxEngineCounter or kMaxWideCounter: with D = advance and V = the largest value that one iteration adds up to, sets
/// or waits for, (n - 1) * D + V <= limit. Fails (device.counter) if not even one iteration fits, which the verifier
/// also rejects.
Result<std::uint64_t> batch_iterations(const Program& program, const std::vector<std::uint64_t>& advances);

/// Bytes that arrive at destinations: a Broadcast writes two destinations, a Swap both of its regions.
inline Bytes moved_bytes(const Command& command) {
  return match(
      command, [](const Copy& copy) { return copy.dst.bytes(); },
      [](const Broadcast& broadcast) { return broadcast.src.bytes() * 2; },
      [](const Swap& swap) { return swap.a.bytes() * 2; }, [](const auto&) { return Bytes{}; });
}

}  // namespace cortado::device
