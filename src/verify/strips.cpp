#include "verify/strips.hpp"

#include <algorithm>

#include "verify/regions.hpp"

namespace cortado::verifier {
namespace {

/// With more strips than this, rows are taken one by one.
constexpr std::size_t kMaxCuts = 1024;

/// The pitch of all strided regions, or 1.
std::uint64_t common_pitch(std::span<const Region> regions) {
  std::uint64_t pitch = 1;
  for (const Region& region : regions) {
    const Region plain = joined(region);
    if (plain.rows == 1) continue;
    if (pitch != 1 && pitch != plain.pitch.value) return 1;
    pitch = plain.pitch.value;
  }
  return pitch;
}

}  // namespace

Strips::Strips(std::span<const Region> regions) : pitch_(common_pitch(regions)), cuts_{0, pitch_} {
  if (pitch_ == 1) return;
  for (const Region& region : regions) {
    const std::uint64_t begin = region.offset.value % pitch_;
    cuts_.push_back(begin);
    cuts_.push_back((begin + joined(region).width.value) % pitch_);
  }
  std::ranges::sort(cuts_);
  const auto doubles = std::ranges::unique(cuts_);
  cuts_.erase(doubles.begin(), doubles.end());
  if (cuts_.size() > kMaxCuts) {
    pitch_ = 1;
    cuts_ = {0, 1};
  }
}

std::vector<Strips::Cell> Strips::cells(const Region& region) const {
  std::vector<Cell> cells;
  const Region plain = joined(region);
  if (plain.rows == 1) {
    add_range(plain.offset.value, plain.offset.value + plain.width.value, cells);
  } else if (plain.pitch.value != pitch_) {
    for (std::uint64_t row = 0; row < plain.rows; ++row) {
      const std::uint64_t begin = plain.row_offset(row).value;
      add_range(begin, begin + plain.width.value, cells);
    }
  } else {
    // A row may run over the end of a pitch row; the rest then stands at the beginning of the next one.
    const std::uint64_t row = plain.offset.value / pitch_;
    const std::uint64_t column = plain.offset.value % pitch_;
    const std::uint64_t end = column + plain.width.value;
    add_rectangle(row, row + plain.rows, column, std::min(end, pitch_), cells);
    if (end > pitch_) add_rectangle(row + 1, row + 1 + plain.rows, 0, end - pitch_, cells);
  }
  return cells;
}

void Strips::add_range(std::uint64_t begin, std::uint64_t end, std::vector<Cell>& cells) const {
  const std::uint64_t first = begin / pitch_;
  const std::uint64_t last = end / pitch_;
  if (first == last) {
    add_rectangle(first, first + 1, begin % pitch_, end % pitch_, cells);
    return;
  }
  const bool starts_inside = begin % pitch_ != 0;
  if (starts_inside) add_rectangle(first, first + 1, begin % pitch_, pitch_, cells);
  add_rectangle(first + (starts_inside ? 1 : 0), last, 0, pitch_, cells);
  add_rectangle(last, last + 1, 0, end % pitch_, cells);
}

void Strips::add_rectangle(std::uint64_t row_begin, std::uint64_t row_end, std::uint64_t column_begin,
                           std::uint64_t column_end, std::vector<Cell>& cells) const {
  if (row_begin >= row_end || column_begin >= column_end) return;
  auto strip = std::ranges::lower_bound(cuts_, column_begin) - cuts_.begin();
  for (; cuts_[static_cast<std::size_t>(strip)] < column_end; ++strip) {
    cells.push_back({static_cast<std::size_t>(strip), row_begin, row_end});
  }
}

std::pair<std::uint64_t, std::uint64_t> Strips::first_run(const Cell& cell) const {
  const std::uint64_t begin = cell.begin * pitch_ + cuts_[cell.strip];
  if (count() == 1) return {begin, cell.end * pitch_};
  return {begin, begin + cuts_[cell.strip + 1] - cuts_[cell.strip]};
}

}  // namespace cortado::verifier
