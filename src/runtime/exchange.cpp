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

/// From this size on, data in windows is taken from there: a second meeting instead of a second copy.
constexpr std::uint64_t kSlotFirst = 16 << 10;
/// From this size on, blocks of other memory are read by the system, unless they are summed. Measured with two
/// processes on an AMD EPYC, Linux 6.18: this moves 11 GB/s; through a slot, which is copied from the other core's
/// cache, two copies move 6. Where ranks share cores, data that fits in a slot or is read by all others goes through
/// slots: one copy into the slot saves each of them a system call (8 processes on 2 cores, all-gather of 64 KiB: 265 us
/// instead of 640). The rest is read directly there, however large, since a meeting for every piece takes longer
/// (all-to-all of 8 MiB: 40 ms in pieces, where Open MPI, which reads, takes 19).
constexpr std::uint64_t kReadFrom = 32 << 10;
/// An operation that touches more than half of the largest cache bypasses the caches when writing: source and
/// destination of a copy evict each other even before the cache is full, and others use it as well. Measured as above:
/// two ranks that copy 4 MiB each from windows take 180 us bypassing a cache of 32 MiB and 330 through it; with 2 MiB,
/// 90 and 80.
constexpr std::uint64_t kStreamShare = 2;

std::string describe(const Call& call) {
  if (call.what.refused) return "something with wrong arguments";
  const auto kind = static_cast<OperationKind>(call.what.kind);
  std::string text = fmt::format("{} of {}", name_of(kind), format_bytes({call.block_bytes}));
  if (call.what.by_counts) text = fmt::format("{} with counts", name_of(kind));
  if (reduces(kind)) {
    text += fmt::format(" of elements {} by {}", name_of(static_cast<Element>(call.what.element)),
                        name_of(static_cast<Reduction>(call.what.reduction)));
  }
  if (has_root(kind)) text += fmt::format(", root {}", call.what.root);
  if (call.what.variant != 0) text += fmt::format(" by variant {}", name_of(static_cast<Variant>(call.what.variant)));
  return text;
}

bool same_call(const Call& a, const Call& b) {
  return a.what == b.what && (a.what.by_counts || a.block_bytes == b.block_bytes);
}

}  // namespace

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
        const std::uint32_t from = (me + i) % ranks;  // so that not all ranks read from the same one first
        if (op.recv_bytes.empty()) {
          takes_.push_back({from, block, block * n, from * n, n});
          continue;
        }
        const auto& counts = team_.counts_of(from).send;
        const auto at = std::accumulate(counts.begin(), counts.begin() + block, std::uint64_t{0});
        const auto to = std::accumulate(op.recv_bytes.begin(), op.recv_bytes.begin() + from, std::uint64_t{0});
        takes_.push_back({from, block, at, to, op.recv_bytes[from]});
      }
      break;
    }
    default:
      break;
  }
  return takes_;
}

Result<std::unique_ptr<Exchange>> Exchange::open(Team& team, Tuning tuning, Bytes cache) {
  std::unique_ptr<Exchange> made(new Exchange(team, std::move(tuning), cache));
  const Segment& segment = team.segment();
  made->reads_all_ = true;
  if (segment.one_process()) return made;
  // Does the system allow reading memory of another process? The neighbour announces an address of its own to try.
  const Location own{reinterpret_cast<std::uint64_t>(&segment.header()), false};
  Call call;
  call.send = own;
  if (team.rank() == 0) segment.header().cache_bytes = cache.value;
  CORTADO_RETURN_IF_ERROR(team.announce(call));
  CORTADO_RETURN_IF_ERROR(team.meet());
  made->cache_bytes_ = segment.header().cache_bytes;
  std::byte byte{};
  const std::uint32_t next = (team.rank() + 1) % team.ranks();
  segment.block(team.rank()).reads_peers = team.read(next, team.call_of(next).send, 0, &byte, 1) ? 1 : 0;
  CORTADO_RETURN_IF_ERROR(team.barrier());
  for (std::uint32_t r = 0; r < team.ranks(); ++r) made->reads_all_ &= segment.block(r).reads_peers != 0;
  return made;
}

Call Exchange::call_for(const Operation& op, const Shape& shape) const {
  Call call;
  call.what.kind = static_cast<std::uint8_t>(op.kind);
  if (reduces(op.kind)) {
    call.what.element = static_cast<std::uint8_t>(op.element);
    call.what.reduction = static_cast<std::uint8_t>(op.reduction);
  }
  if (has_root(op.kind)) call.what.root = static_cast<std::uint8_t>(op.root);
  call.block_bytes = shape.block_bytes;
  call.what.by_counts = !op.recv_bytes.empty();
  // With counts, ranks may send different numbers of bytes, but must make the same choice.
  const std::uint64_t bytes = call.what.by_counts ? 0 : shape.block_bytes * shape.blocks;
  call.what.variant = static_cast<std::uint8_t>(tuning_.variant_for(op.kind, bytes));
  call.in_place = op.kind != OperationKind::broadcast && overlap(op.send, op.recv);
  const std::byte* const source = op.kind == OperationKind::broadcast ? op.recv.data() : op.send.data();
  call.send = team_.locate(source);
  call.recv = team_.locate(op.recv.data());
  return call;
}

bool Exchange::uses_slot(const Call& call, std::uint64_t bytes) const {
  const auto kind = static_cast<OperationKind>(call.what.kind);
  const auto asked = static_cast<Variant>(call.what.variant);
  if (kind == OperationKind::barrier) return true;
  if (bytes > kSlotBytes || asked == Variant::staged || asked == Variant::direct) return false;
  if (asked == Variant::slots || (kind == OperationKind::all_to_all && call.in_place)) return true;
  const bool all = team_.segment().one_process();
  const bool in_reach = all || (call.send.in_segment && (kind != OperationKind::all_reduce || call.recv.in_segment));
  if (in_reach) return bytes <= kSlotFirst;
  return !reads_all_ || team_.share_cores() || reduces(kind) || call.block_bytes < kReadFrom;
}

// The others are notified as well: they would wait for a call that never comes.
Status Exchange::refuse(Diagnostic reason) {
  Call call;
  call.what.refused = true;
  (void)next_slot();  // like the others
  CORTADO_RETURN_IF_ERROR(team_.announce(call));
  CORTADO_RETURN_IF_ERROR(team_.meet());
  return fail(std::move(reason));
}

Status Exchange::check_calls() const {
  const Call& own = team_.call_of(team_.rank());
  const Call& first = team_.call_of(0);
  for (std::uint32_t r = 1; r < team_.ranks(); ++r) {
    const Call& call = team_.call_of(r);
    if (same_call(call, first)) continue;
    Diagnostic diagnostic{
        "runtime.mismatch", fmt::format("rank 0 called {}, rank {} {}", describe(first), r, describe(call)),
        "all ranks must call the same operations in the same order, with the same sizes, types and root"};
    diagnostic.place.rank = RankId{r};
    return fail(std::move(diagnostic));
  }
  if (!own.what.by_counts) return {};
  for (std::uint32_t from = 0; from < team_.ranks(); ++from) {
    for (std::uint32_t to = 0; to < team_.ranks(); ++to) {
      const std::uint64_t sent = team_.counts_of(from).send[to];
      const std::uint64_t received = team_.counts_of(to).recv[from];
      if (sent == received) continue;
      return fail("runtime.mismatch",
                  fmt::format("{} with counts: rank {} sends {} bytes to rank {}, which receives {}",
                              name_of(static_cast<OperationKind>(own.what.kind)), from, sent, to, received));
    }
  }
  return {};
}

bool Exchange::all_in_reach(bool receive_buffers) const {
  if (team_.segment().one_process()) return true;
  for (std::uint32_t r = 0; r < team_.ranks(); ++r) {
    const Call& call = team_.call_of(r);
    const auto kind = static_cast<OperationKind>(call.what.kind);
    if (root_sends(kind) && r != call.what.root) continue;
    if (!call.send.in_segment || (receive_buffers && !call.recv.in_segment)) return false;
  }
  return true;
}

std::uint64_t Exchange::longest_block() const {
  std::uint64_t longest = 0;
  for (std::uint32_t r = 0; r < team_.ranks(); ++r) longest = std::max(longest, team_.call_of(r).block_bytes);
  return longest;
}

std::uint64_t Exchange::bytes_touched(const Operation& op) const {
  const std::uint64_t ranks = team_.ranks();
  const std::uint64_t block = team_.call_of(team_.rank()).block_bytes;
  if (team_.call_of(team_.rank()).what.by_counts) {
    std::uint64_t sent = 0;
    for (std::uint32_t from = 0; from < ranks; ++from) {
      const auto& counts = team_.counts_of(from).send;
      sent = std::accumulate(counts.begin(), counts.begin() + ranks, sent);
    }
    return 2 * sent;
  }
  switch (op.kind) {
    case OperationKind::all_gather:
    case OperationKind::reduce_scatter:
      return (ranks + ranks * ranks) * block;
    case OperationKind::all_to_all:
      return 2 * ranks * ranks * block;
    default:
      return 2 * ranks * block;
  }
}

void Exchange::copy(std::byte* to, const std::byte* from, std::uint64_t bytes) const {
  if (from == to) return;
  if (streams_) return stream_bytes(to, from, bytes);
  copy_bytes(to, from, bytes);
}

Exchange::Decision Exchange::decide(const Operation& op) const {
  bool in_place = false;
  bool in_slots = true;
  for (std::uint32_t r = 0; r < team_.ranks(); ++r) {
    in_place |= team_.call_of(r).in_place;
    in_slots &= team_.call_of(r).in_slot;
  }
  if (in_slots) return {Variant::slots, "what a rank sends fits its slot: one meeting, two copies"};
  const auto asked = static_cast<Variant>(team_.call_of(team_.rank()).what.variant);
  // In place, all-to-all would overwrite what others still read.
  if (in_place && op.kind == OperationKind::all_to_all) {
    return {Variant::staged, "piece by piece through the slots: all-to-all in place"};
  }
  if (asked == Variant::staged) return {Variant::staged, "piece by piece through the slots: two copies"};
  if (all_in_reach(op.kind == OperationKind::all_reduce)) {
    return {Variant::direct, "a proved program, all reach each other's memory: two meetings, one copy"};
  }
  if (!reads_all_) {
    return {Variant::staged,
            "piece by piece through the slots: the system does not let ranks read each other's memory"};
  }
  if (asked != Variant::direct) {
    const bool all_read_the_same = op.kind == OperationKind::all_gather || op.kind == OperationKind::broadcast;
    const bool no_calls = reduces(op.kind) || longest_block() < kReadFrom || (all_read_the_same && team_.share_cores());
    if (streams_ && (no_calls || !team_.share_cores())) {
      return {Variant::staged, "piece by piece through the slots: two copies past the caches"};
    }
    if (no_calls) return {Variant::staged, "piece by piece through the slots: two copies cost less than system calls"};
  }
  return {Variant::direct, "a proved program, memory of other processes is read by the system: two meetings, one copy"};
}

Status Exchange::run(const Operation& op) {
  const Result<Shape> checked = shape_of(op, team_.rank(), team_.ranks());
  if (!checked) return refuse(checked.error());
  const Shape& shape = *checked;
  Call call = call_for(op, shape);
  const Sent source = op.kind == OperationKind::broadcast ? Sent(op.recv) : op.send;
  const bool sends = !root_sends(op.kind) || team_.rank() == op.root;
  call.in_slot = uses_slot(call, sends ? source.size() : 0);
  const std::uint32_t slot = next_slot();  // on all ranks, whether or not they use it
  if (call.in_slot) {
    std::byte* const own = team_.segment().slot(team_.rank(), slot);
    if (sends && !source.empty()) {
      copy_bytes(own, source.data(), source.size());
      call.send = team_.locate(own);  // if others have theirs elsewhere, this rank's data is taken from here
    }
  }
  if (call.what.by_counts) {
    Counts counts;
    if (op.kind == OperationKind::all_gather) counts.send.fill(op.send.size());  // the same for all ranks
    std::ranges::copy(op.send_bytes, counts.send.begin());
    std::ranges::copy(op.recv_bytes, counts.recv.begin());
    CORTADO_RETURN_IF_ERROR(team_.announce(call, &counts));
  } else {
    CORTADO_RETURN_IF_ERROR(team_.announce(call));
  }
  CORTADO_RETURN_IF_ERROR(team_.meet());
  CORTADO_RETURN_IF_ERROR(check_calls());
  streams_ = bytes_touched(op) > cache_bytes_ / kStreamShare;
  const Decision decision = decide(op);
  last_ = {op.kind, shape.block_bytes * shape.blocks, decision.variant, decision.why, call.what.variant != 0};
  if (decision.variant == Variant::slots) return by_slots(op, shape, slot);
  return decision.variant == Variant::direct ? directly(op) : by_pieces(op, shape);
}

}  // namespace cortado::runtime
