#include "device/vkfd/transfer_window.hpp"

#include <algorithm>
#include <utility>

namespace cortado::device::vkfd {
namespace {

// Lists that are simulated together. In traffic that never pauses, finished lists beyond this number are forgotten,
// although they slowed down some that have not finished.
constexpr std::size_t kMostLists = 128;

}  // namespace

void TransferWindow::add(List list, std::uint64_t horizon) {
  forget(std::min(horizon, list.moves.begin));
  lists_.push_back(std::make_unique<List>(std::move(list)));
  solved_ = false;
}

void TransferWindow::solve() {
  if (std::exchange(solved_, true)) return;
  std::vector<const MoveList*> all;
  for (const auto& list : lists_) all.push_back(&list->moves);
  auto spans = times_.of(all);
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    List& list = *lists_[i];
    list.spans = std::move(spans[i]);
    list.end = list.moves.begin;
    for (MoveSpan& span : list.spans) {
      span.begin = list.moves.begin + (span.begin - list.moves.begin) * list.factor;
      span.end = list.moves.begin + (span.end - list.moves.begin) * list.factor;
      list.end = std::max(list.end, span.end);
    }
  }
}

/// Forgets everything that ended before the horizon, if nothing was in progress then, or if there is too much.
void TransferWindow::forget(std::uint64_t horizon) {
  if (lists_.empty()) return;
  solve();
  const auto over = [&](const auto& list) { return list->end <= horizon; };
  if (lists_.size() < kMostLists && !std::ranges::all_of(lists_, over)) return;
  for (const auto& list : lists_) {
    if (log_ == nullptr || !over(list)) continue;
    for (std::size_t i = 0; i < list->packets.size(); ++i) {
      log_->add(list->queue, list->packets[i].packet, list->packets[i].place, list->spans[i].begin, list->spans[i].end);
    }
  }
  std::erase_if(lists_, over);
  solved_ = false;
}

std::uint64_t TransferWindow::end_of(std::uint32_t queue) {
  solve();
  std::uint64_t end = 0;
  for (const auto& list : lists_) {
    if (list->queue.id == queue) end = std::max(end, list->end);
  }
  return end;
}

void TransferWindow::flush() {
  forget(~std::uint64_t{0});
}

}  // namespace cortado::device::vkfd
