#include "plan/collective/library.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/check.hpp"

namespace cortado {
namespace {

std::uint32_t hops_of(const CollectiveRequest& request) {
  return (request.ranks - 1) * (request.collective == "all-reduce" ? 2 : 1);
}

double estimate(const ProtocolEstimate& protocol, const CollectiveRequest& request) {
  const double hops = hops_of(request);
  const double rate = protocol.bus.bytes_per_second() * request.ranks / hops;
  return static_cast<double>(protocol.base.value) * 1e-9 + hops * static_cast<double>(protocol.hop.value) * 1e-9 +
         static_cast<double>(request.bytes.value) / rate;
}

/// One channel per GPU that sums in the switch, and at most 32 of them (NVIDIA/nccl: NCCL_MAX_NVLS_ARITY).
double estimate(const MulticastTiming& multicast, const CollectiveRequest& request) {
  constexpr std::uint32_t kMostHeads = 32;
  const std::uint32_t heads = std::min(request.ranks, kMostHeads);
  for (const double rate : multicast.estimate_rates) {
    if (heads * rate > multicast.estimate_port.value) continue;
    return static_cast<double>(multicast.estimate_base.value) * 1e-9 +
           static_cast<double>(request.bytes.value) / (multicast.estimate_efficiency * heads * rate * 1e9);
  }
  return std::numeric_limits<double>::infinity();
}

std::string ring_choice(const CollectiveRequest& request, const LibraryTiming& library) {
  double least = estimate(library.ll.estimate, request);
  Protocol best = Protocol::ll;
  const auto compare = [&](Protocol protocol, const RingProtocol& ring) {
    const double time = estimate(ring.estimate, request);
    if (time >= least) return;
    least = time;
    best = protocol;
  };
  if (library.ll128) compare(Protocol::ll128, *library.ll128);
  compare(Protocol::simple, library.simple);
  const bool reduces = request.collective == "all-reduce";
  if (reduces && library.multicast && estimate(*library.multicast, request) < least) return "nvls";
  return std::string(plan::ring_variant(best));
}

}  // namespace

Result<std::string> library_variant(const CollectiveRequest& asked, const Machine& machine) {
  CollectiveRequest request = asked;
  if (request.ranks == 0) request.ranks = machine.gpus;
  if (!machine.timing || !machine.timing->library) {
    return fail(About::machine, "plan.library",
                fmt::format("machine {} does not describe its collective library", machine.name),
                "choose another variant, or add the section library to the machine file (machines/README.md)");
  }
  const LibraryTiming& library = *machine.timing->library;
  if (request.bytes <= library.direct_bytes && request.ranks == machine.gpus) {
    return std::string(request.bytes <= library.direct_ll_bytes ? "cores-ll" : "cores-simple");
  }
  if (request.collective == "all-to-all") {
    return std::string(request.bytes.value <= library.send_ll_bytes.value * request.ranks ? "sends-ll"
                                                                                          : "sends-simple");
  }
  return ring_choice(request, library);
}

namespace plan {

std::string engine_variant(const CollectiveRequest& request, const Machine& machine) {
  const std::uint32_t ranks = request.ranks == 0 ? machine.gpus : request.ranks;
  const bool batches = request.runtime == RuntimeMode::library && machine.timing && machine.timing->library;
  const Bytes limit = batches ? machine.timing->library->batch_bytes : Bytes{};
  return request.bytes.value < limit.value * ranks ? "b2b" : "pcpy";
}

namespace {

/// Positions 0, 1, -1, 2, -2, ... on a circle of `size`.
std::vector<std::uint32_t> zigzag(std::uint32_t size) {
  std::vector<std::uint32_t> places;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t away = (i + 1) / 2;
    places.push_back(i % 2 == 1 ? away : (size - away) % size);
  }
  return places;
}

/// The last rank, then the zigzag rotated to every position of the circle of all others.
std::vector<std::vector<RankId>> walecki_rings(std::uint32_t ranks) {
  const std::uint32_t circle = ranks - 1;
  const std::vector<std::uint32_t> base = zigzag(circle);
  const std::uint32_t turns = ranks % 2 == 1 ? circle / 2 : circle;
  std::vector<std::vector<RankId>> rings;
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    std::vector<RankId> ring{{circle}};
    for (const std::uint32_t place : base) ring.push_back({(place + turn) % circle});
    rings.push_back(ring);
    std::reverse(ring.begin() + 1, ring.end());
    rings.push_back(std::move(ring));
  }
  return rings;
}

bool is_full_mesh(std::uint32_t ranks, const Machine& machine) {
  if (!machine.timing || machine.timing->link.shape != LinkShape::mesh) return false;
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (std::uint32_t b = 0; b < ranks; ++b) {
      if (a != b && !machine.linked[a][b]) return false;
    }
  }
  return true;
}

}  // namespace

std::string_view ring_variant(Protocol protocol) {
  return protocol == Protocol::ll ? "ring-ll" : protocol == Protocol::ll128 ? "ring-ll128" : "ring-simple";
}

std::vector<std::vector<RankId>> balanced_rings(std::uint32_t ranks, const Machine& machine) {
  if (ranks > 2 && is_full_mesh(ranks, machine)) return walecki_rings(ranks);
  std::vector<RankId> ring = ring_order(ranks, machine);
  // If there is no ring, the schedule rejects the first missing link.
  for (std::uint32_t rank = 0; ring.size() < ranks; ++rank) ring.push_back({rank});
  return {ring};
}

std::vector<LibraryRing> library_rings(Schedule& schedule, Protocol protocol, Bytes block) {
  const LibraryTiming& library = *schedule.machine().timing->library;
  std::vector<std::vector<RankId>> orders = balanced_rings(schedule.rank_count(), schedule.machine());
  std::uint64_t units = schedule.compute_units();
  if (protocol == Protocol::ll) {
    const ProtocolTiming& ll = library.ll.timing;
    if (ll.units > 0) units = std::min<std::uint64_t>(units, ll.units);
    const std::uint64_t per_unit = ll.unit_bytes.value;
    if (per_unit > 0) units = std::clamp<std::uint64_t>((block.value + per_unit - 1) / per_unit, 1, units);
  }
  if (orders.size() > units) orders.resize(units);
  std::vector<LibraryRing> rings;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const auto of_ring = static_cast<std::uint32_t>(units / orders.size() + (i < units % orders.size() ? 1 : 0));
    rings.push_back({Ring::of_library(schedule, {.order = orders[i],
                                                 .name = fmt::format("ring{}", i),
                                                 .units = of_ring,
                                                 .protocol = protocol,
                                                 .staged = library.staged}),
                     of_ring});
  }
  return rings;
}

Bytes multicast_chunk(Bytes bytes, std::uint32_t ranks, std::uint32_t units) {
  // As in ncclGetAlgoInfo and calcCollChunking of NCCL 2.30: chunks small enough that a message takes a few loops of
  // them.
  struct Size {
    std::uint64_t chunk;
    std::uint64_t loops;  // used for messages of fewer loops than this of the next larger chunk
  };
  constexpr std::array<Size, 4> kSizes{{{16384, 2}, {32768, 8}, {65536, 64}, {131072, 0}}};
  for (std::size_t i = 0; i + 1 < kSizes.size(); ++i) {
    const std::uint64_t larger = kSizes[i + 1].chunk;
    if (bytes.value < kSizes[i].loops * ranks * units * larger) return {kSizes[i].chunk};
  }
  return {kSizes.back().chunk};
}

}  // namespace plan
}  // namespace cortado
