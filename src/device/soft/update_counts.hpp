// How many updates each byte of a tracked region has received, kept as runs of bytes with equal counts: a tile that is
// stored row by row makes one run per row, and these merge again as its neighbours arrive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace cortado::device::soft {

class UpdateCounts {
 public:
  explicit UpdateCounts(std::uint64_t bytes) : bytes_(bytes) { clear(); }

  std::uint64_t bytes() const { return bytes_; }
  /// Updates of all bytes together.
  std::uint64_t total() const { return total_; }

  /// Calls visit(first, bytes, count) for the runs that make up these bytes, in order.
  template <class Visitor>
  void for_each_run(std::uint64_t first, std::uint64_t bytes, Visitor&& visit) const {
    const std::uint64_t end = first + bytes;
    for (auto run = std::prev(counts_.upper_bound(first)); first < end; ++run) {
      const auto next = std::next(run);
      const std::uint64_t run_end = std::min(end, next == counts_.end() ? bytes_ : next->first);
      visit(first, run_end - first, run->second);
      first = run_end;
    }
  }

  /// One more update of each of these bytes; there must be at least one byte.
  void add(std::uint64_t first, std::uint64_t bytes);
  void clear();

 private:
  using Runs = std::map<std::uint64_t, std::uint64_t>;

  Runs::iterator split_at(std::uint64_t place);
  void join_at(std::uint64_t place);

  std::uint64_t bytes_;
  std::uint64_t total_ = 0;
  Runs counts_;  // first byte of a run, and the count of all its bytes
};

}  // namespace cortado::device::soft
