// Everything that run() needs and that is created once: memory, queues, encoded frames, compiled host programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/executor/address_map.hpp"
#include "device/executor/compute_stream.hpp"
#include "device/executor/contract_check.hpp"
#include "device/executor/device_resources.hpp"
#include "device/executor/executor.hpp"
#include "device/executor/host_program.hpp"
#include "device/executor/ring_writer.hpp"

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
  std::uint64_t max_batch_iterations = 0;  ///< signal_range.hpp
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

}  // namespace cortado::device
