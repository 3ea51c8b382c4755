// Matrices in buffers, and parts of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cortado/program.hpp"

namespace cortado::plan {

/// `count` rows or columns, starting at `begin`.
struct Span {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;

  std::uint64_t end() const { return begin + count; }
  bool empty() const { return count == 0; }
  friend bool operator==(const Span&, const Span&) = default;
};

/// Part `index` of the span cut into `parts` as evenly as possible, the larger ones first. Cuts are at multiples of
/// `unit` from its beginning; the remainder goes to the last non-empty part.
inline Span part_of(const Span& whole, std::uint64_t parts, std::uint64_t index, std::uint64_t unit = 1) {
  const std::uint64_t units = (whole.count + unit - 1) / unit;
  const std::uint64_t small = units / parts;
  const std::uint64_t larger = units % parts;
  const std::uint64_t begin = std::min((small * index + std::min(index, larger)) * unit, whole.count);
  const std::uint64_t end = std::min((small * (index + 1) + std::min(index + 1, larger)) * unit, whole.count);
  return {whole.begin + begin, end - begin};
}

/// A row-major matrix; columns are counted in bytes.
struct Matrix {
  BufferId buffer;
  Bytes offset{};
  Bytes pitch{};

  Region part(const Span& rows, const Span& columns) const {
    return {buffer, offset + pitch * rows.begin + Bytes{columns.begin}, Bytes{columns.count}, rows.count,
            rows.count == 1 ? Bytes{} : pitch};
  }
  Region rows(const Span& rows) const { return part(rows, {0, pitch.value}); }
};

}  // namespace cortado::plan
