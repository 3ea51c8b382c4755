#include "runtime/exchange.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/copy_bytes.hpp"
#include "base/text.hpp"
#include "runtime/sums.hpp"

namespace cortado::runtime {
namespace {

/// Of all-reduce: up to so many bytes of all slots together every rank sums everything itself; above, a part, and takes
/// the others' sums behind another barrier.
constexpr std::uint64_t kSumAlone = 64 << 10;
/// Of memory that has to be read into this process to be summed: so much of each rank at a time.
constexpr std::uint64_t kScratch = 32 << 10;
/// What a rank sends is read by the system from this size on. Measured with 2 and 8 processes on 2 cores: at 128 KiB
/// pieces through the slots are up to 8 times as fast, at 1 MiB reading is 1.2 to 2 times as fast.
constexpr std::uint64_t kReadFrom = 512 << 10;
constexpr std::uint64_t kLine = 64;  // a multiple of every element

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

bool reduces(OperationKind kind) {
  return kind == OperationKind::reduce_scatter || kind == OperationKind::all_reduce;
}

bool has_root(OperationKind kind) {
  return kind == OperationKind::broadcast || kind == OperationKind::gather || kind == OperationKind::scatter;
}

/// Only the root of these sends.
bool root_sends(OperationKind kind) {
  return kind == OperationKind::broadcast || kind == OperationKind::scatter;
}

tl::unexpected<Diagnostic> wrong(const Operation& operation, std::uint32_t rank, const std::string& what) {
  Diagnostic diagnostic{"runtime.arguments", fmt::format("{}: {}", name_of(operation.kind), what)};
  diagnostic.place.rank = RankId{rank};
  return fail(std::move(diagnostic));
}

bool overlap(Sent a, Received b) {
  return !a.empty() && !b.empty() && a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

/// Buffers that overlap are the ones of an operation in place.
bool is_in_place(const Operation& op, std::uint32_t rank) {
  switch (op.kind) {
    case OperationKind::all_gather:
    case OperationKind::gather:
      return op.send.data() == op.recv.data() + rank * op.send.size();
    case OperationKind::reduce_scatter:
    case OperationKind::scatter:
      return op.recv.data() == op.send.data() + rank * op.recv.size();
    default:
      return op.send.data() == op.recv.data();
  }
}

std::string describe(const Call& call) {
  if (call.refused) return "something with wrong arguments";
  const auto kind = static_cast<OperationKind>(call.kind);
  std::string text = fmt::format("{} of {}", name_of(kind), format_bytes({call.block_bytes}));
  if (call.by_counts) text = fmt::format("{} with counts", name_of(kind));
  if (reduces(kind)) text += fmt::format(" of elements of type {}, reduction {}", call.element, call.reduction);
  if (has_root(kind)) text += fmt::format(", root {}", call.root);
  if (call.variant != 0) text += fmt::format(" by variant {}", name_of(static_cast<Variant>(call.variant)));
  return text;
}

bool same_call(const Call& a, const Call& b) {
  return a.kind == b.kind && a.refused == b.refused && a.by_counts == b.by_counts &&
         (a.by_counts || a.block_bytes == b.block_bytes) && a.element == b.element && a.reduction == b.reduction &&
         a.root == b.root && a.variant == b.variant;
}

Result<Shape> shape_by_counts(const Operation& op, std::uint32_t rank, std::uint32_t ranks) {
  if (op.send_bytes.size() != ranks || op.recv_bytes.size() != ranks) {
    return wrong(op, rank,
                 fmt::format("{} and {} counts for {} ranks", op.send_bytes.size(), op.recv_bytes.size(), ranks));
  }
  const auto sum = [](const std::vector<std::uint64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  if (sum(op.send_bytes) != op.send.size() || sum(op.recv_bytes) != op.recv.size()) {
    return wrong(op, rank, "the counts do not add up to the sizes of the buffers");
  }
  return Shape{*std::ranges::max_element(op.send_bytes), ranks};
}

}  // namespace

Result<Variant> parse_variant(std::string_view name) {
  for (const Variant variant : {Variant::by_size, Variant::slots, Variant::staged, Variant::direct}) {
    if (name == name_of(variant)) return variant;
  }
  if (name.empty()) return Variant::by_size;
  return fail("runtime.options", fmt::format("there is no variant {}", name), "use slots, staged or direct");
}

std::string_view name_of(Variant variant) {
  switch (variant) {
    case Variant::by_size:
      return "auto";
    case Variant::slots:
      return "slots";
    case Variant::staged:
      return "staged";
    case Variant::direct:
      return "direct";
  }
  return "";
}

Result<Shape> shape_of(const Operation& op, std::uint32_t rank, std::uint32_t ranks) {
  const std::uint64_t sent = op.send.size();
  const std::uint64_t received = op.recv.size();
  if ((has_root(op.kind) || op.kind == OperationKind::send || op.kind == OperationKind::recv) && op.root >= ranks) {
    return wrong(op, rank, fmt::format("there is no rank {} among {}", op.root, ranks));
  }
  if (op.kind != OperationKind::broadcast && overlap(op.send, op.recv) &&
      !(is_in_place(op, rank) && op.send_bytes.empty())) {
    return wrong(op, rank, "what is sent and what is received overlap, but not as in place");
  }
  if (reduces(op.kind) && sent % size_of(op.element).value != 0) {
    return wrong(op, rank, fmt::format("{} bytes are not whole elements", sent));
  }
  const auto sizes = [&](const char* rule) {
    return wrong(op, rank, fmt::format("{} bytes to send, {} to receive, {} ranks: {}", sent, received, ranks, rule));
  };
  switch (op.kind) {
    case OperationKind::all_gather:
      if (received != sent * ranks) return sizes("a rank receives what all send");
      return Shape{sent, 1};
    case OperationKind::all_to_all:
      if (!op.send_bytes.empty() || !op.recv_bytes.empty()) return shape_by_counts(op, rank, ranks);
      if (sent != received || sent % ranks != 0) return sizes("both are one block for each rank");
      return Shape{sent / ranks, ranks};
    case OperationKind::reduce_scatter:
      if (sent != received * ranks || received % size_of(op.element).value != 0) {
        return sizes("a rank sends one block for each rank");
      }
      return Shape{received, ranks};
    case OperationKind::all_reduce:
      if (sent != received) return sizes("both are equally long");
      return Shape{sent, 1};
    case OperationKind::gather:
      if (rank == op.root && received != sent * ranks) return sizes("the root receives what all send");
      return Shape{sent, 1};
    case OperationKind::scatter:
      if (rank == op.root && sent != received * ranks) return sizes("the root sends one block for each rank");
      return Shape{received, ranks};
    case OperationKind::broadcast:
    case OperationKind::recv:
      return Shape{received, 1};
    case OperationKind::send:
      return Shape{sent, 1};
    case OperationKind::barrier:
      return Shape{0, 1};
  }
  return Shape{};
}

std::vector<Exchange::Take>& Exchange::takes(const Operation& op, const Shape& shape) {
  takes_.clear();
  const std::uint32_t me = team_.rank();
  const std::uint32_t ranks = team_.ranks();
  const std::uint64_t n = shape.block_bytes;
  switch (op.kind) {
    case OperationKind::broadcast:
      if (me != op.root) takes_.push_back({op.root, 0, 0, 0, n});
      break;
    case OperationKind::scatter:
      takes_.push_back({op.root, me, me * n, 0, n});
      break;
    case OperationKind::gather:
    case OperationKind::all_gather:
    case OperationKind::all_to_all: {
      if (op.kind == OperationKind::gather && me != op.root) break;
      const std::uint32_t block = op.kind == OperationKind::all_to_all ? me : 0;
      for (std::uint32_t i = 0; i < ranks; ++i) {
        const std::uint32_t from = (me + i) % ranks;  // so that not all read from the same rank at first
        if (op.recv_bytes.empty()) {
          takes_.push_back({from, block, block * n, from * n, n});
          continue;
        }
        const auto& counts = team_.counts_of(from).send;
        const auto at = std::accumulate(counts.begin(), counts.begin() + me, std::uint64_t{0});
        const auto to = std::accumulate(op.recv_bytes.begin(), op.recv_bytes.begin() + from, std::uint64_t{0});
        takes_.push_back({from, me, at, to, op.recv_bytes[from]});
      }
      break;
    }
    default:
      break;
  }
  return takes_;
}

Result<std::unique_ptr<Exchange>> Exchange::open(Team& team, Variant variant) {
  std::unique_ptr<Exchange> made(new Exchange(team, variant));
  const Segment& segment = team.segment();
  made->reads_all_ = true;
  if (segment.one_process()) return made;
  // Can the system be asked for memory of another process? The neighbour's block is at an address that it tells.
  const Location own{reinterpret_cast<std::uint64_t>(&segment.header()), false};
  Call call;
  call.send = own;
  CORTADO_RETURN_IF_ERROR(team.announce(call));
  CORTADO_RETURN_IF_ERROR(team.barrier());
  std::byte byte{};
  const std::uint32_t next = (team.rank() + 1) % team.ranks();
  segment.block(team.rank()).reads_peers = team.read(next, team.call_of(next).send, 0, &byte, 1) ? 1 : 0;
  CORTADO_RETURN_IF_ERROR(team.barrier());
  for (std::uint32_t r = 0; r < team.ranks(); ++r) made->reads_all_ &= segment.block(r).reads_peers != 0;
  return made;
}

Call Exchange::call_for(const Operation& op, const Shape& shape) const {
  Call call;
  call.kind = static_cast<std::uint32_t>(op.kind);
  if (reduces(op.kind)) {
    call.element = static_cast<std::uint32_t>(op.element);
    call.reduction = static_cast<std::uint32_t>(op.reduction);
  }
  if (has_root(op.kind)) call.root = op.root;
  call.block_bytes = shape.block_bytes;
  call.variant = static_cast<std::uint32_t>(asked_);
  call.by_counts = !op.recv_bytes.empty();
  call.in_place = op.kind != OperationKind::broadcast && overlap(op.send, op.recv);
  const std::byte* const source = op.kind == OperationKind::broadcast ? op.recv.data() : op.send.data();
  call.send = team_.locate(source);
  call.recv = team_.locate(op.recv.data());
  return call;
}

// The others are told, too: they would wait for a call that never comes.
Status Exchange::refuse(Diagnostic reason) {
  Call call;
  call.refused = true;
  CORTADO_RETURN_IF_ERROR(team_.announce(call));
  CORTADO_RETURN_IF_ERROR(team_.barrier());
  return fail(std::move(reason));
}

Status Exchange::check_calls() const {
  const Call& own = team_.call_of(team_.rank());
  const Call& first = team_.call_of(0);
  for (std::uint32_t r = 0; r < team_.ranks(); ++r) {
    const Call& call = team_.call_of(r);
    if (same_call(call, first)) continue;
    Diagnostic diagnostic{"runtime.mismatch",
                          fmt::format("rank 0 called {}, rank {} {}", describe(first), r, describe(call)),
                          "all ranks call the same operations in the same order, with the same sizes, types and root"};
    diagnostic.place.rank = RankId{r};
    return fail(std::move(diagnostic));
  }
  if (!own.by_counts) return {};
  for (std::uint32_t from = 0; from < team_.ranks(); ++from) {
    for (std::uint32_t to = 0; to < team_.ranks(); ++to) {
      const std::uint64_t sent = team_.counts_of(from).send[to];
      const std::uint64_t received = team_.counts_of(to).recv[from];
      if (sent == received) continue;
      return fail("runtime.mismatch", fmt::format("all-to-all with counts: rank {} sends {} bytes to rank {}, which "
                                                  "receives {}",
                                                  from, sent, to, received));
    }
  }
  return {};
}

bool Exchange::all_in_reach(bool receive_buffers) const {
  if (team_.segment().one_process()) return true;
  for (std::uint32_t r = 0; r < team_.ranks(); ++r) {
    const Call& call = team_.call_of(r);
    const auto kind = static_cast<OperationKind>(call.kind);
    if (root_sends(kind) && r != call.root) continue;
    if (!call.send.in_segment || (receive_buffers && !call.recv.in_segment)) return false;
  }
  return true;
}

std::uint64_t Exchange::longest_block() const {
  std::uint64_t longest = 0;
  for (std::uint32_t r = 0; r < team_.ranks(); ++r) longest = std::max(longest, team_.call_of(r).block_bytes);
  return longest;
}

Variant Exchange::decide(const Operation& op, const Shape& shape) const {
  bool in_place = false;
  for (std::uint32_t r = 0; r < team_.ranks(); ++r) in_place |= team_.call_of(r).in_place;
  // In place, all-to-all would overwrite what others still read.
  if (asked_ == Variant::staged || (in_place && op.kind == OperationKind::all_to_all)) return Variant::staged;
  if (all_in_reach(op.kind == OperationKind::all_reduce)) return Variant::direct;
  const std::uint64_t sent = longest_block() * shape.blocks;
  return reads_all_ && (sent >= kReadFrom || asked_ == Variant::direct) ? Variant::direct : Variant::staged;
}

Status Exchange::run(const Operation& op) {
  const Result<Shape> checked = shape_of(op, team_.rank(), team_.ranks());
  if (!checked) return refuse(checked.error());
  const Shape& shape = *checked;
  last_ = {op.kind, shape.block_bytes * shape.blocks, Variant::slots, true};
  const bool by_counts = !op.recv_bytes.empty();
  const bool small = !by_counts && shape.block_bytes * shape.blocks <= kSlotBytes;
  if (small && (asked_ == Variant::by_size || asked_ == Variant::slots || op.kind == OperationKind::barrier)) {
    return by_slots(op, shape);
  }
  if (by_counts) {
    Counts counts;
    std::ranges::copy(op.send_bytes, counts.send.begin());
    std::ranges::copy(op.recv_bytes, counts.recv.begin());
    CORTADO_RETURN_IF_ERROR(team_.announce(call_for(op, shape), &counts));
  } else {
    CORTADO_RETURN_IF_ERROR(team_.announce(call_for(op, shape)));
  }
  CORTADO_RETURN_IF_ERROR(team_.barrier());
  CORTADO_RETURN_IF_ERROR(check_calls());
  last_.variant = decide(op, shape);
  last_.windows = all_in_reach(op.kind == OperationKind::all_reduce);
  return last_.variant == Variant::direct ? directly(op, shape) : by_pieces(op, shape);
}

// --- Slots -----------------------------------------------------------------------------------------------------------

Status Exchange::by_slots(const Operation& op, const Shape& shape) {
  const std::uint32_t me = team_.rank();
  const Segment& segment = team_.segment();
  const std::uint32_t slot = next_slot();
  const Sent source = op.kind == OperationKind::broadcast ? Sent(op.recv) : op.send;
  if (!root_sends(op.kind) || me == op.root) {
    if (!source.empty()) copy_bytes(segment.slot(me, slot), source.data(), source.size());
  }
  CORTADO_RETURN_IF_ERROR(team_.announce(call_for(op, shape)));
  CORTADO_RETURN_IF_ERROR(team_.barrier());
  CORTADO_RETURN_IF_ERROR(check_calls());
  const std::uint64_t n = shape.block_bytes;
  if (n == 0) return {};
  if (op.kind == OperationKind::all_reduce) return all_reduce_slots(op, slot, op.recv.data(), n);
  if (op.kind == OperationKind::reduce_scatter) {
    sources_.clear();
    for (std::uint32_t r = 0; r < team_.ranks(); ++r) sources_.push_back(segment.slot(r, slot) + me * n);
    reduce(op.element, op.reduction, op.recv.data(), sources_, n);
    return {};
  }
  for (const Take& take : takes(op, shape)) {
    copy_bytes(op.recv.data() + take.to, segment.slot(take.from, slot) + take.block * n, take.bytes);
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
  if (bytes * ranks <= kSumAlone) {
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
    if (length > 0) copy_bytes(out + begin, segment.slot(r, kResults), length);
  }
  return {};
}

Status Exchange::by_pieces(const Operation& op, const Shape& shape) {
  const std::uint32_t me = team_.rank();
  const Segment& segment = team_.segment();
  const std::uint64_t longest = longest_block();
  const std::uint64_t width = kSlotBytes / shape.blocks / kLine * kLine;
  const bool sends = !root_sends(op.kind) || me == op.root;
  const std::byte* const source = op.kind == OperationKind::broadcast ? op.recv.data() : op.send.data();
  std::vector<Take> all = takes(op, shape);
  for (std::uint64_t done = 0; done < longest; done += width) {
    const std::uint32_t slot = next_slot();
    std::uint64_t at = 0;  // of the block in what this rank sends
    for (std::uint32_t b = 0; b < shape.blocks && sends; ++b) {
      const std::uint64_t block = op.send_bytes.empty() ? shape.block_bytes : op.send_bytes[b];
      if (block > done) {
        copy_bytes(segment.slot(me, slot) + b * width, source + at + done, std::min(width, block - done));
      }
      at += block;
    }
    CORTADO_RETURN_IF_ERROR(team_.barrier());
    const std::uint64_t piece = std::min(width, longest - done);
    if (op.kind == OperationKind::all_reduce) {
      CORTADO_RETURN_IF_ERROR(all_reduce_slots(op, slot, op.recv.data() + done, piece));
    } else if (op.kind == OperationKind::reduce_scatter) {
      sources_.clear();
      for (std::uint32_t r = 0; r < team_.ranks(); ++r) sources_.push_back(segment.slot(r, slot) + me * width);
      reduce(op.element, op.reduction, op.recv.data() + done, sources_, piece);
    }
    for (const Take& take : all) {
      if (take.bytes <= done) continue;
      copy_bytes(op.recv.data() + take.to + done, segment.slot(take.from, slot) + take.block * width,
                 std::min(width, take.bytes - done));
    }
  }
  return {};
}

// --- Direct ----------------------------------------------------------------------------------------------------------

Status Exchange::unreadable(std::uint32_t peer) {
  return team_.end("runtime.peer", fmt::format("rank {} cannot read memory of rank {}", team_.rank(), peer));
}

Status Exchange::reduce_from_peers(const Operation& op, std::uint64_t offset, std::byte* out, std::uint64_t bytes) {
  const std::uint32_t ranks = team_.ranks();
  if (!last_.windows) scratch_.resize(ranks * kScratch);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t piece = std::min(bytes - done, kScratch);
    sources_.clear();
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const Location& location = team_.call_of(r).send;
      const std::byte* here = team_.view(r, location, offset + done);
      if (here == nullptr) {
        std::byte* const copy = scratch_.data() + r * kScratch;
        if (!team_.read(r, location, offset + done, copy, piece)) return unreadable(r);
        here = copy;
      }
      sources_.push_back(here);
    }
    reduce(op.element, op.reduction, out + done, sources_, piece);
    done += piece;
  }
  return {};
}

Status Exchange::all_reduce_directly(const Operation& op) {
  const std::uint64_t bytes = op.recv.size();
  const std::uint32_t ranks = team_.ranks();
  const std::uint64_t part = round_up((bytes + ranks - 1) / ranks, kLine);
  const std::uint64_t own = std::min(team_.rank() * part, bytes);
  CORTADO_RETURN_IF_ERROR(reduce_from_peers(op, own, op.recv.data() + own, std::min(part, bytes - own)));
  CORTADO_RETURN_IF_ERROR(team_.barrier());
  for (std::uint32_t i = 1; i < ranks; ++i) {
    const std::uint32_t from = (team_.rank() + i) % ranks;
    const std::uint64_t first = std::min(from * part, bytes);
    const std::uint64_t count = std::min(part, bytes - first);
    if (!team_.read(from, team_.call_of(from).recv, first, op.recv.data() + first, count)) return unreadable(from);
  }
  return {};
}

Status Exchange::directly(const Operation& op, const Shape& shape) {
  if (op.kind == OperationKind::all_reduce) {
    CORTADO_RETURN_IF_ERROR(all_reduce_directly(op));
  } else if (op.kind == OperationKind::reduce_scatter) {
    CORTADO_RETURN_IF_ERROR(reduce_from_peers(op, team_.rank() * shape.block_bytes, op.recv.data(), shape.block_bytes));
  }
  for (const Take& take : takes(op, shape)) {
    if (take.bytes == 0) continue;
    const Location& location = team_.call_of(take.from).send;
    if (!team_.read(take.from, location, take.sent_at, op.recv.data() + take.to, take.bytes)) {
      return unreadable(take.from);
    }
  }
  return team_.barrier();  // nobody changes what others still read
}

}  // namespace cortado::runtime
