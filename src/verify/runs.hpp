// Runs of bytes at equal distances: the unit in which symbolic values move, so that a strided copy of thousands of rows
// is one step and not one for each row.
//
// The same runs can be expressed in two ways: by address (offset in a buffer) and by place in a region (its bytes
// counted in row order). A copy reads runs by address, maps them to places of its source region, and from the same
// places of its destination region back to addresses.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cortado/program.hpp"

#include "base/small_vector.hpp"

namespace cortado::verifier {

/// `count` runs of `width` bytes whose starts are `stride` bytes apart. One run has no stride.
struct Runs {
  std::uint64_t start = 0;
  std::uint64_t width = 0;
  std::uint64_t count = 1;
  std::uint64_t stride = 0;

  std::uint64_t run_start(std::uint64_t run) const { return start + run * stride; }
  friend bool operator==(const Runs&, const Runs&) = default;
};

/// The same runs by address and by place; same width and count.
struct PlacedRuns {
  Runs address;
  Runs place;
};
using PlacedRunsList = SmallVector<PlacedRuns, 1>;

/// The bytes of a region in as few runs as possible. Rows form one set of runs only if their distance is `pitch`.
PlacedRunsList runs_of(const Region& region, std::uint64_t pitch);

/// Where runs of places of a region lie in its buffer. They are split where the region's rows require it.
PlacedRunsList addresses_of(const Runs& place, const Region& region);

/// Part of a buffer seen as rows of `pitch` bytes: rows and columns, both half-open.
struct Rectangle {
  std::uint64_t row_begin = 0;
  std::uint64_t row_end = 0;
  std::uint64_t column_begin = 0;
  std::uint64_t column_end = 0;
};

/// At most three rectangles.
class Rectangles {
 public:
  /// An empty one is ignored.
  void add(const Rectangle& rectangle) {
    if (rectangle.row_begin >= rectangle.row_end || rectangle.column_begin >= rectangle.column_end) return;
    items_[count_++] = rectangle;
  }
  const Rectangle* begin() const { return items_.data(); }
  const Rectangle* end() const { return items_.data() + count_; }

 private:
  std::array<Rectangle, 3> items_;
  std::size_t count_ = 0;
};

/// The runs as rectangles; if there are several, they must be `pitch` apart.
Rectangles rectangles(const Runs& address, std::uint64_t pitch);

/// The pitch that best suits the regions of a buffer: that of its strided regions or, if there are none, that of its
/// regions of several adjacent rows; 1 if they differ.
class CommonPitch {
 public:
  void see(const Region& region) {
    if (region.rows > 1) (region.pitch == region.width ? touching_ : strided_).see(region.pitch.value);
  }
  std::uint64_t best() const { return strided_.pitch != 1 ? strided_.best() : touching_.best(); }

 private:
  struct Choice {
    std::uint64_t pitch = 1;
    bool differ = false;
    void see(std::uint64_t other) {
      differ = differ || (pitch != 1 && pitch != other);
      pitch = other;
    }
    std::uint64_t best() const { return differ ? 1 : pitch; }
  };
  Choice strided_;
  Choice touching_;
};
std::uint64_t common_pitch(std::span<const Region> regions);

}  // namespace cortado::verifier
