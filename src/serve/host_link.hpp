// The link between host memory and a GPU: two directions, each with a queue of jobs that run one after another, as
// serving engines chain their copies. While both directions are busy, each gets its share of the rate that both reach
// together.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "serve/fetch_cost.hpp"

namespace cortado::serve {

class HostLink {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  enum Direction : std::uint8_t { load = 0, store = 1 };

  struct Job {
    std::uint64_t tag = 0;  ///< identifies who waits for it
    std::uint32_t blocks = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;  ///< when it is done
  };

  explicit HostLink(const FetchCost& cost) : cost_(cost) {}

  /// A job whose packets wait for a trigger begins when the host has submitted all of them, `submitted_s` from now;
  /// the jobs before it hide that.
  void add(Direction direction, std::uint64_t tag, std::uint32_t blocks, std::int64_t now_ns, double submitted_s = 0);
  /// When the next job of the direction will be done if no more are added; kNever: there is none.
  std::int64_t next_end(Direction direction) const;
  void advance(std::int64_t to_ns);
  /// When the first layer of the current load will have arrived, if layers are released separately and it has not been
  /// taken yet; otherwise kNever.
  std::int64_t next_first_layer() const;
  /// The tag of a load whose first layer has arrived; once per load, and not if the whole load has.
  std::optional<std::uint64_t> take_first_layer();
  /// Jobs that finished since the last call, in the order of their ends.
  std::vector<std::pair<Direction, Job>> take_done() { return std::exchange(done_, {}); }
  bool busy(Direction direction) const { return !queue_[direction].empty(); }
  std::int64_t now_ns() const { return now_ns_; }
  std::int64_t busy_ns(Direction direction) const { return busy_ns_[direction]; }  ///< until now
  double bytes(Direction direction) const { return bytes_[direction]; }

 private:
  struct Work {
    Job job;
    double left_s = 0;     ///< with the link to itself
    double slow_down = 1;  ///< while the other direction is busy
    bool started = false;
    double first_layer_s = 0;  ///< left_s at which the first layer has arrived
    bool first_taken = true;   ///< it was reported, or layers are not released separately
  };

  double speed(Direction direction) const;
  std::int64_t end_of_front(Direction direction) const;

  FetchCost cost_;
  std::int64_t now_ns_ = 0;
  std::array<std::deque<Work>, 2> queue_;
  std::vector<std::pair<Direction, Job>> done_;
  std::array<std::int64_t, 2> busy_ns_{};
  std::array<double, 2> bytes_{};
};

}  // namespace cortado::serve
