// The symbolic contents of one buffer.
//
// As in strips.hpp, the buffer is seen as rows of `pitch` bytes, cut into column strips; here strips are cut as needed.
// A strip maps rows to values, whose runs are the rows of the strip.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "verify/interval_map.hpp"
#include "verify/node_pool.hpp"
#include "verify/runs.hpp"
#include "verify/values.hpp"

namespace cortado::verifier {

/// What some runs hold.
struct Piece {
  Runs at;
  Value value;
};

using Pieces = SmallVector<Piece, 1>;

/// The value of the runs `part`, which are either all of the piece or cut out of one of its runs.
Value value_of_part(const Piece& piece, const Runs& part);

/// Joins adjacent runs that hold one continuous piece into one run; a single run has no steps.
void simplify(Piece& piece);

/// Every run as a separate piece, ascending.
Pieces single_runs(const Pieces& pieces);

/// Calls visit(piece of a, piece of b) for the runs that cover the same places, in order.
template <class Visitor>
void for_common_runs(const Pieces& pieces_a, const Pieces& pieces_b, Visitor&& visit) {
  const Pieces a = single_runs(pieces_a);
  const Pieces b = single_runs(pieces_b);
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::uint64_t begin = std::max(a[i].at.start, b[j].at.start);
    const std::uint64_t end_a = a[i].at.start + a[i].at.width;
    const std::uint64_t end_b = b[j].at.start + b[j].at.width;
    const Runs part{begin, std::min(end_a, end_b) - begin};
    visit(Piece{part, value_of_part(a[i], part)}, Piece{part, value_of_part(b[j], part)});
    if (end_a <= end_b) ++i;
    if (end_b <= end_a) ++j;
  }
}

class SymbolicBuffer {
 public:
  /// The pool must outlive it.
  SymbolicBuffer(std::uint64_t pitch, NodePool& pool)
      : pitch_(pitch), cuts_{0, pitch}, strips_(1, IntervalMap<Value>(&pool)) {}

  std::uint64_t pitch() const { return pitch_; }

  /// Calls visit(Piece) for what the runs hold. Several runs must be one pitch apart.
  template <class Visitor>
  void read(const Runs& address, Visitor&& visit) const {
    for (const Rectangle& r : rectangles(address, pitch_)) {
      for (std::size_t strip = strip_of(r.column_begin); cuts_[strip] < r.column_end; ++strip) {
        const std::uint64_t begin = std::max(cuts_[strip], r.column_begin);
        const std::uint64_t end = std::min(cuts_[strip + 1], r.column_end);
        strips_[strip].visit(r.row_begin, r.row_end, [&](std::uint64_t from, std::uint64_t to, const Value* value) {
          Piece piece{{from * pitch_ + begin, end - begin, to - from, pitch_}, value == nullptr ? Value{} : *value};
          piece.value.move(begin - cuts_[strip]);
          simplify(piece);
          visit(std::move(piece));
        });
      }
    }
  }
  void write(Piece piece);

  /// Without strided regions, the rows are the bytes. Bytes can then be visited and assigned in the form in which the
  /// map holds them: values of one-byte runs with steps of one.
  bool is_plain() const { return pitch_ == 1; }
  template <class Visitor>
  void visit_bytes(std::uint64_t begin, std::uint64_t end, Visitor&& visit) const {
    strips_.front().visit(begin, end, visit);
  }
  void set_bytes(std::uint64_t begin, std::uint64_t end, Value value) {
    if (value.is_defined()) {
      strips_.front().assign(begin, end, std::move(value));
    } else {
      strips_.front().erase(begin, end);
    }
  }

 private:
  /// The strip that holds the column.
  std::size_t strip_of(std::uint64_t column) const {
    if (strips_.size() == 1) return 0;
    return static_cast<std::size_t>(std::ranges::upper_bound(cuts_, column) - cuts_.begin()) - 1;
  }
  /// Makes a strip begin at the column, and returns it.
  std::size_t cut_at(std::uint64_t column);

  std::uint64_t pitch_;
  std::vector<std::uint64_t> cuts_;  // columns, from 0 to the pitch
  std::vector<IntervalMap<Value>> strips_;
};

}  // namespace cortado::verifier
