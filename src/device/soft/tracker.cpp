#include "device/soft/tracker.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "device/soft/cpu_kernels.hpp"
#include "device/soft/memory_word.hpp"

namespace cortado::device::soft {
namespace {

/// Bytes moved at a time under the lock, so that updates of several engines take turns. A multiple of every element
/// size.
constexpr std::uint64_t kUpdatePieceBytes = 1 << 16;

}  // namespace

UpdateCounts::Runs::iterator UpdateCounts::split_at(std::uint64_t place) {
  if (place == bytes_) return counts_.end();
  const auto run = std::prev(counts_.upper_bound(place));
  return run->first == place ? run : counts_.emplace_hint(std::next(run), place, run->second);
}

void UpdateCounts::join_at(std::uint64_t place) {
  const auto run = counts_.find(place);
  if (run == counts_.end() || run == counts_.begin()) return;
  if (std::prev(run)->second == run->second) counts_.erase(run);
}

void UpdateCounts::add(std::uint64_t first, std::uint64_t bytes) {
  const auto begin = split_at(first);
  const auto end = split_at(first + bytes);
  for (auto run = begin; run != end; ++run) ++run->second;
  total_ += bytes;
  // All counts between the ends grew equally: only at the ends can neighbours have become equal.
  join_at(first + bytes);
  join_at(first);
}

void UpdateCounts::clear() {
  counts_ = {{0, 0}};
  total_ = 0;
}

void TrackerEntries::take(std::uint64_t entries) {
  const std::lock_guard lock(mutex_);
  use_.in_use += entries;
  use_.peak = std::max(use_.peak, use_.in_use);
}

void TrackerEntries::give_back(std::uint64_t entries) {
  const std::lock_guard lock(mutex_);
  use_.in_use -= entries;
}

void TrackerEntries::forget_peak() {
  const std::lock_guard lock(mutex_);
  use_.peak = use_.in_use;
}

TrackerUse TrackerEntries::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

Tracker::Tracker(const TrackerRequest& request, std::uint64_t entries, TrackerEntries& gpu)
    : request_(request), entries_(entries), gpu_(gpu), counts_(request.region.width * request.region.rows) {}

Tracker::~Tracker() {
  if (counts_.total() > 0) gpu_.give_back(entries_);
}

std::optional<PacketFault> Tracker::update(std::uint64_t offset, const Update& update) {
  for (std::uint64_t done = 0; done < update.bytes; done += kUpdatePieceBytes) {
    Update piece = update;
    piece.dst += done;
    piece.src += done;
    piece.bytes = std::min(kUpdatePieceBytes, update.bytes - done);
    const std::lock_guard lock(mutex_);
    if (auto fault = check(offset + done, piece)) return fault;
    if (counts_.total() == 0) gpu_.take(entries_);
    move(offset + done, piece);
    counts_.add(offset + done, piece.bytes);
    raise_if_complete();
  }
  return std::nullopt;
}

std::optional<PacketFault> Tracker::check(std::uint64_t offset, const Update& piece) const {
  const std::uint64_t element = piece.op == CopyOp::add ? size_of(piece.dtype).value : 1;
  std::optional<PacketFault> fault;
  counts_.for_each_run(offset, piece.bytes, [&](std::uint64_t first, std::uint64_t bytes, std::uint64_t count) {
    if (fault) return;
    const std::uint64_t address = address_of(piece.dst + (first - offset));
    if (count == request_.updates) {
      fault = PacketFault{FaultKind::tracker, address,
                          fmt::format("one update too many: byte {} of the tracked region has had all {} of this "
                                      "iteration, others have not",
                                      first, count)};
    } else if (bytes % element != 0) {
      fault = PacketFault{
          FaultKind::tracker, address,
          fmt::format("an element of {} bytes is added to bytes that have had different numbers of updates", element)};
    }
  });
  return fault;
}

void Tracker::move(std::uint64_t offset, const Update& piece) {
  if (piece.op == CopyOp::store) {
    std::memmove(piece.dst, piece.src, piece.bytes);
    return;
  }
  counts_.for_each_run(offset, piece.bytes, [&](std::uint64_t first, std::uint64_t bytes, std::uint64_t count) {
    std::byte* dst = piece.dst + (first - offset);
    const std::byte* src = piece.src + (first - offset);
    if (count == 0) {
      std::memmove(dst, src, bytes);
    } else {
      add_elements(piece.dtype, dst, src, bytes);
    }
  });
}

void Tracker::raise_if_complete() {
  if (counts_.total() < counts_.bytes() * request_.updates) return;
  counts_.clear();
  ++raises_;
  gpu_.give_back(entries_);
  add_to_word(address_of(request_.word), request_.value);
}

TrackerState Tracker::state() const {
  const std::lock_guard lock(mutex_);
  TrackerState state{counts_.bytes(), 0, request_.updates, request_.updates, raises_};
  counts_.for_each_run(0, counts_.bytes(), [&](std::uint64_t, std::uint64_t bytes, std::uint64_t count) {
    if (count == request_.updates) state.complete_bytes += bytes;
    state.fewest = std::min(state.fewest, count);
  });
  return state;
}

}  // namespace cortado::device::soft
