// Runs verified programs over the driver seam.
//
// prepare() allocates memory and queues and encodes the packets once; run() replays them any number of times without
// planning, verifying or allocating again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/device/driver.hpp"
#include "cortado/timeline/timeline.hpp"
#include "cortado/verify/verify.hpp"

namespace cortado::device {

struct PrepareOptions {
  /// Record spans of the last iterations (at most 16): TIMESTAMP packets before and after every command of a dma queue,
  /// so that copies of one queue no longer overlap.
  bool trace = false;
};

enum class CheckOutputs {
  none,
  /// The callers fill inputs before the run and fresh ones before the last iteration, whose outputs are checked:
  /// cheaper than `every`, and as strict for that iteration.
  last,
  every,  ///< the caller of each rank fills fresh inputs before and checks all outputs after each iteration
};

/// What callers write and read in place of the pattern, of a program whose contract is a formula alone.
struct CallerData {
  /// Fills an input or inout buffer; the same every time it is asked in a run.
  std::function<void(BufferId, std::span<std::byte>)> write{};
  /// Sees an output or inout buffer after the last iteration.
  std::function<void(BufferId, std::span<const std::byte>)> read{};
};

struct RunOptions {
  std::uint32_t iterations = 1;
  std::uint64_t seed = 1;  ///< of the input pattern
  CallerData data{};
  CheckOutputs check = CheckOutputs::last;
  std::chrono::milliseconds timeout{10'000};        ///< without any progress
  std::optional<std::uint64_t> adversarial_seed{};  ///< host queues are interleaved at random, too
  std::function<bool()> stop{};                     ///< asked while waiting; true ends the run (device.interrupted)
  /// Called by the first host queue after each of its iterations, with how many there are.
  std::function<void(std::uint64_t done, std::uint64_t of)> progress{};
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

/// One queue's packets of one iteration, as a GPU would get them.
struct QueuePackets {
  QueueId queue;
  std::vector<std::uint32_t> dwords;
  /// start[i] = index of the first dword of command i; start.back() = dwords.size().
  std::vector<std::uint32_t> start;
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

  /// The packets of iteration 0 with the addresses of this preparation. start[i] of a traced preparation is the
  /// TIMESTAMP before command i.
  std::vector<QueuePackets> packets() const;

 private:
  struct Impl;
  explicit PreparedProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Packets of a program without a device, at addresses of a fixed layout, so that the bytes repeat: the buffers of rank
/// r one behind the other from 0x1000'0000'0000 * (r + 1), each aligned to the allocation alignment of the machine;
/// signals from 0x0f00'0000'0000, 64 bytes apart; timestamp slots from 0x0e00'0000'0000, 32 bytes apart.
Result<std::vector<QueuePackets>> encode_program(const VerifiedProgram& program);

}  // namespace cortado::device
