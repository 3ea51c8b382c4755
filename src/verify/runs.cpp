#include "verify/runs.hpp"

#include <algorithm>

#include "verify/regions.hpp"

namespace cortado::verifier {
namespace {

/// One run of places in a region of several rows: the rest of a row, whole rows, and the beginning of a row.
void add_one_run(std::uint64_t start, std::uint64_t width, const Region& region, PlacedRunsList& all) {
  const std::uint64_t row_width = region.width.value;
  const auto add = [&](std::uint64_t place, std::uint64_t run_width, std::uint64_t rows) {
    if (run_width == 0 || rows == 0) return;
    const std::uint64_t address = region.row_offset(place / row_width).value + place % row_width;
    const bool several = rows > 1;
    all.push_back({{address, run_width, rows, several ? region.pitch.value : 0},
                   {place, run_width, rows, several ? row_width : 0}});
  };
  const std::uint64_t to_row_end = (row_width - start % row_width) % row_width;
  const std::uint64_t head = std::min(width, to_row_end);
  add(start, head, 1);
  const std::uint64_t rows = (width - head) / row_width;
  add(start + head, row_width, rows);
  add(start + head + rows * row_width, width - head - rows * row_width, 1);
}

}  // namespace

PlacedRunsList runs_of(const Region& region, std::uint64_t pitch) {
  const Region plain = joined(region);
  if (plain.rows == 1) return {{{plain.offset.value, plain.width.value}, {0, plain.width.value}}};
  const std::uint64_t width = region.width.value;
  if (region.pitch.value == pitch) {
    return {{{region.offset.value, width, region.rows, pitch}, {0, width, region.rows, width}}};
  }
  PlacedRunsList all;
  for (std::uint64_t row = 0; row < region.rows; ++row) {
    all.push_back({{region.row_offset(row).value, width}, {row * width, width}});
  }
  return all;
}

PlacedRunsList addresses_of(const Runs& place, const Region& region) {
  if (joined(region).rows == 1) {
    Runs address = place;
    address.start += region.offset.value;
    return {{address, place}};
  }
  PlacedRunsList all;
  const std::uint64_t row_width = region.width.value;
  const std::uint64_t column = place.start % row_width;
  if (place.count > 1 && place.stride % row_width == 0 && column + place.width <= row_width) {
    const std::uint64_t address = region.row_offset(place.start / row_width).value + column;
    all.push_back({{address, place.width, place.count, place.stride / row_width * region.pitch.value}, place});
    return all;
  }
  for (std::uint64_t run = 0; run < place.count; ++run) add_one_run(place.run_start(run), place.width, region, all);
  return all;
}

Rectangles rectangles(const Runs& address, std::uint64_t pitch) {
  Rectangles all;
  if (pitch == 1 && address.count == 1) {  // most buffers have no strided regions
    all.add({address.start, address.start + address.width, 0, 1});
    return all;
  }
  const std::uint64_t row = address.start / pitch;
  const std::uint64_t column = address.start % pitch;
  if (address.count > 1) {
    // A run may cross the end of a pitch row; the rest is then at the beginning of the next one.
    const std::uint64_t end = column + address.width;
    all.add({row, row + address.count, column, std::min(end, pitch)});
    if (end > pitch) all.add({row + 1, row + 1 + address.count, 0, end - pitch});
    return all;
  }
  const std::uint64_t end = address.start + address.width;
  if (row == end / pitch) {
    all.add({row, row + 1, column, end % pitch});
    return all;
  }
  const std::uint64_t whole = row + (column != 0 ? 1 : 0);
  if (column != 0) all.add({row, row + 1, column, pitch});
  all.add({whole, end / pitch, 0, pitch});
  all.add({end / pitch, end / pitch + 1, 0, end % pitch});
  return all;
}

std::uint64_t common_pitch(std::span<const Region> regions) {
  CommonPitch common;
  for (const Region& region : regions) common.see(region);
  return common.best();
}

}  // namespace cortado::verifier
