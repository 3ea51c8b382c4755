#include "device/vkfd/copy_times.hpp"

#include <string>
#include <utility>
#include <variant>

#include "cortado/program.hpp"
#include "cortado/verify.hpp"

#include "base/check.hpp"
#include "device/soft/transfer.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::device::vkfd {
namespace {

constexpr std::size_t kMostKnown = 4096;  // lists of transfers

/// A buffer a memory, in which every transfer has bytes of its own.
class Places {
 public:
  void want(std::uint32_t memory, std::uint64_t bytes) { sizes_[memory] += bytes; }
  void make(ProgramBuilder& builder, RankId user) {
    for (const auto& [memory, bytes] : sizes_) {
      const std::string name = "memory" + std::to_string(memory);
      buffers_.emplace(memory, memory == kHostMemory
                                   ? builder.host_buffer(name, user, 0, Bytes{bytes}, BufferRole::scratch)
                                   : builder.buffer(name, RankId{memory}, Bytes{bytes}, BufferRole::scratch));
    }
  }
  Region take(std::uint32_t memory, std::uint64_t bytes) {
    return make_region(buffers_.at(memory), Bytes{std::exchange(used_[memory], used_[memory] + bytes)}, Bytes{bytes});
  }

 private:
  std::map<std::uint32_t, std::uint64_t> sizes_;
  std::map<std::uint32_t, std::uint64_t> used_;
  std::map<std::uint32_t, BufferId> buffers_;
};

Command command_of(const Move& move, Places& places) {
  const Region from = places.take(move.from, move.bytes);
  const Region to = places.take(move.to, move.bytes);
  switch (move.kind) {
    case Move::Kind::copy:
      break;
    case Move::Kind::broadcast:
      return Broadcast{from, to, places.take(move.second, move.bytes)};
    case Move::Kind::swap:
      return Swap{from, to};
  }
  return Copy{from, to};
}

}  // namespace

std::optional<Move> move_of(const sdma::Packet& packet, std::uint32_t gpu, const Home& home) {
  const auto shape = soft::transfer_shape(packet);
  if (!shape) return std::nullopt;
  Move move{Move::Kind::copy, gpu, gpu, gpu, shape->units * shape->unit_bytes};
  if (const auto* broadcast = std::get_if<sdma::CopyBroadcast>(&packet)) {
    return Move{Move::Kind::broadcast, home(gpu, broadcast->src), home(gpu, broadcast->dst1),
                home(gpu, broadcast->dst2), broadcast->bytes};
  }
  if (const auto* swap = std::get_if<sdma::CopySwap>(&packet)) {
    return Move{Move::Kind::swap, home(gpu, swap->a), home(gpu, swap->b), gpu, swap->bytes};
  }
  bool read = false;
  bool written = false;
  soft::for_each_access(packet, [&](std::uint64_t address, std::uint64_t, bool writes) {
    if (!std::exchange(writes ? written : read, true)) (writes ? move.to : move.from) = home(gpu, address);
  });
  return move;
}

CopyTimes::CopyTimes(const Machine& machine) : machine_(machine) {
  machine_.provenance.clear();  // every question copies the machine
}

/// Where the simulator has the memory. Some machine files say nothing of links to the host, and GPUs without a link
/// reach each other by ways that they do not describe: such bytes take what the engine takes within its GPU.
std::uint32_t CopyTimes::place(std::uint32_t gpu, std::uint32_t memory) const {
  const bool known = memory == kHostMemory ? machine_.timing->host_link.has_value()
                                           : memory == gpu || machine_.link_count(RankId{gpu}, RankId{memory}) > 0;
  return known ? memory : gpu;
}

std::vector<CopyTimes::Span> CopyTimes::simulate(std::uint32_t gpu, std::uint32_t engine,
                                                 const std::vector<Move>& moves) const {
  ProgramBuilder builder("packets", machine_.name, machine_.gpus);
  Places places;
  std::vector<Move> placed = moves;
  for (Move& move : placed) {
    for (std::uint32_t* memory : {&move.from, &move.to, &move.second}) {
      *memory = place(gpu, *memory);
      // Host memory is reached by copies alone there.
      if (*memory == kHostMemory && move.kind != Move::Kind::copy) *memory = gpu;
    }
    places.want(move.from, move.bytes);
    places.want(move.to, move.bytes);
    if (move.kind == Move::Kind::broadcast) places.want(move.second, move.bytes);
  }
  places.make(builder, RankId{gpu});
  const QueueId queue = builder.dma_queue("engine", RankId{gpu}, EngineId{engine});
  for (const Move& move : placed) builder.add(queue, command_of(move, places));
  builder.add(builder.host_queue("host"), Submit{queue});
  const auto run = sim::simulate(unproved(std::move(builder).finish(), machine_),
                                 {.trace = true, .span_names = false, .energy = false});
  CORTADO_CHECK(run.has_value(), "packets that cannot be simulated");
  std::vector<Span> spans(moves.size());
  std::int64_t first = 0;
  for (const cortado::Span& span : run->timeline.spans) {
    if (span.kind != SpanKind::copy) continue;
    if (span.command == 0) first = span.start.value;
    spans[span.command] = {static_cast<std::uint64_t>(span.start.value), static_cast<std::uint64_t>(span.end.value)};
  }
  for (Span& span : spans) {
    span.begin -= static_cast<std::uint64_t>(first);
    span.end -= static_cast<std::uint64_t>(first);
  }
  return spans;
}

const std::vector<CopyTimes::Span>& CopyTimes::of(std::uint32_t gpu, std::uint32_t engine,
                                                  const std::vector<Move>& moves) {
  if (known_.size() >= kMostKnown) known_.clear();
  const auto [entry, added] = known_.try_emplace({gpu, engine, moves});
  if (added) entry->second = simulate(gpu, engine, moves);
  return entry->second;
}

}  // namespace cortado::device::vkfd
