// Proved programs on the caller's own memory, on the embedded node: one caller drives all ranks, and software DMA
// engines move the bytes, packet by packet as those of GPUs would.
//
//   NodeCommunicator node = NodeCommunicator::open(load_machine("mi300x-8").value()).value();
//   const CollectiveRequest request{.collective = "all-gather", .variant = "auto", .bytes = 8_KiB};
//   const Status done = node.run(request, sends, recvs);  // one span for each rank
//
// A program is planned, proved and prepared when a request comes for the first time; the next time its packets get the
// new addresses and run again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cortado/collective.hpp"
#include "cortado/machine.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"
#include "cortado/verify.hpp"

namespace cortado {

/// Memory of the caller for a buffer of a program; empty: the program gets its own.
using Binding = std::span<std::byte>;

/// A proved program whose buffers are the caller's, ready to run any number of times.
class BoundProgram {
 public:
  /// One binding for each buffer. What the proof assumed is checked: size, the alignment that packets need, and that no
  /// two overlap (device.binding); and that the memory is there (device.host_memory). The target outlives it, and is
  /// one that reaches the caller's memory: the embedded node.
  static Result<BoundProgram> prepare(const VerifiedProgram& program, Target& target,
                                      const std::vector<Binding>& bindings);
  BoundProgram(BoundProgram&&) noexcept;
  BoundProgram& operator=(BoundProgram&&) noexcept;
  ~BoundProgram();

  /// One iteration; when it returns, the outputs are there.
  Status run();
  /// Submits the next run ahead, up to its triggers (CollectiveRequest::prelaunch): what remains of run() is a write of
  /// the trigger words, and the work. Inputs may be written until then.
  Status arm();
  /// Other memory for the same buffers: addresses are written into the packets, nothing is planned, proved or encoded
  /// anew. Not between arm() and run() (device.armed).
  Status rebind(std::span<const Binding> bindings);

 private:
  struct Impl;
  explicit BoundProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class NodeCommunicator {
 public:
  /// A node of so many GPUs of the machine; 0 = all.
  static Result<NodeCommunicator> open(const Machine& machine, std::uint32_t ranks = 0,
                                       const device::SoftOptions& options = {});
  NodeCommunicator(NodeCommunicator&&) noexcept;
  NodeCommunicator& operator=(NodeCommunicator&&) noexcept;
  ~NodeCommunicator();

  std::uint32_t ranks() const;

  /// Input buffers are `send`, output buffers and those of operations in place `recv`, one span a rank; ranks that have
  /// no such buffer have empty ones. The variant "auto" is the one that the machine's model finds fastest at this size;
  /// the variable CORTADO_NODE_VARIANT beats both.
  Status run(const CollectiveRequest& request, std::span<const std::span<std::byte>> send,
             std::span<const std::span<std::byte>> recv);

  /// Prelaunched and armed: every run() writes the trigger and waits, then submits the next one ahead.
  class Persistent {
   public:
    Status run();

   private:
    friend class NodeCommunicator;
    explicit Persistent(BoundProgram program) : program_(std::move(program)) {}
    BoundProgram program_;
  };
  /// The communicator outlives it.
  Result<Persistent> prepare(CollectiveRequest request, std::span<const std::span<std::byte>> send,
                             std::span<const std::span<std::byte>> recv);

  /// Which variant the last request got, and why.
  std::string explain() const;

 private:
  struct Impl;
  explicit NodeCommunicator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cortado
