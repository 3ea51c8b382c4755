// Walks over the bytes of a region in row order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cortado/program.hpp"

namespace cortado::device {

class RegionCursor {
 public:
  explicit RegionCursor(const Region& region) : region_(region) {}

  BufferId buffer() const { return region_.buffer; }
  /// Offset in the buffer of the current byte.
  std::uint64_t offset() const { return region_.row_offset(row_).value + in_row_; }
  /// Number of contiguous bytes from here.
  std::uint64_t run() const { return row_ == region_.rows ? 0 : region_.width.value - in_row_; }

  /// By at most run() bytes.
  void advance(std::uint64_t bytes) {
    in_row_ += bytes;
    if (in_row_ == region_.width.value) {
      in_row_ = 0;
      ++row_;
    }
  }

 private:
  Region region_;
  std::uint64_t row_ = 0;
  std::uint64_t in_row_ = 0;
};

}  // namespace cortado::device
