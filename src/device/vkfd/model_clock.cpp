#include "device/vkfd/model_clock.hpp"

#include <algorithm>
#include <utility>

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
      window_(machine, log_.get()) {}

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
  QueueTime& times = time_of(queue);
  times.doorbells.push_back({offset, time});
  if (times.state == State::rests) times.state = State::works;
}

void ModelClock::lost(const SdmaQueue& queue, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  QueueTime& time = time_of(queue);
  std::erase_if(time.doorbells, [&](const Doorbell& doorbell) { return doorbell.offset == offset; });
  if (time.doorbells.empty() && time.state == State::works) time.state = State::rests;
}

/// Ignored if there is a doorbell that the queue has not seen.
void ModelClock::rests(const SdmaQueue& queue, std::uint64_t announced) {
  const std::lock_guard lock(mutex_);
  QueueTime& time = time_of(queue);
  if (!time.doorbells.empty() && time.doorbells.back().offset > announced) return;
  end_list(time);
  time.state = State::rests;
}

// --- Who comes first -------------------------------------------------------------------------------------------------

/// When the current packet takes effect, as far as is known.
std::uint64_t ModelClock::effect(const QueueTime& time) {
  if (time.certain || !time.drains) return time.now;
  return std::max(time.now, window_.end_of(time.queue.id));
}

/// A lower bound of when the queue begins its next transfer.
std::uint64_t ModelClock::earliest_list(const QueueTime& time) {
  switch (time.state) {
    case State::rests:
      return kNever;
    case State::works: {
      if (!time.moves.empty() || time.doorbells.size() != 1) return time.now;
      return std::max(time.now, time.doorbells.front().time + nanoseconds(timing_.fetch));
    }
    case State::tries:
      return effect(time);
    case State::holds:
      return time.released;
  }
  return time.now;
}

std::uint64_t ModelClock::earliest_list_of_others(const QueueTime& time) {
  std::uint64_t earliest = kNever;
  for (const auto& [id, other] : queues_) {
    if (&other != &time) earliest = std::min(earliest, earliest_list(other));
  }
  return earliest;
}

/// Queues that wait for the word continue at that time, or this many checks show that they do not.
void ModelClock::expect(std::uint64_t word, std::uint64_t time, std::uint32_t looks) {
  for (auto& [id, other] : queues_) {
    if (other.state != State::holds || other.word != word) continue;
    other.released = std::min(other.released, time);
    other.looks = looks;
  }
}

// --- Packets ---------------------------------------------------------------------------------------------------------

/// No more transfers are added to those since the last packet that drained or waited.
void ModelClock::end_list(QueueTime& time) {
  if (time.moves.empty()) return;
  const SdmaQueue& queue = time.queue;
  window_.add({queue,
               {queue.gpu.value, queue.engine.value, time.now, std::exchange(time.moves, {})},
               slowness(queue),
               std::exchange(time.packets, {})},
              std::min(time.now, earliest_list_of_others(time)));
}

void ModelClock::fetched(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) {
  const std::lock_guard lock(mutex_);
  QueueTime& time = time_of(queue);
  time.state = State::works;
  while (time.doorbells.size() > 1 && time.doorbells.front().offset <= place.offset) time.doorbells.pop_front();
  if (!time.doorbells.empty()) {
    const std::uint64_t read = time.doorbells.front().time + nanoseconds(timing_.fetch);
    if (read > time.now) {
      end_list(time);
      time.now = read;
    }
  }
  if (const auto move = move_of(packet, queue.gpu.value, home_)) {
    time.moves.push_back(*move);
    if (log_) time.packets.push_back({packet, place});
    if (time.moves.size() >= kMostPending) end_list(time);
  }
}

void ModelClock::meet(QueueTime& time, const sdma::Packet& packet) {
  end_list(time);
  time.state = State::tries;
  time.drains = soft::drains(packet);
  time.certain = false;
  time.first_try = soft::steady_nanoseconds();
  time.tries = 0;
  const auto word = acquired_word(packet);
  time.word = word ? *word / kSignalWord : kNever;
  time.released = kNever;
}

/// Whether the time of the packet is certain and has come.
bool ModelClock::decide(QueueTime& time, const sdma::Packet& packet, std::uint64_t wall) {
  if (!time.certain) {
    const std::uint64_t at = effect(time);
    if (wall < at) return false;  // more doorbells may still come
    if (time.drains && earliest_list_of_others(time) < at) return false;
    time.certain = true;
    time.begun = at;
    time.now = at + (released_word(packet) ? nanoseconds(timing_.sync) : 0);
  }
  return wall >= time.now;
}

bool ModelClock::due(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) {
  const std::lock_guard lock(mutex_);
  QueueTime& time = time_of(queue);
  if (time.met <= place.index) {
    meet(time, packet);
    time.met = place.index + 1;
  }
  const std::uint64_t wall = soft::steady_nanoseconds();
  if (!decide(time, packet, wall)) return false;
  if (++time.tries > 1) time.state = State::holds;
  if (time.released != kNever && time.looks-- == 0) time.released = kNever;
  // Before the word is written, so that nobody sees the word without its time.
  if (const auto word = released_word(packet)) {
    words_[*word / kSignalWord] = {time.now, wall};
    expect(*word / kSignalWord, time.now, kMostPending);
  }
  return true;
}

void ModelClock::finished(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) {
  if (soft::transfer_shape(packet)) return;
  const std::lock_guard lock(mutex_);
  QueueTime& time = time_of(queue);
  time.state = State::works;
  if (const auto word = acquired_word(packet); word && !released_word(packet)) {
    const auto signal = words_.find(*word / kSignalWord);
    const bool waited = time.tries > 1;
    if (signal != words_.end() && (!waited || signal->second.written >= time.first_try)) {
      if (signal->second.time > time.now) time.now = signal->second.time + nanoseconds(timing_.wake);
    } else if (waited) {
      time.now = std::max(time.now, soft::steady_nanoseconds());
    }
  }
  // A check in progress may have missed it; the next one sees it.
  if (const auto word = released_word(packet)) expect(*word / kSignalWord, time.now, 2);
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
  end_list(found->second);
  queues_.erase(found);
}

void ModelClock::settle_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [id, time] : queues_) end_list(time);
  window_.flush();
}

void ModelClock::memory_gone(const soft::Range& range) {
  const std::lock_guard lock(mutex_);
  words_.erase(words_.lower_bound(range.begin / kSignalWord), words_.lower_bound(range.end / kSignalWord));
}

}  // namespace cortado::device::vkfd
