#include "verify/symbolic_buffer.hpp"

#include <algorithm>
#include <utility>

namespace cortado::verifier {

Piece simplest(Piece piece) {
  Runs& at = piece.at;
  const bool touching = at.count > 1 && at.stride == at.width;
  if (touching && piece.value.is_continuous(at.width)) at = {at.start, at.width * at.count};
  if (at.count == 1) {
    at.stride = 0;
    piece.value = std::move(piece.value).cut(0);
  }
  return piece;
}

Value value_of_part(const Piece& piece, const Runs& part) {
  if (part == piece.at) return piece.value;
  const std::uint64_t distance = part.start - piece.at.start;
  if (piece.at.count == 1) return piece.value.moved_by(distance).cut(part.stride);
  return piece.value.advanced_by(distance / piece.at.stride).moved_by(distance % piece.at.stride).cut(part.stride);
}

std::vector<Piece> single_runs(const std::vector<Piece>& pieces) {
  std::vector<Piece> all;
  for (const Piece& piece : pieces) {
    for (std::uint64_t run = 0; run < piece.at.count; ++run) {
      const Runs at{piece.at.run_start(run), piece.at.width};
      all.push_back({at, value_of_part(piece, at)});
    }
  }
  std::ranges::sort(all, {}, [](const Piece& piece) { return piece.at.start; });
  return all;
}

std::size_t SymbolicBuffer::strip_of(std::uint64_t column) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(cuts_, column) - cuts_.begin()) - 1;
}

void SymbolicBuffer::cut_at(std::uint64_t column) {
  const std::size_t strip = strip_of(column);
  if (cuts_[strip] == column) return;
  const std::uint64_t distance = column - cuts_[strip];
  const auto behind = static_cast<std::ptrdiff_t>(strip) + 1;
  strips_.insert(strips_.begin() + behind,
                 strips_[strip].mapped([&](const Value& value) { return value.moved_by(distance); }));
  cuts_.insert(cuts_.begin() + behind, column);
}

void SymbolicBuffer::write(const Piece& raw) {
  const Piece piece = simplest(raw);
  if (piece.at.count > 1 && piece.at.stride != pitch_) {
    for (const Piece& single : single_runs({piece})) write(single);
    return;
  }
  for (const Rectangle& r : rectangles(piece.at, pitch_)) {
    cut_at(r.column_begin);
    if (r.column_end < pitch_) cut_at(r.column_end);
    for (std::size_t strip = strip_of(r.column_begin); cuts_[strip] < r.column_end; ++strip) {
      if (!piece.value.is_defined()) {
        strips_[strip].erase(r.row_begin, r.row_end);
        continue;
      }
      Value value = piece.value.moved_by(r.row_begin * pitch_ + cuts_[strip] - piece.at.start);
      if (piece.at.count == 1) value = std::move(value).cut(pitch_);
      strips_[strip].assign(r.row_begin, r.row_end, std::move(value));
    }
  }
}

}  // namespace cortado::verifier
