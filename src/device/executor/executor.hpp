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
#include "cortado/verify.hpp"

#include "device/driver/driver.hpp"

namespace cortado::device {

/// Memory of the caller for a buffer; empty: the program gets its own.
using Binding = std::span<std::byte>;

struct PrepareOptions {
  /// Record spans of the last iterations (at most 16): TIMESTAMP packets before and after every command of a dma queue,
  /// so that copies of one queue no longer overlap.
  bool trace = false;
  /// By BufferId; empty: all buffers are the program's own. What the proof assumed of buffers is checked: each has its
  /// size and the alignment that its packets need, and none overlaps another (device.binding). The memory stays the
  /// caller's, and stays where it is while the preparation lives. Not with tracing.
  std::vector<Binding> bindings{};
};

struct RunResult {
  Timeline timeline;
  std::uint64_t wrong_bytes = 0;  ///< output bytes that differ from the contract, over all checked iterations
  std::uint64_t checked_bytes = 0;
  std::optional<Diagnostic> first_wrong;  ///< names rank, buffer, offset, expected and actual
  /// Of a program with trackers: the most tracker entries of a GPU in use at a time (driver.hpp), since it was
  /// prepared.
  std::uint64_t tracker_entries_peak = 0;
};

class PreparedProgram {
 public:
  static Result<PreparedProgram> prepare(const VerifiedProgram& program, Driver& driver,
                                         const PrepareOptions& options = {});
  PreparedProgram(PreparedProgram&&) noexcept;
  PreparedProgram& operator=(PreparedProgram&&) noexcept;
  ~PreparedProgram();

  /// Runs the iterations. Errors: an engine fault (device.fault), no progress within the time-out (device.timeout),
  /// which names every stuck queue, its rank and the command it is at, and what it waits for, or that it was stopped
  /// (device.interrupted). After an error prepare again: the driver itself stays usable.
  Result<RunResult> run(const RunOptions& options);

  /// One iteration on what the caller's buffers hold, without filling and checking, times and allocations; when it
  /// returns, the outputs are there. Errors as of run().
  Status replay();
  /// Submits the next replay() ahead, up to its triggers (CollectiveRequest::prelaunch): what then remains is a write
  /// of the trigger words and the work itself. Nothing for programs without triggers.
  Status arm();

  /// Binds other memory, of the same buffers as before, without planning, proving or encoding anew: addresses in the
  /// packets are written over. Refused as prepare() does, and between arm() and replay() (device.armed).
  Status rebind(std::span<const Binding> bindings);

  /// The packets of iteration 0 with the addresses of this preparation. start[i] of a traced preparation is the
  /// TIMESTAMP before command i.
  std::vector<QueuePackets> packets() const;

 private:
  struct Impl;
  explicit PreparedProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cortado::device
