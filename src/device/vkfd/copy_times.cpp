#include "device/vkfd/copy_times.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "cortado/program.hpp"
#include "cortado/target.hpp"

#include "base/check.hpp"
#include "device/soft/transfer.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::device::vkfd {
namespace {

/// One buffer per memory; the same bytes of a program map to the same bytes of the buffer, so that cache contents are
/// right.
class Regions {
 public:
  void want(MovePlace place, std::uint64_t bytes) {
    const auto [entry, added] = offsets_.try_emplace({place.memory, place.address, bytes}, 0);
    if (added) entry->second = std::exchange(sizes_[place.memory], sizes_[place.memory] + bytes);
  }
  void make(ProgramBuilder& builder, RankId user) {
    for (const auto& [memory, bytes] : sizes_) {
      const std::string name = "memory" + std::to_string(memory);
      buffers_.emplace(memory, memory == kHostMemory
                                   ? builder.host_buffer(name, user, 0, Bytes{bytes}, BufferRole::scratch)
                                   : builder.buffer(name, RankId{memory}, Bytes{bytes}, BufferRole::scratch));
    }
  }
  Region at(MovePlace place, std::uint64_t bytes) const {
    return make_region(buffers_.at(place.memory), Bytes{offsets_.at({place.memory, place.address, bytes})},
                       Bytes{bytes});
  }

 private:
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>, std::uint64_t> offsets_;
  std::map<std::uint32_t, std::uint64_t> sizes_;
  std::map<std::uint32_t, BufferId> buffers_;
};

Command command_of(const Move& move, const Regions& regions) {
  const Region from = regions.at(move.from, move.bytes);
  const Region to = regions.at(move.to, move.bytes);
  switch (move.kind) {
    case Move::Kind::copy:
      break;
    case Move::Kind::broadcast:
      return Broadcast{from, to, regions.at(move.second, move.bytes)};
    case Move::Kind::swap:
      return Swap{from, to};
  }
  return Copy{from, to};
}

}  // namespace

std::optional<Move> move_of(const sdma::Packet& packet, std::uint32_t gpu, const Home& home) {
  const auto shape = soft::transfer_shape(packet);
  if (!shape) return std::nullopt;
  const auto at = [&](std::uint64_t address) { return MovePlace{home(gpu, address), address}; };
  if (const auto* broadcast = std::get_if<sdma::CopyBroadcast>(&packet)) {
    return Move{Move::Kind::broadcast, at(broadcast->src), at(broadcast->dst1), at(broadcast->dst2), broadcast->bytes};
  }
  if (const auto* swap = std::get_if<sdma::CopySwap>(&packet)) {
    return Move{Move::Kind::swap, at(swap->a), at(swap->b), {gpu, 0}, swap->bytes};
  }
  Move move{Move::Kind::copy, {gpu, 0}, {gpu, 0}, {gpu, 0}, shape->units * shape->unit_bytes};
  bool read = false;
  bool written = false;
  soft::for_each_access(packet, [&](std::uint64_t address, std::uint64_t, bool writes) {
    if (!std::exchange(writes ? written : read, true)) (writes ? move.to : move.from) = at(address);
  });
  return move;
}

CopyTimes::CopyTimes(const Machine& machine) : machine_(machine) {
  machine_.provenance.clear();  // every query copies the machine
}

/// The memory as the simulator sees it. Some machine files do not describe links to the host, and GPUs without a direct
/// link reach each other by routes that are not described: such bytes take the time that the engine needs within its
/// GPU. There, only copies reach host memory.
MovePlace CopyTimes::place(std::uint32_t gpu, const Move& move, MovePlace where) const {
  const bool known = where.memory == kHostMemory
                         ? machine_.timing->host_link.has_value() && move.kind == Move::Kind::copy
                         : where.memory == gpu || machine_.link_count(RankId{gpu}, RankId{where.memory}) > 0;
  if (!known) where.memory = gpu;
  return where;
}

std::vector<std::vector<MoveSpan>> CopyTimes::of(std::span<const MoveList* const> lists) const {
  if (lists.empty()) return {};
  ProgramBuilder builder("packets", machine_.name, machine_.gpus);
  Regions regions;
  std::vector<std::vector<Move>> placed;
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  for (const MoveList* list : lists) {
    first = std::min(first, list->begin);
    placed.push_back(list->moves);
    for (Move& move : placed.back()) {
      for (MovePlace* where : {&move.from, &move.to, &move.second}) *where = place(list->gpu, move, *where);
      regions.want(move.from, move.bytes);
      regions.want(move.to, move.bytes);
      if (move.kind == Move::Kind::broadcast) regions.want(move.second, move.bytes);
    }
  }
  regions.make(builder, RankId{lists.front()->gpu});
  std::vector<Nanoseconds> starts;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const QueueId queue =
        builder.dma_queue("list" + std::to_string(i), RankId{lists[i]->gpu}, EngineId{lists[i]->engine});
    for (const Move& move : placed[i]) builder.add(queue, command_of(move, regions));
    starts.push_back(Nanoseconds{static_cast<std::int64_t>(lists[i]->begin - first)});
  }
  const auto run = sim::simulate_from(unproved(std::move(builder).finish(), machine_), starts,
                                      {.trace = true, .span_names = false, .energy = false});
  CORTADO_CHECK(run.has_value(), "packets that cannot be simulated");
  std::vector<std::vector<MoveSpan>> spans;
  for (const MoveList* list : lists) spans.emplace_back(list->moves.size(), MoveSpan{list->begin, list->begin});
  for (const cortado::Span& span : run->timeline.spans) {
    if (span.kind != SpanKind::copy) continue;
    spans[span.track][span.command] = {first + static_cast<std::uint64_t>(span.start.value),
                                       first + static_cast<std::uint64_t>(span.end.value)};
  }
  return spans;
}

}  // namespace cortado::device::vkfd
