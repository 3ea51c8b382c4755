// A map from half-open intervals of 64-bit positions to values; positions that were never assigned have none.
//
// A value may depend on the position: Value::advanced_by(n) is the value as seen n positions later, and a.continues(b,
// n) is true if b equals a as seen n positions later, so that neighbours can be joined.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "verify/node_pool.hpp"

namespace cortado::verifier {

template <class Value>
class IntervalMap {
 public:
  using Position = std::uint64_t;

  /// Pieces are in the pool, which must outlive the map; without one, on the heap.
  explicit IntervalMap(NodePool* pool = nullptr) : pieces_(pool) {}

  /// Calls visit(begin, end, const Value*) for the pieces of [begin, end) in order; the pointer is null for a gap. The
  /// value is the one at the beginning of the piece.
  template <class Visitor>
  void visit(Position begin, Position end, Visitor&& visit) const {
    Position at = begin;
    for (auto piece = first_touching(begin); piece != pieces_.end() && piece->first < end; ++piece) {
      const Position from = std::max(begin, piece->first);
      const Position to = std::min(end, piece->second.end);
      if (at < from) visit(at, from, static_cast<const Value*>(nullptr));
      if (from == piece->first) {
        visit(from, to, &piece->second.value);
      } else {
        const Value value = piece->second.value.advanced_by(from - piece->first);
        visit(from, to, &value);
      }
      at = to;
    }
    if (at < end) visit(at, end, static_cast<const Value*>(nullptr));
  }

  /// Assigns the value to [begin, end), replacing what was there, and joins it with neighbours that it continues.
  void assign(Position begin, Position end, Value value) {
    replace(begin, end, std::move(value), [](Position, Position, const Value*) {});
  }

  /// As visit(), then assign().
  template <class Visitor>
  void replace(Position begin, Position end, Value value, Visitor&& visitor) {
    if (begin >= end) return;
    auto piece = pieces_.lower_bound(begin);
    const bool replaces = is_piece(piece, begin, end);
    if (replaces) {
      visitor(begin, end, static_cast<const Value*>(&piece->second.value));
    } else {
      visit(begin, end, std::forward<Visitor>(visitor));
    }
    if (!replaces) {
      erase(begin, end);
      piece = pieces_.lower_bound(begin);
    }
    const auto next = replaces ? std::next(piece) : piece;
    if (next != pieces_.end() && next->first == end && value.continues(next->second.value, end - begin)) {
      end = next->second.end;
      const auto behind = pieces_.erase(next);
      if (!replaces) piece = behind;
    }
    if (piece != pieces_.begin()) {
      const auto before = std::prev(piece);
      if (before->second.end == begin && before->second.value.continues(value, begin - before->first)) {
        before->second.end = end;
        if (replaces) pieces_.erase(piece);
        return;
      }
    }
    if (replaces) {
      piece->second = {end, std::move(value)};
    } else {
      pieces_.emplace_hint(piece, begin, Piece{end, std::move(value)});
    }
  }

  /// Removes the values of [begin, end).
  void erase(Position begin, Position end) {
    if (begin >= end) return;
    split(begin);
    split(end);
    pieces_.erase(pieces_.lower_bound(begin), pieces_.lower_bound(end));
  }

  /// Lets change(begin, end, Value&) modify the values in [begin, end); gaps get a default value first.
  template <class Change>
  void update(Position begin, Position end, Change&& change) {
    if (begin >= end) return;
    Position at = begin;
    auto piece = pieces_.lower_bound(begin);
    if (!is_piece(piece, begin, end)) {
      split(begin);
      split(end);
      piece = pieces_.lower_bound(begin);
    }
    while (at < end) {
      if (piece == pieces_.end() || piece->first > at) {
        const Position to = piece == pieces_.end() ? end : std::min(end, piece->first);
        piece = pieces_.emplace_hint(piece, at, Piece{to, Value{}});
      }
      change(piece->first, piece->second.end, piece->second.value);
      at = piece->second.end;
      ++piece;
    }
  }

  /// The same intervals with other values.
  template <class Change>
  IntervalMap mapped(Change&& change) const {
    IntervalMap result(pieces_.get_allocator().pool());
    for (const auto& [begin, piece] : pieces_) {
      result.pieces_.emplace_hint(result.pieces_.end(), begin, Piece{piece.end, change(piece.value)});
    }
    return result;
  }

  std::size_t size() const { return pieces_.size(); }

 private:
  struct Piece {
    Position end;
    Value value;
  };
  using Pieces = std::map<Position, Piece, std::less<>, PoolAllocator<std::pair<const Position, Piece>>>;

  typename Pieces::const_iterator first_touching(Position at) const {
    auto piece = pieces_.upper_bound(at);
    if (piece != pieces_.begin() && std::prev(piece)->second.end > at) --piece;
    return piece;
  }

  bool is_piece(typename Pieces::const_iterator piece, Position begin, Position end) const {
    return piece != pieces_.end() && piece->first == begin && piece->second.end == end;
  }

  /// Makes `at` a border between pieces.
  void split(Position at) {
    auto behind = pieces_.lower_bound(at);
    if (behind == pieces_.begin()) return;
    const auto piece = std::prev(behind);
    if (piece->second.end <= at) return;
    pieces_.emplace_hint(behind, at, Piece{piece->second.end, piece->second.value.advanced_by(at - piece->first)});
    piece->second.end = at;
  }

  Pieces pieces_;  // disjoint
};

}  // namespace cortado::verifier
