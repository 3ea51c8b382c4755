#include "verify/testing/tracked_bytes.hpp"

#include <utility>

namespace cortado::verifier::testing {

TrackedBytes::TrackedBytes(const Program& program) : program_(program), missing_(program.trackers.size(), 0) {
  for (const Buffer& buffer : program.buffers) bytes_.emplace_back(buffer.size.value);
  for (std::size_t t = 0; t < program.trackers.size(); ++t) begin(t);
}

bool TrackedBytes::count(BufferId buffer, std::uint64_t at) {
  Byte& byte = bytes_[buffer.value][at];
  const std::size_t tracker = *byte.tracker;
  if (byte.count == program_.trackers[tracker].updates) return false;
  ++byte.count;
  if (--missing_[tracker] == 0) complete_.push_back(tracker);
  return true;
}

std::size_t TrackedBytes::start_over(std::size_t index) {
  std::swap(complete_.back(), complete_[index]);
  const std::size_t tracker = complete_.back();
  complete_.pop_back();
  begin(tracker);
  return tracker;
}

void TrackedBytes::begin(std::size_t tracker) {
  const auto& [name, region, updates, signal, value] = program_.trackers[tracker];
  for (std::uint64_t row = 0; row < region.rows; ++row) {
    for (std::uint64_t i = 0; i < region.width.value; ++i) {
      bytes_[region.buffer.value][region.row_offset(row).value + i] = {tracker, 0};
    }
  }
  missing_[tracker] = region.bytes().value * updates;
}

}  // namespace cortado::verifier::testing
