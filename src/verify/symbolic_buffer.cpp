#include "verify/symbolic_buffer.hpp"

#include <algorithm>
#include <utility>

namespace cortado::verifier {

void simplify(Piece& piece) {
  Runs& at = piece.at;
  const bool touching = at.count > 1 && at.stride == at.width;
  if (touching && piece.value.is_continuous(at.width)) at = {at.start, at.width * at.count};
  if (at.count > 1) return;
  at.stride = 0;
  piece.value.cut(0);
}

Value value_of_part(const Piece& piece, const Runs& part) {
  Value value = piece.value;
  if (part == piece.at) return value;
  std::uint64_t distance = part.start - piece.at.start;
  if (piece.at.count > 1) {
    value.advance(distance / piece.at.stride);
    distance %= piece.at.stride;
  }
  value.move(distance);
  value.cut(part.stride);
  return value;
}

Pieces single_runs(const Pieces& pieces) {
  Pieces all;
  for (const Piece& piece : pieces) {
    for (std::uint64_t run = 0; run < piece.at.count; ++run) {
      const Runs at{piece.at.run_start(run), piece.at.width};
      all.push_back({at, value_of_part(piece, at)});
    }
  }
  std::ranges::sort(all, {}, [](const Piece& piece) { return piece.at.start; });
  return all;
}

std::size_t SymbolicBuffer::cut_at(std::uint64_t column) {
  const std::size_t strip = strip_of(column);
  if (cuts_[strip] == column) return strip;
  const std::uint64_t distance = column - cuts_[strip];
  const auto behind = static_cast<std::ptrdiff_t>(strip) + 1;
  strips_.insert(strips_.begin() + behind,
                 strips_[strip].mapped([&](const Value& value) { return value.moved_by(distance); }));
  cuts_.insert(cuts_.begin() + behind, column);
  return strip + 1;
}

void SymbolicBuffer::write(Piece piece) {
  simplify(piece);
  if (piece.at.count > 1 && piece.at.stride != pitch_) {
    for (const Piece& single : single_runs({piece})) write(single);
    return;
  }
  const Rectangles all = rectangles(piece.at, pitch_);
  for (const Rectangle& r : all) {
    std::size_t strip = cut_at(r.column_begin);
    if (r.column_end < pitch_) cut_at(r.column_end);
    for (; cuts_[strip] < r.column_end; ++strip) {
      if (!piece.value.is_defined()) {
        strips_[strip].erase(r.row_begin, r.row_end);
        continue;
      }
      const bool last = &r + 1 == all.end() && cuts_[strip + 1] == r.column_end;
      Value value = last ? std::move(piece.value) : piece.value;
      value.move(r.row_begin * pitch_ + cuts_[strip] - piece.at.start);
      if (piece.at.count == 1) value.cut(pitch_);
      strips_[strip].assign(r.row_begin, r.row_end, std::move(value));
      if (last) return;
    }
  }
}

}  // namespace cortado::verifier
