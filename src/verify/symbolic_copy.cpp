// Copies of symbolic contents.
//
// Results of sums, GEMMs and functions are up to rounding, so two of them that are equal as symbols may differ in all
// bytes of an element. A copy may take elements apart; an element that is put together again must consist of parts of
// one and the same result. So before a copy reads part of an element, that element gets a mark in its place, which its
// parts keep wherever they go: no other stretch of bytes has the same mark. Where a copy then puts a part next to
// another part of the same element with another mark, or with none, its bytes become a result without a name. Strided
// copies and swaps whose rows begin or end within elements lose the name at once. Whole elements need no marks.
#include <algorithm>
#include <utility>

#include "verify/regions.hpp"
#include "verify/symbolic_memory.hpp"

namespace cortado::verifier {
namespace {

/// Position of the first byte of the value within its element.
std::uint64_t phase_of(const Value& value, std::uint64_t element) {
  return value.is_sum() ? value.phase : value.terms.front().offset % element;
}

}  // namespace

/// Whether rows of so many bytes, to whose places the piece belongs, begin or end within one of its elements.
bool SymbolicMemory::is_cut(const Piece& piece, std::uint64_t row) const {
  const std::uint64_t element = results_->element(piece.value);
  if (element == 1) return false;
  const Value& value = piece.value;
  const auto& [start, width, count, stride] = piece.at;
  const std::uint64_t phase = phase_of(value, element);
  const std::uint64_t step = (value.is_sum() ? value.phase_step : value.terms.front().step) % element;
  const std::uint64_t column = start % row;
  if (column + width > row || (count > 1 && stride % row != 0)) {  // over several rows
    return row % element != 0 || phase != column % element || (count > 1 && step != stride % element);
  }
  const bool begins = column == 0;
  const bool ends = column + width == row;
  return (begins && phase != 0) || (ends && (phase + width) % element != 0) ||
         ((begins || ends) && count > 1 && step != 0);
}

void SymbolicMemory::forget_cut(Pieces& pieces, std::uint64_t row) {
  for (Piece& piece : pieces) {
    if (is_cut(piece, row)) piece.value = Value{{{results_->unnamed(), 0, 0, piece.at.stride}}};
  }
}

void SymbolicMemory::copy(const Region& src, const Region& dst) {
  Pieces copied;
  const bool plain = is_plain(src) && is_plain(dst);  // most copies: from map to map
  if (plain) {
    const std::uint64_t begin = src.offset.value;
    buffers_[src.buffer.value].visit_bytes(
        begin, begin + src.bytes().value, [&](std::uint64_t from, std::uint64_t to, const Value* value) {
          copied.push_back({{from - begin, to - from}, value == nullptr ? Value{} : *value});
        });
  } else {
    read(src, [&](Piece&& piece) { copied.push_back(std::move(piece)); });
  }
  const std::uint64_t src_row = joined(src).width.value;
  const std::uint64_t dst_row = joined(dst).width.value;
  const auto cut = [&](const Piece& piece) {
    return is_cut(piece, src_row) || (dst_row != src_row && is_cut(piece, dst_row));
  };
  if (std::ranges::any_of(copied, cut)) return copy_in_parts(src, dst);
  if (!plain) return write(dst, std::move(copied));
  SymbolicBuffer& target = buffers_[dst.buffer.value];
  for (Piece& piece : copied) {
    const std::uint64_t at = dst.offset.value + piece.at.start;
    target.set_bytes(at, at + piece.at.width, std::move(piece.value));
  }
}

void SymbolicMemory::copy_in_parts(const Region& src, const Region& dst) {
  const Region from = joined(src);
  const Region to = joined(dst);
  if (from.rows > 1 || to.rows > 1) {
    Pieces pieces = read(src);
    forget_cut(pieces, from.width.value);
    forget_cut(pieces, to.width.value);
    return write(dst, std::move(pieces));
  }
  mark(from);
  write(to, read(from));
  find_torn(to);
}

/// Marks the results in the run that have no mark yet, including the rest of the first and last element.
void SymbolicMemory::mark(const Region& run) {
  const BufferId buffer = run.buffer;
  std::uint64_t begin = run.offset.value;
  std::uint64_t end = begin + run.width.value;
  const Pieces inside = read_runs(run);
  const Piece& first = inside.front();
  const Piece& last = inside.back();
  if (const std::uint64_t element = results_->element(first.value); element > 1) {
    const std::uint64_t before = phase_of(first.value, element);
    if (before > 0 && before <= begin) {
      const auto rest = read_runs(make_region(buffer, Bytes{begin - before}, Bytes{before}));
      if (rest.size() == 1 && rest.front().value.moved_by(before) == first.value) begin -= before;
    }
  }
  if (const std::uint64_t element = results_->element(last.value); element > 1) {
    const std::uint64_t behind = (2 * element - phase_of(last.value, element) - last.at.width % element) % element;
    if (behind > 0 && end + behind <= program_.buffer(buffer).size.value) {
      const auto rest = read_runs(make_region(buffer, Bytes{end}, Bytes{behind}));
      if (rest.size() == 1 && last.value.moved_by(last.at.width) == rest.front().value) end += behind;
    }
  }
  const Region all = make_region(buffer, Bytes{begin}, Bytes{end - begin});
  Pieces pieces = read_runs(all);
  const std::uint32_t before = marks_;
  const Piece* left = nullptr;
  for (Piece& piece : pieces) {
    if (results_->element(piece.value) > 1 && piece.value.mark == 0) {
      // A stretch that the buffer holds in several pieces. An older mark may also be elsewhere.
      const bool goes_on =
          left != nullptr && left->value.mark > before && left->value.moved_by(left->at.width) == piece.value;
      piece.value.mark = goes_on ? left->value.mark : ++marks_;
    }
    left = &piece;
  }
  write(all, std::move(pieces));
}

/// The first and last element of a run that was just written: takes the name of its bytes if the bytes next to them are
/// the same element of another result.
void SymbolicMemory::find_torn(const Region& run) {
  const BufferId buffer = run.buffer;
  const std::uint64_t begin = run.offset.value;
  const std::uint64_t end = begin + run.width.value;
  const auto forget = [&](std::uint64_t from, std::uint64_t bytes) {
    write(make_region(buffer, Bytes{from}, Bytes{bytes}), {{{0, bytes}, Value{{{results_->unnamed(), 0, 0, 0}}}}});
  };
  const Pieces pieces = read_runs(run);
  const Piece& first = pieces.front();
  const Piece& last = pieces.back();
  if (const std::uint64_t element = results_->element(first.value); element > 1) {
    const std::uint64_t phase = phase_of(first.value, element);
    const std::uint64_t before = std::min(phase, begin);
    bool torn = false;
    for (const Piece& near : read_runs(make_region(buffer, Bytes{begin - before}, Bytes{before}))) {
      torn =
          torn || (near.value.moved_by(before - near.at.start) == first.value && near.value.mark != first.value.mark);
    }
    if (torn) forget(begin, std::min(element - phase, first.at.width));
  }
  if (const std::uint64_t element = results_->element(last.value); element > 1) {
    const std::uint64_t inside = (phase_of(last.value, element) + last.at.width) % element;
    const std::uint64_t room = program_.buffer(buffer).size.value - end;
    const std::uint64_t behind = inside == 0 ? 0 : std::min(element - inside, room);
    bool torn = false;
    for (const Piece& near : read_runs(make_region(buffer, Bytes{end}, Bytes{behind}))) {
      torn = torn ||
             (last.value.moved_by(last.at.width + near.at.start) == near.value && near.value.mark != last.value.mark);
    }
    if (torn) forget(end - std::min(inside, last.at.width), std::min(inside, last.at.width));
  }
}

}  // namespace cortado::verifier
