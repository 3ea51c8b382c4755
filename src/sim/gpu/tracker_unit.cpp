#include "sim/gpu/tracker_unit.hpp"

#include <algorithm>
#include <utility>

namespace cortado::sim {

TrackerUnit::TrackerUnit(Core& core, QueueControl& control)
    : core_(core),
      control_(control),
      trackers_(core.program, core.machine),
      waiting_(core.program.queues.size()),
      waiters_(core.program.ranks) {}

bool TrackerUnit::open(std::uint32_t queue, const Copy& copy) {
  if (!trackers_.watches(copy.dst.buffer)) return true;
  std::optional<std::uint32_t> missing;
  trackers_.for_each_within(copy.dst, [&](std::uint32_t tracker, std::uint64_t) {
    if (!missing && !trackers_.open(tracker)) missing = tracker;
  });
  if (missing) {
    wait(queue, *missing);
  } else {
    stop_waiting(queue);
  }
  return !missing;
}

void TrackerUnit::wait(std::uint32_t queue, std::uint32_t tracker) {
  if (!waiting_[queue].since) waiting_[queue].since = core_.now();
  waiting_[queue].tracker = tracker;
  std::vector<std::uint32_t>& waiters = waiters_[trackers_.gpu_of(tracker).value];
  if (std::ranges::find(waiters, queue) == waiters.end()) waiters.push_back(queue);
}

void TrackerUnit::stop_waiting(std::uint32_t queue) {
  const auto since = std::exchange(waiting_[queue].since, std::nullopt);
  if (since) seconds_waited_ += to_seconds(core_.now() - *since);
}

std::optional<std::uint32_t> TrackerUnit::waits_for(std::uint32_t queue) const {
  if (!waiting_[queue].since) return std::nullopt;
  return waiting_[queue].tracker;
}

void TrackerUnit::land_copy(const Copy& copy, std::uint32_t span) {
  if (!trackers_.watches(copy.dst.buffer)) return;
  std::vector<TrackerUpdate> updates;
  trackers_.for_each_within(copy.dst, [&](std::uint32_t tracker, std::uint64_t bytes) {
    updates.push_back({tracker, bytes});
  });
  land(updates, false, span);  // the start-up time of the copy included the latency
}

void TrackerUnit::land(std::span<const TrackerUpdate> updates, bool over_link, std::uint32_t span) {
  for (const TrackerUpdate& one : updates) {
    if (!over_link) {
      update(one, span);
      continue;
    }
    auto index = static_cast<std::uint32_t>(landings_.size());
    if (free_landings_.empty()) {
      landings_.push_back({one, span});
    } else {
      index = free_landings_.back();
      free_landings_.pop_back();
      landings_[index] = {one, span};
    }
    core_.events.post(core_.now() + to_sim_time(core_.timing.link.latency), EventClass::end,
                      {EventKind::update_lands, index});
  }
}

void TrackerUnit::landed(std::uint32_t index) {
  const Landing landing = landings_[index];
  free_landings_.push_back(index);
  update(landing.update, landing.span);
}

void TrackerUnit::update(const TrackerUpdate& update, std::uint32_t span) {
  if (!trackers_.update(update)) return;
  const Tracker& tracker = core_.program.trackers[update.tracker];
  const std::uint32_t raise = core_.signals.keep({tracker.signal, tracker.value, SignalOp::add, span});
  core_.events.post(core_.now(), EventClass::begin, {EventKind::signal_visible, raise});
  // Its entries are free, and another tracker is now the first that is not complete.
  const auto waiters = std::exchange(waiters_[trackers_.gpu_of(update.tracker).value], {});
  for (const std::uint32_t queue : waiters) {
    if (waiting_[queue].since)
      control_.entries_are_free(queue);  // otherwise another writer has opened its tracker in the meantime
  }
}

}  // namespace cortado::sim
