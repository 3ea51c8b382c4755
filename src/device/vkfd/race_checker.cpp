#include "device/vkfd/race_checker.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "device/soft/transfer.hpp"
#include "device/vkfd/packet_words.hpp"

namespace cortado::device::vkfd {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

}  // namespace

void RaceChecker::join(Clock& clock, const Clock& other) {
  for (const auto& [queue, packets] : other) {
    std::uint64_t& known = clock[queue];
    known = std::max(known, packets);
  }
}

void RaceChecker::split_at(std::uint64_t address) {
  const auto after = bytes_.upper_bound(address);
  if (after == bytes_.begin()) return;
  const auto piece = std::prev(after);
  if (piece->first == address || piece->second.end <= address) return;
  Bytes rest = piece->second;
  piece->second.end = address;
  bytes_.emplace(address, std::move(rest));
}

void RaceChecker::check(const Clock& clock, const Access& earlier, const Access& access, std::uint64_t begin,
                        std::uint64_t end) {
  if (earlier.queue == access.queue) return;
  const auto known = clock.find(earlier.queue);
  if (known != clock.end() && known->second >= earlier.packets) return;
  if (!reported_.emplace(earlier.who, access.who).second) return;
  report_(fmt::format("race: {} and {}: both touch bytes {:#x} .. +{}, and nothing makes one wait for the other",
                      earlier.who, access.who, begin, end - begin));
}

void RaceChecker::touch(const Clock& clock, const Access& access, std::uint64_t begin, std::uint64_t end, bool writes) {
  split_at(begin);
  split_at(end);
  for (std::uint64_t at = begin; at < end;) {
    auto piece = bytes_.lower_bound(at);
    if (piece == bytes_.end() || piece->first != at) {
      const std::uint64_t gap_end = piece == bytes_.end() ? end : std::min(end, piece->first);
      piece = bytes_.emplace(at, Bytes{gap_end}).first;
    }
    Bytes& bytes = piece->second;
    if (bytes.write) check(clock, *bytes.write, access, at, bytes.end);
    if (writes) {
      for (const Access& read : bytes.reads) check(clock, read, access, at, bytes.end);
      bytes.write = access;
      bytes.reads.clear();
    } else {
      std::erase_if(bytes.reads, [&](const Access& read) { return read.queue == access.queue; });
      bytes.reads.push_back(access);
    }
    at = bytes.end;
  }
}

/// Released before the word is written, so that nobody can see the word without it.
void RaceChecker::fetched(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) {
  const std::lock_guard lock(mutex_);
  Clock& clock = queues_[queue.id];
  clock[queue.id] = place.index + 1;
  const Access access{queue.id, place.index + 1,
                      fmt::format("GPU {} engine {} queue {} packet {} at ring offset {:#x} ({})", queue.gpu.value,
                                  queue.engine.value, queue.id, place.index, place.offset, sdma::to_string(packet))};
  soft::for_each_access(packet, [&](std::uint64_t address, std::uint64_t bytes, bool writes) {
    touch(clock, access, address, address + bytes, writes);
  });
  if (const auto word = released_word(packet)) {
    join(words_[*word / kWord], clock);
    join(host_, clock);
  }
  if (std::holds_alternative<sdma::Trap>(packet)) join(host_, clock);
}

void RaceChecker::take_over(Clock& clock, std::uint64_t address) {
  if (const auto word = words_.find(address / kWord); word != words_.end()) join(clock, word->second);
  // Copies and writes can also serve as signals.
  const auto after = bytes_.upper_bound(address);
  if (after == bytes_.begin()) return;
  const Bytes& bytes = std::prev(after)->second;
  if (bytes.end <= address || !bytes.write) return;
  if (const auto writer = queues_.find(bytes.write->queue); writer != queues_.end()) {
    std::uint64_t& known = clock[bytes.write->queue];
    known = std::max(known, bytes.write->packets);
  }
}

void RaceChecker::finished(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) {
  const std::lock_guard lock(mutex_);
  if (const auto word = acquired_word(packet)) take_over(queues_[queue.id], *word);
  std::uint64_t& seen = host_[queue.id];
  seen = std::max(seen, place.index + 1);
}

void RaceChecker::rang(const SdmaQueue& queue) {
  const std::lock_guard lock(mutex_);
  join(queues_[queue.id], host_);
}

void RaceChecker::barrier(std::uint32_t queue, const std::vector<std::uint64_t>& seen, std::uint64_t written) {
  const std::lock_guard lock(mutex_);
  Clock& clock = queues_[queue];
  for (const std::uint64_t word : seen) take_over(clock, word);
  if (written == 0) return;
  join(words_[written / kWord], clock);
  join(host_, clock);
}

void RaceChecker::queue_gone(const SdmaQueue& queue) {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue.id);
  if (found == queues_.end()) return;
  join(host_, found->second);
  queues_.erase(found);
}

void RaceChecker::memory_gone(const soft::Range& range) {
  const std::lock_guard lock(mutex_);
  split_at(range.begin);
  split_at(range.end);
  bytes_.erase(bytes_.lower_bound(range.begin), bytes_.lower_bound(range.end));
  words_.erase(words_.lower_bound(range.begin / kWord), words_.lower_bound(range.end / kWord));
}

}  // namespace cortado::device::vkfd
