// The state of a program's trackers, byte by byte.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/program.hpp"

namespace cortado::verifier::testing {

class TrackedBytes {
 public:
  explicit TrackedBytes(const Program& program);

  bool is_tracked(BufferId buffer, std::uint64_t at) const { return bytes_[buffer.value][at].tracker.has_value(); }
  /// True if the byte has not been updated since its tracker last reset.
  bool is_fresh(BufferId buffer, std::uint64_t at) const { return bytes_[buffer.value][at].count == 0; }

  /// Counts an update of a tracked byte; false if that is one too many.
  bool count(BufferId buffer, std::uint64_t at);

  /// Trackers that have received all updates and have not reset yet.
  const std::vector<std::size_t>& complete() const { return complete_; }
  /// Resets one of them; `index` is its position in complete().
  std::size_t start_over(std::size_t index);

 private:
  struct Byte {
    std::optional<std::size_t> tracker;
    std::uint64_t count = 0;
  };

  void begin(std::size_t tracker);

  const Program& program_;
  std::vector<std::vector<Byte>> bytes_;  // by buffer
  std::vector<std::uint64_t> missing_;    // by tracker: updates still to come, over all its bytes
  std::vector<std::size_t> complete_;
};

}  // namespace cortado::verifier::testing
