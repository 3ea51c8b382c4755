#include <algorithm>
#include <set>
#include <vector>

#include "ir/visit.hpp"
#include "sim/fast/fast.hpp"

namespace cortado::sim {

CollectiveProfile profile_of(const Program& program, Nanoseconds time) {
  std::vector<double> out(program.ranks, 0);
  std::vector<double> in(program.ranks, 0);
  std::vector<std::set<std::uint32_t>> peers(program.ranks);
  const auto rank_of = [&](const Region& region) { return program.buffer(region.buffer).rank.value; };
  const auto move = [&](const Region& src, const Region& dst) {
    const std::uint32_t from = rank_of(src);
    const std::uint32_t to = rank_of(dst);
    if (from == to) return;
    out[from] += static_cast<double>(src.bytes().value);
    in[to] += static_cast<double>(src.bytes().value);
    peers[from].insert(to);
  };
  CollectiveProfile profile{.time = time};
  for (const Queue& queue : program.queues) {
    if (queue.protocol != Protocol::none) profile.protocol = queue.protocol;
    for (const Command& command : queue.commands) {
      match(
          command, [&](const Copy& c) { move(c.src, c.dst); },
          [&](const Broadcast& b) {
            move(b.src, b.dst1);
            move(b.src, b.dst2);
          },
          [&](const Swap& s) {
            move(s.a, s.b);
            move(s.b, s.a);
          },
          [](const auto&) {});
    }
  }
  std::vector<double> footprint(program.ranks, 0);
  for (const Buffer& buffer : program.buffers) {
    footprint[buffer.rank.value] += static_cast<double>(buffer.size.value);
  }
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
    profile.bytes_out = std::max(profile.bytes_out, out[rank]);
    profile.bytes_in = std::max(profile.bytes_in, in[rank]);
    profile.footprint = std::max(profile.footprint, footprint[rank]);
    profile.peers = std::max(profile.peers, static_cast<std::uint32_t>(peers[rank].size()));
  }
  return profile;
}

}  // namespace cortado::sim
