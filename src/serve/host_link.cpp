#include "serve/host_link.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace cortado::serve {

void HostLink::add(Direction direction, std::uint64_t tag, std::uint32_t blocks, std::int64_t now_ns,
                   double submitted_s) {
  advance(now_ns);
  const TransferCost& cost = cost_.of(direction);
  Work work{.job = {.tag = tag, .blocks = blocks, .start_ns = now_ns}};
  double before_s = 0;
  for (const Work& earlier : queue_[direction]) before_s += earlier.left_s;
  work.left_s = cost.seconds(blocks) + std::max(0.0, submitted_s - before_s);
  // The bytes alone need link_s; with half of the rate that both directions reach together, which may be less, longer.
  // If the host's calls are slower than that, they hide the difference.
  const double bytes = blocks * cost.link_bytes_per_block;
  if (cost_.both_rate > 0 && work.left_s > 0) {
    work.slow_down = std::max(1.0, 2 * bytes / cost_.both_rate / work.left_s);
  }
  if (direction == load && cost_.layers > 1) {
    work.first_layer_s = work.left_s * (1 - 1.0 / cost_.layers);
    work.first_taken = false;
  }
  bytes_[direction] += bytes;
  queue_[direction].push_back(work);
}

double HostLink::speed(Direction direction) const {
  const Direction other = direction == load ? store : load;
  return queue_[other].empty() ? 1 : 1 / queue_[direction].front().slow_down;
}

std::int64_t HostLink::end_of_front(Direction direction) const {
  if (queue_[direction].empty()) return kNever;
  const double seconds = queue_[direction].front().left_s / speed(direction);
  return now_ns_ + static_cast<std::int64_t>(std::ceil(seconds * 1e9));
}

std::int64_t HostLink::next_end(Direction direction) const {
  if (queue_[direction].empty()) return kNever;
  return end_of_front(direction);
}

std::int64_t HostLink::next_first_layer() const {
  if (queue_[load].empty() || queue_[load].front().first_taken) return kNever;
  const Work& front = queue_[load].front();
  const double seconds = std::max(0.0, front.left_s - front.first_layer_s) / speed(load);
  return now_ns_ + static_cast<std::int64_t>(std::ceil(seconds * 1e9));
}

std::optional<std::uint64_t> HostLink::take_first_layer() {
  if (next_first_layer() > now_ns_) return std::nullopt;
  queue_[load].front().first_taken = true;
  return queue_[load].front().job.tag;
}

void HostLink::advance(std::int64_t to_ns) {
  while (now_ns_ <= to_ns) {
    const std::int64_t next = std::min(end_of_front(load), end_of_front(store));
    const std::int64_t until = std::min(next, to_ns);
    const double passed = static_cast<double>(until - now_ns_) * 1e-9;
    const std::array<double, 2> speeds{queue_[load].empty() ? 0 : speed(load),
                                       queue_[store].empty() ? 0 : speed(store)};
    const std::int64_t load_end = end_of_front(load);
    const std::int64_t store_end = end_of_front(store);
    for (const Direction direction : {load, store}) {
      auto& queue = queue_[direction];
      if (queue.empty()) continue;
      busy_ns_[direction] += until - now_ns_;
      Work& front = queue.front();
      if (!front.started) {
        front.started = true;
        front.job.start_ns = now_ns_;
      }
      front.left_s = std::max(0.0, front.left_s - passed * speeds[direction]);
    }
    now_ns_ = std::max(now_ns_, until);
    if (next > to_ns) return;
    for (const Direction direction : {load, store}) {
      if ((direction == load ? load_end : store_end) != next) continue;
      Job job = queue_[direction].front().job;
      job.end_ns = now_ns_;
      queue_[direction].pop_front();
      done_.emplace_back(direction, job);
    }
  }
}

}  // namespace cortado::serve
