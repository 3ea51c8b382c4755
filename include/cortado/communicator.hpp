// Collectives on the caller's own data: among processes or threads of one computer (Communicator), or as proved
// programs of DMA engines on the embedded node (NodeCommunicator, below).
//
// The ranks of a Communicator are processes (started by torchrun or mpirun) or threads of one process. Every rank has a
// Communicator and calls the same operations in the same order.
//
//   Communicator comm = Communicator::join(options_from_environment().value()).value();
//   const std::span<std::byte> bytes = std::as_writable_bytes(std::span(gradients));
//   const Status done = comm.run(all_reduce(Element::f32, bytes, bytes));
//
// Operations of a communicator run in the order in which they were started. Errors are values: a mistake of one rank,
// a rank that dies, a time-out and abort() end the waiting of every rank with a report of which rank and why.
// Sums are computed in rank order, so all ranks and all variants get the same bits.
// docs/runtime.md explains how it works.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cortado/result.hpp"

namespace cortado {

class VerifiedProgram;     // target.hpp
class Target;              // target.hpp
struct CollectiveRequest;  // plan.hpp
struct Machine;            // machine.hpp

/// Element types of reductions: those of programs, and two that only the communicator supports.
enum class Element { u8, i8, i32, i64, f16, bf16, f32, f64, f8 };
Bytes size_of(Element element);
std::string_view name_of(Element element);

/// Integers wrap. Small floats are combined in f32 and rounded once.
enum class Reduction { sum, min, max };
std::string_view name_of(Reduction reduction);

enum class OperationKind {
  barrier,
  all_gather,
  all_to_all,
  reduce_scatter,
  all_reduce,
  broadcast,
  gather,
  scatter,
  send,
  recv
};
std::string_view name_of(OperationKind kind);

/// The request of a rank. The functions below make them; buffers must stay alive until the operation is done.
struct Operation {
  OperationKind kind = OperationKind::barrier;
  std::span<const std::byte> send{};
  std::span<std::byte> recv{};
  Element element = Element::u8;  ///< of reductions
  Reduction reduction = Reduction::sum;
  std::uint32_t root = 0;  ///< of broadcast, gather, scatter; the peer of send and recv
  /// all-to-all with counts: bytes for and from each rank, contiguous in the buffers; all-gather with counts:
  /// only the bytes from each rank. Empty: equal blocks.
  std::vector<std::uint64_t> send_bytes{};
  std::vector<std::uint64_t> recv_bytes{};
};

using Sent = std::span<const std::byte>;
using Received = std::span<std::byte>;

Operation barrier();
/// In place: `send` is block `rank` of `recv`.
Operation all_gather(Sent send, Received recv);
/// Rank r sends recv_bytes[r] bytes. In place: `send` is its block of `recv`.
Operation all_gather_v(Sent send, Received recv, std::vector<std::uint64_t> recv_bytes);
/// In place: the same buffer twice.
Operation all_to_all(Sent send, Received recv);
Operation all_to_all_v(Sent send, std::vector<std::uint64_t> send_bytes, Received recv,
                       std::vector<std::uint64_t> recv_bytes);
/// In place: `recv` is block `rank` of `send`.
Operation reduce_scatter(Element element, Sent send, Received recv, Reduction reduction = Reduction::sum);
/// In place: the same buffer twice.
Operation all_reduce(Element element, Sent send, Received recv, Reduction reduction = Reduction::sum);
Operation broadcast(Received buffer, std::uint32_t root);
Operation gather(Sent send, Received recv, std::uint32_t root);   ///< `recv` of the root only
Operation scatter(Sent send, Received recv, std::uint32_t root);  ///< `send` of the root only
Operation send(Sent data, std::uint32_t to);
Operation recv(Received data, std::uint32_t from);

struct CommunicatorOptions {
  std::string name{};  ///< the same for all ranks, different for every communicator that exists at the same time
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::chrono::milliseconds timeout{30'000};  ///< how long a rank waits for others, at the start and in every operation
  Bytes window = 1_GiB;                       ///< of a rank, for allocate(); takes memory only when used
  /// Empty: chosen by size and memory. "slots", "staged" or "direct": for everything. Or rules, the first of which that
  /// fits applies: "all-gather<=64KiB:slots, all-gather:direct, <=1MiB:staged". The variable CORTADO_VARIANT overrides
  /// it.
  std::string variant{};
  /// Size of the largest cache of a core; the value of rank 0 counts. Operations on more than half of it use
  /// non-temporal stores. 0: as the system reports.
  Bytes cache{};
};

/// Rank, ranks and name from torchrun, mpirun (Open MPI, MPICH) or the variables CORTADO_RANK, CORTADO_RANKS and
/// CORTADO_NAME.
Result<CommunicatorOptions> options_from_environment();

/// An operation that was started.
class Work {
 public:
  Work() = default;
  /// True once it has succeeded or failed.
  bool test() const;
  Status wait() const;

 private:
  friend class Communicator;
  struct State;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

class Communicator {
 public:
  /// Waits until all ranks have joined. Errors: runtime.options, runtime.join (a rank did not join, or the system
  /// refused memory).
  static Result<Communicator> join(const CommunicatorOptions& options);
  /// One for each of `ranks` threads of this process; rank and name of the options are ignored.
  static Result<std::vector<Communicator>> threads(std::uint32_t ranks, const CommunicatorOptions& options = {});

  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  /// Leaves; ranks that still wait for this rank get an error.
  ~Communicator();

  std::uint32_t rank() const;
  std::uint32_t ranks() const;

  /// Runs the operation after everything that was started before. Errors: runtime.arguments, runtime.mismatch (the
  /// ranks made different calls; the communicator stays usable), runtime.timeout, runtime.peer (a rank died or left),
  /// runtime.aborted. After the last three, every operation of every rank fails with the same report.
  Status run(const Operation& operation);
  /// The same in the background, on a thread that the first call starts.
  Work start(Operation operation);

  /// An operation whose arguments are checked once and that then runs repeatedly on the same buffers. The
  /// communicator must outlive it and must not be moved meanwhile.
  class Persistent {
   public:
    Status run();
    Work start();

   private:
    friend class Communicator;
    Persistent(Communicator& communicator, Operation operation)
        : communicator_(&communicator), operation_(std::move(operation)) {}
    Communicator* communicator_;
    Operation operation_;
  };
  Result<Persistent> prepare(Operation operation);

  /// Memory that all ranks of the communicator access without an intermediate copy; it is taken from `window`. Other
  /// memory works as well: messages below 16 KiB cost the same, larger ones a second copy or a system call per 2 MiB.
  Result<std::span<std::byte>> allocate(Bytes bytes);
  void release(std::span<std::byte> memory);

  /// Ends every operation of every rank with runtime.aborted. Any thread may call it.
  void abort(const std::string& reason);

  /// Which variant the last operation used, and why.
  std::string explain() const;

 private:
  struct Impl;
  explicit Communicator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// --- On the embedded node --------------------------------------------------------------------------------------------
//
// Proved programs on the caller's own memory, on the embedded node: one caller drives all ranks, and software DMA
// engines move the bytes, packet by packet, as GPUs would.
//
//   NodeCommunicator node = NodeCommunicator::open(load_machine("mi300x-8").value()).value();
//   const CollectiveRequest request{.collective = "all-gather", .variant = "auto", .bytes = 8_KiB};
//   const Status done = node.run(request, sends, recvs);  // one span for each rank
//
// A program is planned, proved and prepared when a request comes for the first time. The next time, its packets get
// the new addresses and run again.

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
  static Result<NodeCommunicator> open(const Machine& machine, std::uint32_t ranks = 0);
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
