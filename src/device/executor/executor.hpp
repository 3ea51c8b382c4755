// Runs verified programs over the driver seam.
//
// prepare() allocates memory and queues and encodes the packets once; run() replays them any number of times without
// planning, verifying or allocating again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cortado/packets.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"
#include "cortado/timeline.hpp"

#include "device/driver/driver.hpp"

namespace cortado::device {

/// Memory of the caller for a buffer; empty: the program allocates its own.
using Binding = std::span<std::byte>;

struct PrepareOptions {
  /// Record spans of the last iterations (at most 16): adds TIMESTAMP packets before and after every command of a dma
  /// queue, so copies of one queue no longer overlap.
  bool trace = false;
  /// By BufferId; empty: all buffers are allocated by the program. What the proof assumes about buffers is checked:
  /// each must have its size and the alignment that its packets need, and none may overlap another (device.binding).
  /// The memory remains the caller's and must stay in place while the preparation lives. Not with tracing.
  std::vector<Binding> bindings{};
};

struct RunResult {
  Timeline timeline;
  std::uint64_t wrong_bytes = 0;  ///< output bytes that differ from the contract, over all checked iterations
  std::uint64_t checked_bytes = 0;
  std::optional<Diagnostic> first_wrong;  ///< names rank, buffer, offset, expected and actual
  /// For programs with trackers: the maximum number of tracker entries of a GPU in use at a time (driver.hpp), since
  /// preparation.
  std::uint64_t tracker_entries_peak = 0;
};

class PreparedProgram {
 public:
  static Result<PreparedProgram> prepare(const VerifiedProgram& program, Driver& driver,
                                         const PrepareOptions& options = {});
  PreparedProgram(PreparedProgram&&) noexcept;
  PreparedProgram& operator=(PreparedProgram&&) noexcept;
  ~PreparedProgram();

  /// Runs the iterations. Errors: an engine fault (device.fault); no progress within the timeout (device.timeout),
  /// naming every stuck queue, its rank, the command it is at and what it waits for; or an interruption
  /// (device.interrupted). After an error, prepare again: the driver itself stays usable.
  Result<RunResult> run(const RunOptions& options);

  /// One iteration on the current contents of the caller's buffers, without filling, checking, timing or allocating;
  /// when it returns, the outputs are complete. Errors as for run().
  Status replay();
  /// Submits the next replay() in advance, up to its triggers (CollectiveRequest::prelaunch): what remains then is
  /// writing the trigger words and the work itself. Does nothing for programs without triggers.
  Status arm();

  /// Binds other memory for the same buffers as before, without planning, proving or encoding again: the addresses in
  /// the packets are overwritten. Fails like prepare(), and between arm() and replay() (device.armed).
  Status rebind(std::span<const Binding> bindings);

  /// The packets of iteration 0 with the addresses of this preparation. In a traced preparation, start[i] is the
  /// TIMESTAMP before command i.
  std::vector<QueuePackets> packets() const;

 private:
  struct Impl;
  explicit PreparedProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cortado::device
