// Proved programs on the caller's own memory, on the embedded node: one caller drives all ranks, and software DMA
// engines move the bytes, packet by packet, as GPUs would.
//
//   NodeCommunicator node = NodeCommunicator::open(load_machine("mi300x-8").value()).value();
//   const CollectiveRequest request{.collective = "all-gather", .variant = "auto", .bytes = 8_KiB};
//   const Status done = node.run(request, sends, recvs);  // one span for each rank
//
// A program is planned, proved and prepared when a request comes for the first time. The next time, its packets get
// the new addresses and run again.
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

/// Memory of the caller for a buffer of a program; empty: the program allocates it.
using Binding = std::span<std::byte>;

/// A proved program on the caller's buffers, ready to run any number of times.
class BoundProgram {
 public:
  /// One binding for each buffer. Checks what the proof assumed: size, the alignment that packets need, and that no
  /// two overlap (device.binding); and that the memory exists (device.host_memory). The target must outlive it, and
  /// must be able to access the caller's memory: the embedded node.
  static Result<BoundProgram> prepare(const VerifiedProgram& program, Target& target,
                                      const std::vector<Binding>& bindings);
  BoundProgram(BoundProgram&&) noexcept;
  BoundProgram& operator=(BoundProgram&&) noexcept;
  ~BoundProgram();

  /// One iteration; when it returns, the outputs are complete.
  Status run();
  /// Submits the next run ahead, up to its triggers (CollectiveRequest::prelaunch). Then run() only writes
  /// the trigger words and waits for the work. Inputs may be written until then.
  Status arm();
  /// Other memory for the same buffers: only the addresses in the packets are replaced; nothing is planned, proved or
  /// encoded again. Not between arm() and run() (device.armed).
  Status rebind(std::span<const Binding> bindings);

 private:
  struct Impl;
  explicit BoundProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class NodeCommunicator {
 public:
  /// A node with this many GPUs of the machine; 0 = all.
  static Result<NodeCommunicator> open(const Machine& machine, std::uint32_t ranks = 0,
                                       const device::SoftOptions& options = {});
  NodeCommunicator(NodeCommunicator&&) noexcept;
  NodeCommunicator& operator=(NodeCommunicator&&) noexcept;
  ~NodeCommunicator();

  std::uint32_t ranks() const;

  /// `send` has the input buffers, `recv` the output buffers and those of in-place operations, one span per rank; empty
  /// for ranks without such a buffer. The variant "auto" is the fastest one at this size in the machine's model;
  /// the variable CORTADO_NODE_VARIANT overrides both.
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
  /// The communicator must outlive it.
  Result<Persistent> prepare(CollectiveRequest request, std::span<const std::span<std::byte>> send,
                             std::span<const std::span<std::byte>> recv);

  /// Which variant the last request used, and why.
  std::string explain() const;

 private:
  struct Impl;
  explicit NodeCommunicator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cortado
