// The unit of each GPU that tracks memory: queues that wait for its entries, and updates in transit to it.
//
//   trackers   get an update when the run of stores or the copy that makes it has ended; stores over a link need
//              `links.latency` more, which for copies is part of copy_start. The update that completes a tracker raises
//              its signal at once, at no cost
//   entries    a batch of workgroups, or a copy, starts only if there are entries for the trackers that it updates
//              (trackers.hpp)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/gpu/queues.hpp"
#include "sim/gpu/trackers.hpp"

namespace cortado::sim {

class TrackerUnit {
 public:
  TrackerUnit(Core& core, QueueControl& control);

  Trackers& trackers() { return trackers_; }
  const Trackers& trackers() const { return trackers_; }

  /// Takes entries for everything that the copy of a queue updates; false if the queue has to wait for some.
  bool open(std::uint32_t queue, const Copy& copy);
  /// The queue continues when the tracker's GPU has entries again.
  void wait(std::uint32_t queue, std::uint32_t tracker);
  void stop_waiting(std::uint32_t queue);

  void land(std::span<const TrackerUpdate> updates, bool over_link, std::uint32_t span);
  void land_copy(const Copy& copy, std::uint32_t span);
  void landed(std::uint32_t landing);  ///< an update has arrived over a link

  /// The tracker whose entries a queue waits for.
  std::optional<std::uint32_t> waits_for(std::uint32_t queue) const;
  double seconds_waited() const { return seconds_waited_; }

 private:
  /// An update in transit to the memory.
  struct Landing {
    TrackerUpdate update;
    std::uint32_t span;
  };
  struct Waiting {
    std::optional<SimTime> since;
    std::uint32_t tracker = 0;
  };

  void update(const TrackerUpdate& update, std::uint32_t span);

  Core& core_;
  QueueControl& control_;
  Trackers trackers_;
  std::vector<Waiting> waiting_;                     // by queue
  std::vector<std::vector<std::uint32_t>> waiters_;  // queues, by GPU of the tracker
  std::vector<Landing> landings_;
  std::vector<std::uint32_t> free_landings_;
  double seconds_waited_ = 0;
};

}  // namespace cortado::sim
