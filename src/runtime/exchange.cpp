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

/// Of all-reduce: up to so many bytes of all slots together, and with two ranks always, every rank sums everything
/// itself; above, a part, and takes the others' sums behind another barrier.
constexpr std::uint64_t kSumAlone = 64 << 10;
/// Of memory that has to be read into this process to be summed: so much of each rank at a time.
constexpr std::uint64_t kScratch = 32 << 10;
/// What lies in windows is taken from there from this size on: a second meeting instead of a second copy.
constexpr std::uint64_t kSlotFirst = 16 << 10;
/// Blocks of other memory are read by the system from this size on, unless they are summed. Measured with two processes
/// on an AMD EPYC, Linux 6.18: it moves 11 GB/s; through a slot, which is copied out of the other core's cache, two
/// copies move 6.
constexpr std::uint64_t kReadFrom = 32 << 10;
constexpr std::uint64_t kLine = 64;  // a multiple of every element

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

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
        const std::uint32_t from = (me + i) % ranks;  // so that not all read from the same rank at first
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

Result<std::unique_ptr<Exchange>> Exchange::open(Team& team, Tuning tuning) {
  std::unique_ptr<Exchange> made(new Exchange(team, std::move(tuning)));
  const Segment& segment = team.segment();
  made->reads_all_ = true;
  if (segment.one_process()) return made;
  // Can the system be asked for memory of another process? The neighbour's block is at an address that it tells.
  const Location own{reinterpret_cast<std::uint64_t>(&segment.header()), false};
  Call call;
  call.send = own;
  CORTADO_RETURN_IF_ERROR(team.announce(call));
  CORTADO_RETURN_IF_ERROR(team.meet());
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
  // With counts the ranks may send different numbers of bytes, but choose the same.
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
  return !reads_all_ || reduces(kind) || call.block_bytes < kReadFrom;
}

// The others are told, too: they would wait for a call that never comes.
Status Exchange::refuse(Diagnostic reason) {
  Call call;
  call.what.refused = true;
  (void)next_slot();  // as the others
  CORTADO_RETURN_IF_ERROR(team_.announce(call));
  CORTADO_RETURN_IF_ERROR(team_.meet());
  return fail(std::move(reason));
}

LightStatus Exchange::check_calls() const {
  const Call& own = team_.call_of(team_.rank());
  const Call& first = team_.call_of(0);
  for (std::uint32_t r = 1; r < team_.ranks(); ++r) {
    const Call& call = team_.call_of(r);
    if (same_call(call, first)) continue;
    Diagnostic diagnostic{"runtime.mismatch",
                          fmt::format("rank 0 called {}, rank {} {}", describe(first), r, describe(call)),
                          "all ranks call the same operations in the same order, with the same sizes, types and root"};
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

Variant Exchange::decide(const Operation& op) const {
  bool in_place = false;
  bool in_slots = true;
  for (std::uint32_t r = 0; r < team_.ranks(); ++r) {
    in_place |= team_.call_of(r).in_place;
    in_slots &= team_.call_of(r).in_slot;
  }
  if (in_slots) return Variant::slots;
  const auto asked = static_cast<Variant>(team_.call_of(team_.rank()).what.variant);
  // In place, all-to-all would overwrite what others still read.
  if (asked == Variant::staged || (in_place && op.kind == OperationKind::all_to_all)) return Variant::staged;
  if (all_in_reach(op.kind == OperationKind::all_reduce)) return Variant::direct;
  const bool read = asked == Variant::direct || (!reduces(op.kind) && longest_block() >= kReadFrom);
  return reads_all_ && read ? Variant::direct : Variant::staged;
}

Status Exchange::run(const Operation& op) {
  const Result<Shape> checked = shape_of(op, team_.rank(), team_.ranks());
  if (!checked) return refuse(checked.error());
  const Shape& shape = *checked;
  Call call = call_for(op, shape);
  const Sent source = op.kind == OperationKind::broadcast ? Sent(op.recv) : op.send;
  const bool sends = !root_sends(op.kind) || team_.rank() == op.root;
  call.in_slot = uses_slot(call, sends ? source.size() : 0);
  const std::uint32_t slot = next_slot();  // of all ranks, whether they use it or not
  if (call.in_slot) {
    std::byte* const own = team_.segment().slot(team_.rank(), slot);
    if (sends && !source.empty()) {
      copy_bytes(own, source.data(), source.size());
      call.send = team_.locate(own);  // if others have theirs elsewhere, this rank's are taken from here
    }
  }
  if (call.what.by_counts) {
    Counts counts;
    if (op.kind == OperationKind::all_gather) counts.send.fill(op.send.size());  // the same for everybody
    std::ranges::copy(op.send_bytes, counts.send.begin());
    std::ranges::copy(op.recv_bytes, counts.recv.begin());
    CORTADO_RETURN_IF_ERROR(team_.announce(call, &counts));
  } else {
    CORTADO_RETURN_IF_ERROR(team_.announce(call));
  }
  CORTADO_RETURN_IF_ERROR(team_.meet());
  CORTADO_RETURN_IF_ERROR(check_calls());
  last_ = {op.kind, shape.block_bytes * shape.blocks, decide(op), true, call.what.variant != 0};
  if (last_.variant == Variant::slots) return by_slots(op, shape, slot);
  last_.windows = all_in_reach(op.kind == OperationKind::all_reduce);
  return last_.variant == Variant::direct ? directly(op) : by_pieces(op, shape);
}

LightStatus Exchange::by_slots(const Operation& op, const Shape& shape, std::uint32_t slot) {
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
    const std::byte* const from = take.from == me ? op.send.data() + take.sent_at  // its own are nearer than its slot
                                                  : segment.slot(take.from, slot) + take.sent_at;
    if (from != to) copy_bytes(to, from, take.bytes);
  }
  return {};
}

LightStatus Exchange::all_reduce_slots(const Operation& op, std::uint32_t slot, std::byte* out, std::uint64_t bytes) {
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
    if (length > 0) copy_bytes(out + begin, segment.slot(r, kResults), length);
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

Status Exchange::unreadable(std::uint32_t peer) {
  return team_.end("runtime.peer", fmt::format("rank {} cannot read memory of rank {}", team_.rank(), peer));
}

const Location& Exchange::location(const Place& place) const {
  const Call& call = team_.call_of(place.rank);
  return place.received ? call.recv : call.send;
}

Status Exchange::reduce_from(const Operation& op, const Step& step) {
  if (!last_.windows) scratch_.resize(step.sources.size() * kScratch);
  for (std::uint64_t done = 0; done < step.bytes; done += kScratch) {
    const std::uint64_t piece = std::min(step.bytes - done, kScratch);
    sources_.clear();
    for (const Place& place : step.sources) {
      const std::byte* here = team_.view(place.rank, location(place), place.offset + done);
      if (here == nullptr) {
        std::byte* const copy = scratch_.data() + sources_.size() * kScratch;
        if (!team_.read(place.rank, location(place), place.offset + done, copy, piece)) return unreadable(place.rank);
        here = copy;
      }
      sources_.push_back(here);
    }
    reduce(op.element, op.reduction, op.recv.data() + step.to + done, sources_, piece);
  }
  return {};
}

PullRequest Exchange::request_for(const Operation& op) const {
  PullRequest request{.kind = op.kind, .ranks = team_.ranks(), .root = has_root(op.kind) ? op.root : 0};
  if (reduces(op.kind)) request.element_bytes = size_of(op.element).value;
  for (std::uint32_t r = 0; r < team_.ranks(); ++r) {
    const Call& call = team_.call_of(r);
    if (call.in_place && !call.in_slot) request.in_place |= std::uint64_t{1} << r;
    if (!call.what.by_counts) {
      request.block_bytes = call.block_bytes;
      continue;
    }
    const auto& counts = team_.counts_of(r).send;
    request.send_bytes.insert(request.send_bytes.end(), counts.begin(), counts.begin() + team_.ranks());
  }
  return request;
}

Status Exchange::directly(const Operation& op) {
  const bool nothing_to_do = longest_block() == 0 || (op.kind == OperationKind::broadcast && team_.ranks() == 1);
  if (nothing_to_do) return team_.barrier();
  const Result<const std::vector<Step>*> steps = programs_.find(request_for(op));
  if (!steps) return fail(steps.error());
  for (const Step& step : **steps) {
    switch (step.kind) {
      case Step::Kind::copy: {
        const Place& from = step.sources.front();
        if (!team_.read(from.rank, location(from), from.offset, op.recv.data() + step.to, step.bytes)) {
          return unreadable(from.rank);
        }
        break;
      }
      case Step::Kind::reduce:
        CORTADO_RETURN_IF_ERROR(reduce_from(op, step));
        break;
      case Step::Kind::raise:
        team_.raise(step.signal);
        break;
      case Step::Kind::wait:
        CORTADO_RETURN_IF_ERROR(team_.wait_for(step.rank, step.signal));
        break;
    }
  }
  return {};
}

}  // namespace cortado::runtime
