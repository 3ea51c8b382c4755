#include "verify/regions.hpp"

#include <algorithm>

namespace cortado::verifier {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}

/// Rows of equal pitch P. With d = start of b minus start of a, row i of a overlaps row j of b iff, with t = i - j, t*P
/// < d + width(b) and d < t*P + width(a); t runs from -(rows(b) - 1) to rows(a) - 1.
bool overlap_equal_pitch(const Region& a, const Region& b, std::uint64_t pitch) {
  const auto p = static_cast<std::int64_t>(pitch);
  const auto d = static_cast<std::int64_t>(b.offset.value) - static_cast<std::int64_t>(a.offset.value);
  const auto low = floor_div(d - static_cast<std::int64_t>(a.width.value), p) + 1;
  const auto high = -floor_div(-(d + static_cast<std::int64_t>(b.width.value)), p) - 1;
  const auto first = -(static_cast<std::int64_t>(b.rows) - 1);
  const auto last = static_cast<std::int64_t>(a.rows) - 1;
  return std::max(low, first) <= std::min(high, last);
}

}  // namespace

std::optional<std::uint64_t> end_of(const Region& region) {
  if (region.rows == 0) return region.offset.value;
  std::uint64_t end = 0;
  // One row has no pitch.
  if (region.rows > 1 && __builtin_mul_overflow(region.pitch.value, region.rows - 1, &end)) return {};
  if (__builtin_add_overflow(end, region.width.value, &end)) return {};
  if (__builtin_add_overflow(end, region.offset.value, &end)) return {};
  return end;
}

Region joined(const Region& region) {
  if (is_strided(region)) return region;
  return make_region(region.buffer, region.offset, region.width * region.rows);
}

bool overlap(const Region& first, const Region& second) {
  if (first.buffer != second.buffer) return false;
  Region a = joined(first);
  Region b = joined(second);
  const auto end_a = end_of(a).value_or(~0ULL);
  const auto end_b = end_of(b).value_or(~0ULL);
  if (a.offset.value >= end_b || b.offset.value >= end_a) return false;
  if (a.rows == 1 && b.rows == 1) return true;
  if (a.rows == 1) return overlap_equal_pitch(a, b, b.pitch.value);
  if (b.rows == 1 || a.pitch == b.pitch) return overlap_equal_pitch(a, b, a.pitch.value);
  if (a.rows > b.rows) std::swap(a, b);
  for (std::uint64_t row = 0; row < a.rows; ++row) {
    if (overlap(make_region(a.buffer, a.row_offset(row), a.width), b)) return true;
  }
  return false;
}

}  // namespace cortado::verifier
