// What NCCL and RCCL run, as variants: ring-ll, ring-ll128, ring-simple, nvls, sends-ll and sends-simple, and
// `library`, which is the one of these that the library of the machine would choose.
//
//   ring-*    N-1 steps (all-reduce 2 (N-1)), on a mesh in several rings at once, each with a slice of every block
//   nvls      the switch adds: every rank reads the sum of its block out of the switch and stores it to all GPUs
//   sends-*   an all-to-all as a send and a receive for each peer
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/collective/all_gather.hpp"
#include "plan/collective/all_reduce.hpp"
#include "plan/collective/all_to_all.hpp"
#include "plan/collective/library.hpp"
#include "plan/collective/reduce_scatter.hpp"

namespace cortado::plan {
namespace {

/// Each ring takes a share of every block in proportion to its share of all compute units.
class Slices {
 public:
  Slices(const std::vector<LibraryRing>& rings, Bytes element) : element_(element) {
    for (const LibraryRing& ring : rings) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + ring.units);
  }

  Region of(const Region& block, std::size_t index) const {
    const Blocks shares(block.bytes(), ends_.back(), element_);
    const auto until = [&](std::size_t rings) {
      return rings == 0 ? Bytes{} : shares.offset(ends_[rings - 1] - 1) + shares.size(ends_[rings - 1] - 1);
    };
    return slice(block, until(index), until(index + 1) - until(index));
  }
  Terms of(const Terms& whole, std::size_t index) const { return {of(whole.blocks, index), of(whole.sums, index)}; }
  Gathering of(const Gathering& whole, std::size_t index) const {
    return {of(whole.own, index), of(whole.places, index)};
  }

 private:
  template <class T>
  std::vector<T> of(const std::vector<T>& all, std::size_t index) const {
    std::vector<T> slices;
    for (const T& one : all) slices.push_back(of(one, index));
    return slices;
  }

  std::vector<std::uint32_t> ends_;  // compute units of this ring and all before it
  Bytes element_;
};

template <Protocol kProtocol>
Result<Program> plan_gather_rings(Schedule& schedule) {
  AllGather gather(schedule);
  const Gathering gathering = gather.gathering();
  std::vector<LibraryRing> rings = library_rings(schedule, kProtocol, gather.input({0}).bytes());
  const Slices slices(rings, Bytes{1});
  for (std::size_t i = 0; i < rings.size(); ++i) rings[i].ring.gather(slices.of(gathering, i));
  for (const RankId rank : schedule.ranks()) {
    schedule.set_local_lane(rank, schedule.library_part(rank, "own", schedule.compute_units(), kProtocol));
    gather.copy_own_block(rank);
  }
  return gather.finish();
}

template <Protocol kProtocol>
Result<Program> plan_scatter_rings(Schedule& schedule) {
  ReduceScatter scatter(schedule);
  const Terms terms = terms_of(scatter.reduction());
  std::vector<LibraryRing> rings = library_rings(schedule, kProtocol, terms.size({0}));
  const Slices slices(rings, size_of(schedule.request().dtype));
  for (std::size_t i = 0; i < rings.size(); ++i) rings[i].ring.reduce_by_kernel(slices.of(terms, i));
  return scatter.finish();
}

template <Protocol kProtocol>
Result<Program> plan_all_reduce_rings(Schedule& schedule) {
  AllReduce all(schedule);
  const Terms terms = terms_of(all.reduction());
  const Gathering sums = all.gathering();
  std::vector<LibraryRing> rings = library_rings(schedule, kProtocol, terms.size({0}));
  const Slices slices(rings, size_of(schedule.request().dtype));
  for (std::size_t i = 0; i < rings.size(); ++i) {
    rings[i].ring.all_reduce_by_kernel(slices.of(terms, i), slices.of(sums, i));
  }
  return all.finish();
}

/// Nobody else reads or writes the block of an owner, so ranks wait only for what they receive.
Result<Program> plan_all_reduce_multicast(Schedule& schedule) {
  AllReduce all(schedule);
  schedule.omit_exit_barrier();
  const std::uint32_t units = schedule.machine().timing->library->multicast->units;
  const Bytes chunk = multicast_chunk(schedule.request().bytes, schedule.rank_count(), units);
  std::vector<Lane> lanes;
  for (const RankId rank : schedule.ranks()) {
    lanes.push_back(schedule.library_part(rank, "nvls", units, Protocol::multicast, 0, chunk));
  }
  std::vector<std::vector<SignalId>> written(schedule.rank_count());
  for (const RankId owner : schedule.ranks()) {
    const Bytes bytes = all.reduction().blocks.size(owner.value);
    if (bytes.value == 0) continue;
    std::vector<Region> terms;
    std::vector<Region> also;
    for (const RankId rank : schedule.ranks()) {
      terms.push_back(all.reduction().input_block(rank, owner));
      if (rank != owner) also.push_back(all.sum(rank, owner, {}, bytes));
    }
    Lane& lane = lanes[owner.value];
    lane.reduce(std::move(terms), all.sum(owner, owner, {}, bytes), schedule.request().dtype, std::move(also));
    for (const RankId rank : schedule.peers_after(owner)) written[rank.value].push_back(lane.raise(rank));
  }
  for (const RankId rank : schedule.ranks()) {
    for (const SignalId signal : written[rank.value]) lanes[rank.value].wait(signal);
  }
  return all.finish();
}

/// An all-to-all of sends and receives, with one part of the kernel per peer. The last bytes of a send, as many as its
/// units process at a time, go through staging memory and are unpacked by the receiver. Between GPUs without a
/// link, the part is on a third GPU, as in NCCL's indirect sends, and the receiver has a part that unpacks.
class Sends {
 public:
  Sends(Schedule& schedule, Protocol protocol)
      : schedule_(schedule),
        protocol_(protocol),
        most_(std::max(1U, schedule.compute_units() / (schedule.rank_count() - 1))),
        per_unit_(std::max<std::uint64_t>(schedule.machine().timing->library->sends.unit_bytes.value, 1)) {
    if (schedule.all_linked()) schedule.omit_exit_barrier();  // else a rank that has all may still be read from
  }

  std::uint32_t units() const { return most_ * (schedule_.rank_count() - 1); }

  void send(RankId rank, RankId peer, const Region& src, const Region& dst) {
    const Bytes bytes = src.bytes();
    const bool by_words = protocol_ == Protocol::ll;
    const std::uint64_t wanted = by_words ? 1 : (bytes.value + per_unit_ - 1) / per_unit_;
    const auto units = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, most_));
    const RankId by = schedule_.mover_towards(rank, peer);
    Lane own = schedule_.library_part(rank, fmt::format("{}", peer.value), units, protocol_, 2);
    lanes_.emplace(Pair{rank, peer}, own);
    if (bytes.value == 0) return;
    Lane lane =
        by == rank ? own : schedule_.library_part(by, fmt::format("{}to{}", rank.value, peer.value), units, protocol_);
    const Bytes last{by_words ? 0 : std::min(bytes.value, units * per_unit_)};
    const Bytes straight = bytes - last;
    if (straight.value > 0) lane.copy(slice(src, {}, straight), slice(dst, {}, straight));
    const Region staged = schedule_.buffer(fmt::format("staging{}.", rank.value), peer, last, BufferRole::scratch);
    if (last.value > 0) lane.copy(slice(src, straight, last), staged);
    arrivals_.push_back({rank, peer, lane.raise(peer), staged, slice(dst, straight, last)});
  }

  /// After everything has been sent: what a rank sends to a peer and what it receives from it share a part.
  void receive() {
    for (const Sent& sent : arrivals_) {
      Lane& lane = lanes_.at({sent.to, sent.from});
      lane.wait(sent.arrived);
      if (sent.staged.bytes().value > 0) lane.copy(sent.staged, sent.place);
    }
  }

 private:
  using Pair = std::pair<RankId, RankId>;  // identifies a part: its rank, and the peer
  struct Sent {
    RankId from;
    RankId to;
    SignalId arrived;
    Region staged;
    Region place;
  };

  Schedule& schedule_;
  Protocol protocol_;
  std::uint32_t most_;  // compute units for a peer
  std::uint64_t per_unit_;
  std::map<Pair, Lane> lanes_;
  std::vector<Sent> arrivals_;
};

template <Protocol kProtocol>
Result<Program> plan_sends(Schedule& schedule) {
  AllToAll exchange(schedule);
  Sends sends(schedule, kProtocol);
  for (const RankId rank : schedule.ranks()) {
    for (const RankId peer : schedule.peers_after(rank)) {
      sends.send(rank, peer, exchange.sent(rank, peer), exchange.received(rank, peer));
    }
    schedule.set_local_lane(rank, schedule.library_part(rank, "own", sends.units(), kProtocol));
    exchange.copy_own_block(rank);
  }
  sends.receive();
  return exchange.finish();
}

VariantInfo info_of(Collective collective, std::string variant, std::string summary, bool in_place) {
  return {.collective = collective,
          .variant = std::move(variant),
          .summary = std::move(summary),
          .in_place = in_place,
          .out_of_place = true,
          .on_cores = true,
          .of_library = true};
}

using Planner = Result<Program> (*)(Schedule& schedule);

Variant ring_of(Collective collective, Protocol protocol, Planner plan, bool reduces) {
  const char* how = protocol == Protocol::ll      ? "flags in every 8 bytes"
                    : protocol == Protocol::ll128 ? "flags in every 128 bytes"
                                                  : "counters that announce plain data";
  return {.info = info_of(collective, std::string(ring_variant(protocol)),
                          fmt::format("kernels of the library around all rings, {}; host per rank", how), true),
          .plan = plan,
          .reduces = reduces,
          .library = protocol};
}

Result<Program> plan_chosen(Schedule& schedule) {
  CORTADO_ASSIGN_OR_RETURN(const std::string name, library_variant(schedule.request(), schedule.machine()));
  CollectiveRequest chosen = schedule.request();
  chosen.variant = name;
  CORTADO_ASSIGN_OR_RETURN(const Variant* variant, find_variant(chosen));
  CORTADO_ASSIGN_OR_RETURN(Program program, variant->plan(schedule));
  program.name = fmt::format("{} {} ({}), {}", chosen.collective, kLibraryVariant, name, format_bytes(chosen.bytes));
  return program;
}

Variant chosen_of(Collective collective, bool in_place, bool reduces) {
  Variant variant{
      .info = info_of(collective, std::string(kLibraryVariant),
                      "what NCCL or RCCL would choose for this size and these ranks; host per rank", in_place),
      .plan = plan_chosen,
      .reduces = reduces,
      .library = Protocol::none};
  variant.info.of_library = false;
  return variant;
}

}  // namespace

std::vector<Variant> library_variants() {
  using enum Protocol;
  return {
      chosen_of("all-gather", true, false),
      ring_of("all-gather", ll, plan_gather_rings<ll>, false),
      ring_of("all-gather", ll128, plan_gather_rings<ll128>, false),
      ring_of("all-gather", simple, plan_gather_rings<simple>, false),
      chosen_of("all-to-all", false, false),
      {.info = info_of("all-to-all", "sends-ll", "sends of the library, flags in every 8 bytes; host per rank", false),
       .plan = plan_sends<ll>,
       .library = ll},
      {.info = info_of("all-to-all", "sends-simple", "sends of the library; host per rank", false),
       .plan = plan_sends<sends>,
       .library = sends},
      chosen_of("reduce-scatter", true, true),
      ring_of("reduce-scatter", ll, plan_scatter_rings<ll>, true),
      ring_of("reduce-scatter", ll128, plan_scatter_rings<ll128>, true),
      ring_of("reduce-scatter", simple, plan_scatter_rings<simple>, true),
      chosen_of("all-reduce", true, true),
      ring_of("all-reduce", ll, plan_all_reduce_rings<ll>, true),
      ring_of("all-reduce", ll128, plan_all_reduce_rings<ll128>, true),
      ring_of("all-reduce", simple, plan_all_reduce_rings<simple>, true),
      {.info = info_of("all-reduce", "nvls", "the switch adds and multicasts; host per rank", true),
       .plan = plan_all_reduce_multicast,
       .reduces = true,
       .library = multicast},
  };
}

}  // namespace cortado::plan
