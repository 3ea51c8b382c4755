// One rank among the others of a segment: barriers, waiting, and how a failure of one rank reaches all.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "cortado/communicator.hpp"
#include "cortado/result.hpp"

#include "runtime/segment.hpp"

namespace cortado::runtime {

class Team {
 public:
  Team(std::shared_ptr<Segment> segment, std::uint32_t rank, std::chrono::milliseconds timeout);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return segment_->ranks(); }
  Segment& segment() const { return *segment_; }
  /// Whether there are more ranks than cores.
  bool share_cores() const { return share_cores_; }

  /// Whether a background thread is using the team now.
  void set_background(bool background) { background_ = background; }

  /// Tells the others what this rank calls now, and publishes what it wrote before; they may read it until the next
  /// call but one.
  Status announce(const Call& call, const Counts* counts = nullptr);
  /// Returns when all ranks have announced a call. Must follow every announcement, and wakes sleepers.
  Status meet();
  const Call& call_of(std::uint32_t rank) const { return segment_->block(rank).calls[calls_ % 2].call; }
  const Counts& counts_of(std::uint32_t rank) const { return segment_->block(rank).counts[calls_ % 2]; }
  /// Returns when all ranks have reached it. What they wrote before is then visible.
  Status barrier();

  /// Signals of proved programs: a rank raises its own, others wait for it. Their values are call numbers.
  void raise(std::uint32_t signal);
  Status wait_for(std::uint32_t rank, std::uint32_t signal);

  /// Returns when `there()` is true; others ring the bell of the segment when they have changed what it reads. `peers`
  /// has the bits of the ranks that must not leave meanwhile.
  template <class There>
  Status wait_until(There&& there, OperationKind in, std::uint64_t peers = 0) {
    Patience patience(spin_, background_);
    do {
      if (!there()) continue;
      patience.finish();
      return {};
    } while (patience.look_again());
    Watch watch{std::chrono::steady_clock::now(), {}, peers, 0};
    for (;;) {
      CORTADO_RETURN_IF_ERROR(failure());
      CORTADO_RETURN_IF_ERROR(look_for_trouble(watch, in));
      bool now = false;
      segment_->header().bell.sleep([&] { return (now = there()) || !failure(); }, kNap);
      if (now) return {};
    }
  }
  void ring() const { segment_->header().bell.ring(); }

  /// The failure that ended this team, if any.
  Status failure() const {
    if (segment_->header().failed.load(std::memory_order_acquire) != kWritten) [[likely]]
      return {};
    return known_failure();
  }
  /// Ends the team, unless it has already ended; returns the failure that ended it.
  Status end(const char* code, const std::string& report);

  /// Where bytes of a rank are in this process, or null if they have to be read from another process.
  const std::byte* view(std::uint32_t from, const Location& location, std::uint64_t offset) const;
  /// Reads bytes of another process; false if the system does not allow it.
  bool read(std::uint32_t from, const Location& location, std::uint64_t offset, std::byte* to,
            std::uint64_t bytes) const;
  Location locate(const std::byte* data) const;

 private:
  static constexpr std::chrono::milliseconds kNap{100};
  static constexpr std::uint32_t kWriting = 1;  // a report of a failure is being written
  static constexpr std::uint32_t kWritten = 2;
  Status known_failure() const;
  struct Watch {
    std::chrono::steady_clock::time_point start;
    std::chrono::steady_clock::time_point last_look;
    std::uint64_t peers;
    std::uint64_t gone;  ///< ranks seen to have left or ended; they may have done their part before, so it is checked
                         ///< once more
  };
  /// Returns when all ranks have counted to `number`, as this one has just done; wakes those that wait for it.
  template <class Counter>
  Status wait_for_all(Counter&& counter, std::uint64_t number);
  OperationKind current() const { return static_cast<OperationKind>(call_of(rank_).what.kind); }
  Status look_for_trouble(Watch& watch, OperationKind in);

  std::shared_ptr<Segment> segment_;
  std::uint32_t rank_;
  std::chrono::milliseconds timeout_;
  bool share_cores_;
  Spin spin_;
  bool background_ = false;
  std::uint64_t barriers_ = 0;
  std::uint64_t calls_ = 0;
};

}  // namespace cortado::runtime
