// Collectives through the slots of the segment: all at once, or piece by piece.
#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/exchange.hpp"
#include "runtime/sums.hpp"

namespace cortado::runtime {
namespace {

/// All-reduce: up to this many bytes in all slots together, and always with two ranks, every rank sums everything
/// itself; above that, it sums a part, and takes the others' sums after another barrier.
constexpr std::uint64_t kSumAlone = 64 << 10;
constexpr std::uint64_t kLine = 64;  // a multiple of every element size

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Status Exchange::by_slots(const Operation& op, const Shape& shape, std::uint32_t slot) {
  const std::uint32_t me = team_.rank();
  const Segment& segment = team_.segment();
  const std::uint64_t n = shape.block_bytes;
  if (op.kind == OperationKind::all_reduce) return all_reduce_slots(op, slot, op.recv.data(), n);
  if (op.kind == OperationKind::reduce_scatter) {
    sources_.clear();
    for (std::uint32_t r = 0; r < team_.ranks(); ++r) sources_.push_back(segment.slot(r, slot) + me * n);
    reduce(op.element, op.reduction, op.recv.data(), sources_, n);
    return {};
  }
  for (const Take& take : takes(op, shape)) {
    std::byte* const to = op.recv.data() + take.to;
    const std::byte* const from = take.from == me ? op.send.data() + take.sent_at  // closer than its own slot
                                                  : segment.slot(take.from, slot) + take.sent_at;
    copy(to, from, take.bytes);
  }
  return {};
}

Status Exchange::all_reduce_slots(const Operation& op, std::uint32_t slot, std::byte* out, std::uint64_t bytes) {
  const Segment& segment = team_.segment();
  const std::uint32_t ranks = team_.ranks();
  const auto sum = [&](std::uint64_t first, std::uint64_t count, std::byte* to) {
    sources_.clear();
    for (std::uint32_t r = 0; r < ranks; ++r) sources_.push_back(segment.slot(r, slot) + first);
    reduce(op.element, op.reduction, to, sources_, count);
  };
  if (ranks <= 2 || bytes * ranks <= kSumAlone) {
    sum(0, bytes, out);
    return {};
  }
  constexpr std::uint32_t kResults = 2;
  const std::uint64_t part = round_up((bytes + ranks - 1) / ranks, kLine);
  const auto part_of = [&](std::uint32_t r) {
    const std::uint64_t first = std::min(r * part, bytes);
    return std::pair(first, std::min(part, bytes - first));
  };
  const auto [first, count] = part_of(team_.rank());
  if (count > 0) sum(first, count, segment.slot(team_.rank(), kResults));
  CORTADO_RETURN_IF_ERROR(team_.barrier());
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const auto [begin, length] = part_of(r);
    copy(out + begin, segment.slot(r, kResults), length);
  }
  return {};
}

Status Exchange::by_pieces(const Operation& op, const Shape& shape) {
  const std::uint32_t me = team_.rank();
  const Segment& segment = team_.segment();
  const std::uint64_t longest = longest_block();
  const std::uint64_t width = kSlotBytes / shape.blocks / kLine * kLine;  // of a block, in the slot
  const bool sends = !root_sends(op.kind) || me == op.root;
  const std::byte* const source = op.kind == OperationKind::broadcast ? op.recv.data() : op.send.data();
  std::vector<Take> all = takes(op, shape);
  for (std::uint64_t done = 0; done < longest; done += width) {
    const std::uint32_t slot = next_slot();
    std::uint64_t at = 0;  // of the block in what this rank sends
    for (std::uint32_t b = 0; b < shape.blocks && sends; ++b) {
      const std::uint64_t block = op.send_bytes.empty() ? shape.block_bytes : op.send_bytes[b];
      const bool for_others = shape.blocks == 1 || b != me;
      if (for_others && block > done) {
        copy(segment.slot(me, slot) + b * width, source + at + done, std::min(width, block - done));
      }
      at += block;
    }
    CORTADO_RETURN_IF_ERROR(team_.barrier());
    const std::uint64_t piece = std::min(width, longest - done);
    if (op.kind == OperationKind::all_reduce) {
      CORTADO_RETURN_IF_ERROR(all_reduce_slots(op, slot, op.recv.data() + done, piece));
    } else if (op.kind == OperationKind::reduce_scatter) {
      sources_.clear();
      for (std::uint32_t r = 0; r < team_.ranks(); ++r) {
        sources_.push_back(r == me ? source + me * shape.block_bytes + done : segment.slot(r, slot) + me * width);
      }
      reduce(op.element, op.reduction, op.recv.data() + done, sources_, piece);
    }
    for (const Take& take : all) {
      if (take.bytes <= done) continue;
      const std::byte* const from = take.from == me ? source + take.sent_at + done  // its own data is not in its slot
                                                    : segment.slot(take.from, slot) + take.block * width;
      copy(op.recv.data() + take.to + done, from, std::min(width, take.bytes - done));
    }
  }
  return {};
}

}  // namespace cortado::runtime
