#include "device/vkfd/model_clock.hpp"

#include <algorithm>

#include "device/soft/node_clock.hpp"
#include "device/soft/transfer.hpp"
#include "device/vkfd/packet_words.hpp"

namespace cortado::device::vkfd {
namespace {

constexpr std::uint64_t kSignalWord = sizeof(std::uint64_t);
constexpr std::size_t kMostPending = 1024;  // transfers of a queue that nothing waits for

std::uint64_t nanoseconds(Nanoseconds time) {
  return static_cast<std::uint64_t>(time.value);
}

}  // namespace

ModelClock::ModelClock(const Machine& machine, Home home, const FaultInjection& faults, std::unique_ptr<PacketLog> log)
    : timing_(machine.timing->engine),
      home_(std::move(home)),
      slow_(faults.slow_engines),
      log_(std::move(log)),
      times_(machine) {}

ModelClock::QueueTime& ModelClock::time_of(const SdmaQueue& queue) {
  QueueTime& time = queues_[queue.id];
  time.queue = queue;
  return time;
}

std::uint64_t ModelClock::slowness(const SdmaQueue& queue) const {
  const auto found = std::ranges::find_if(
      slow_, [&](const auto& slow) { return slow.gpu == queue.gpu && slow.engine == queue.engine; });
  return found == slow_.end() ? 1 : found->factor;
}

void ModelClock::announced(const SdmaQueue& queue, std::uint64_t offset, std::uint64_t time) {
  const std::lock_guard lock(mutex_);
  time_of(queue).doorbells.push_back({offset, time});
}

/// The transfers since the last packet that drained or waited have times.
void ModelClock::settle(QueueTime& time) {
  if (time.moves.empty()) return;
  const SdmaQueue& queue = time.queue;
  std::uint64_t& free = free_[{queue.gpu.value, queue.engine.value}];
  const std::uint64_t begin = std::max(time.now, free);
  const std::uint64_t factor = slowness(queue);
  const auto& spans = times_.of(queue.gpu.value, queue.engine.value, time.moves);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    time.drained = std::max(time.drained, begin + spans[i].end * factor);
    if (!log_) continue;
    const Pending& each = time.pending[i];
    log_->add(queue, each.packet, each.place, begin + spans[i].begin * factor, begin + spans[i].end * factor);
  }
  free = std::max(free, time.drained);
  time.moves.clear();
  time.pending.clear();
}

void ModelClock::fetched(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) {
  const std::lock_guard lock(mutex_);
  QueueTime& time = time_of(queue);
  while (time.doorbells.size() > 1 && time.doorbells.front().offset <= place.offset) time.doorbells.pop_front();
  if (!time.doorbells.empty()) {
    const std::uint64_t read = time.doorbells.front().time + nanoseconds(timing_.fetch);
    if (read > time.now) {
      settle(time);
      time.now = read;
    }
  }
  if (const auto move = move_of(packet, queue.gpu.value, home_)) {
    time.moves.push_back(*move);
    if (log_) time.pending.push_back({packet, place});
    if (time.moves.size() >= kMostPending) settle(time);
  }
}

/// When a packet that moves no bytes takes effect, as far as that is known before it is tried.
void ModelClock::decide(QueueTime& time, const sdma::Packet& packet) {
  time.first_try = soft::steady_nanoseconds();
  time.tries = 0;
  settle(time);
  if (soft::drains(packet)) time.now = std::max(time.now, time.drained);
  time.begun = time.now;
  if (released_word(packet)) time.now += nanoseconds(timing_.sync);
}

bool ModelClock::due(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) {
  const std::lock_guard lock(mutex_);
  QueueTime& time = time_of(queue);
  if (time.decided <= place.index) {
    decide(time, packet);
    time.decided = place.index + 1;
  }
  const std::uint64_t wall = soft::steady_nanoseconds();
  if (wall < time.now) return false;
  ++time.tries;
  // Before the word is written, so that nobody sees the word without its time.
  if (const auto word = released_word(packet)) words_[*word / kSignalWord] = {time.now, wall};
  return true;
}

void ModelClock::finished(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) {
  if (soft::transfer_shape(packet)) return;
  const std::lock_guard lock(mutex_);
  QueueTime& time = time_of(queue);
  if (const auto word = acquired_word(packet); word && !released_word(packet)) {
    const auto signal = words_.find(*word / kSignalWord);
    const bool waited = time.tries > 1;
    if (signal != words_.end() && (!waited || signal->second.written >= time.first_try)) {
      if (signal->second.time > time.now) time.now = signal->second.time + nanoseconds(timing_.wake);
    } else if (waited) {
      time.now = std::max(time.now, soft::steady_nanoseconds());
    }
  }
  if (log_) log_->add(queue, packet, place, time.begun, time.now);
}

std::uint64_t ModelClock::stamp(const SdmaQueue& queue) {
  const std::lock_guard lock(mutex_);
  return time_of(queue).now;
}

void ModelClock::queue_gone(const SdmaQueue& queue) {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue.id);
  if (found == queues_.end()) return;
  settle(found->second);
  queues_.erase(found);
}

void ModelClock::settle_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [id, time] : queues_) settle(time);
}

void ModelClock::memory_gone(const soft::Range& range) {
  const std::lock_guard lock(mutex_);
  words_.erase(words_.lower_bound(range.begin / kSignalWord), words_.lower_bound(range.end / kSignalWord));
}

}  // namespace cortado::device::vkfd
