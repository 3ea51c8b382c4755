#include "device/soft/tracker_unit.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "device/soft/cpu_kernels.hpp"
#include "device/soft/memory_word.hpp"

namespace cortado::device::soft {
namespace {

/// Calls visit(address, bytes, offset in the span) for every row, or once if the rows are adjacent.
template <class Visitor>
void for_each_row(const Span2D& span, Visitor&& visit) {
  const bool one = span.rows == 1 || span.pitch == span.width;
  const std::uint64_t rows = one ? 1 : span.rows;
  const std::uint64_t bytes = one ? span.width * span.rows : span.width;
  for (std::uint64_t row = 0; row < rows; ++row) {
    visit(address_of(span.data) + row * span.pitch, bytes, row * span.width);
  }
}

void write_untracked(const Update& update) {
  if (update.op == CopyOp::store) {
    std::memmove(update.dst, update.src, update.bytes);
  } else {
    add_elements(update.dtype, update.dst, update.src, update.bytes);
  }
}

}  // namespace

TrackerUnit::TrackerUnit(std::optional<TrackerLimits> limits, std::uint32_t gpus, const MemoryMap& memory)
    : limits_(limits), memory_(memory), entries_(gpus) {}

Status TrackerUnit::check(const TrackerRequest& request, std::uint64_t entries) const {
  if (request.gpu.value >= entries_.size()) {
    return fail("device.tracker",
                fmt::format("there is no GPU {} on a node with {}", request.gpu.value, entries_.size()));
  }
  const Span2D& region = request.region;
  if (region.width == 0 || region.rows == 0 || (region.rows > 1 && region.pitch < region.width)) {
    return fail("device.tracker", fmt::format("{} rows of {} bytes, {} apart, cannot be tracked", region.rows,
                                              region.width, region.pitch));
  }
  if (request.updates == 0) return fail("device.tracker", "a tracker of 0 updates would never be complete");
  if (entries > limits_->entries) {
    return fail(
        "device.tracker",
        fmt::format("the tracker needs {} entries for {} bytes, GPU {} has {} of {} bytes", entries,
                    region.width * region.rows, request.gpu.value, limits_->entries, limits_->granularity.value),
        "track smaller pieces");
  }
  const std::uint64_t extent = region.pitch * (region.rows - 1) + region.width;
  const std::uint64_t word = address_of(request.word);
  if (!memory_.find(address_of(region.data), extent) || word % sizeof(std::uint64_t) != 0 ||
      !memory_.find(word, sizeof(std::uint64_t))) {
    return fail("device.tracker", "the tracked bytes or the word to raise are not inside an allocation");
  }
  return {};
}

Result<TrackerHandle> TrackerUnit::create(const TrackerRequest& request) {
  if (!limits_) {
    return fail("device.tracker", "the memory of this node has no trackers", "plan for a machine that has them");
  }
  const std::uint64_t entries = limits_->entries_for({request.region.width * request.region.rows});
  CORTADO_RETURN_IF_ERROR(check(request, entries));
  const std::unique_lock lock(mutex_);
  bool free = true;
  for_each_row(request.region, [&](std::uint64_t address, std::uint64_t bytes, std::uint64_t) {
    free = free && !watches(address, bytes);
  });
  if (!free) return fail("device.tracker", "another tracker watches some of these bytes");
  const bool first_of_gpu =
      std::ranges::none_of(trackers_, [&](const auto& other) { return other.second->request().gpu == request.gpu; });
  if (first_of_gpu) entries_[request.gpu.value].forget_peak();
  auto tracker = std::make_unique<Tracker>(request, entries, entries_[request.gpu.value]);
  for_each_row(request.region, [&](std::uint64_t address, std::uint64_t bytes, std::uint64_t offset) {
    rows_.emplace(address, Row{address + bytes, tracker.get(), offset});
  });
  const TrackerHandle handle{next_id_++};
  trackers_.emplace(handle.id, std::move(tracker));
  programmed_.fetch_add(1, std::memory_order_relaxed);
  return handle;
}

void TrackerUnit::destroy(TrackerHandle handle) {
  const std::unique_lock lock(mutex_);
  const auto found = trackers_.find(handle.id);
  if (found == trackers_.end()) return;
  for_each_row(found->second->request().region,
               [&](std::uint64_t address, std::uint64_t, std::uint64_t) { rows_.erase(address); });
  trackers_.erase(found);
  programmed_.fetch_sub(1, std::memory_order_relaxed);
}

TrackerState TrackerUnit::state(TrackerHandle handle) const {
  const std::shared_lock lock(mutex_);
  const auto found = trackers_.find(handle.id);
  CORTADO_CHECK(found != trackers_.end(), "the tracker is programmed");
  return found->second->state();
}

TrackerUse TrackerUnit::use(RankId gpu) const {
  CORTADO_CHECK(gpu.value < entries_.size(), "the node has this GPU");
  return entries_[gpu.value].use();
}

TrackerUnit::Rows::const_iterator TrackerUnit::row_at(std::uint64_t address) const {
  const auto after = rows_.upper_bound(address);
  if (after == rows_.begin()) return after;
  const auto before = std::prev(after);
  return before->second.end > address ? before : after;
}

bool TrackerUnit::watches(std::uint64_t address, std::uint64_t bytes) const {
  const auto row = row_at(address);
  return row != rows_.end() && row->first < address + bytes;
}

std::optional<PacketFault> TrackerUnit::update(const Update& update, Untracked untracked) {
  const std::shared_lock lock(mutex_);
  const std::uint64_t element = update.op == CopyOp::add ? size_of(update.dtype).value : 1;
  std::uint64_t done = 0;
  for (auto row = row_at(address_of(update.dst)); done < update.bytes;) {
    Update piece = update;
    piece.dst += done;
    piece.src += done;
    const std::uint64_t address = address_of(piece.dst);
    const bool tracked = row != rows_.end() && row->first <= address;
    const std::uint64_t left = update.bytes - done;
    piece.bytes = row == rows_.end() ? left : std::min(left, (tracked ? row->second.end : row->first) - address);
    if (piece.bytes % element != 0) {
      return PacketFault{FaultKind::tracker, address,
                         "an element that is added has a tracker for only some of its bytes"};
    }
    if (tracked) {
      if (auto fault = row->second.tracker->update(row->second.offset + (address - row->first), piece)) return fault;
      ++row;
    } else {
      if (untracked == Untracked::fault) {
        return PacketFault{FaultKind::tracker, address, "the product adds to bytes without a tracker"};
      }
      write_untracked(piece);
    }
    done += piece.bytes;
  }
  return std::nullopt;
}

std::optional<PacketFault> TrackerUnit::check_plain_write(const Span2D& span) const {
  if (idle()) [[likely]]
    return std::nullopt;
  const std::shared_lock lock(mutex_);
  std::optional<PacketFault> fault;
  for_each_row(span, [&](std::uint64_t address, std::uint64_t bytes, std::uint64_t) {
    if (fault || !watches(address, bytes)) return;
    fault = PacketFault{FaultKind::tracker, std::max(address, row_at(address)->first),
                        "a write to tracked bytes that is not an update: trackers only count copies by DMA engines and "
                        "GEMMs with an output map"};
  });
  return fault;
}

}  // namespace cortado::device::soft
