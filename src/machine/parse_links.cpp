#include <array>

#include <fmt/format.h>

#include "machine/parse_sections.hpp"

namespace cortado::internal {
namespace {

constexpr std::array<std::string_view, 3> kTopologies{"full-mesh", "ring", kSwitch};
constexpr std::int64_t kMaxLinks = 64;

void link_all(Machine& machine) {
  for (std::vector<bool>& row : machine.linked) row.assign(row.size(), true);
}

/// Every GPU reaches the next and the previous one.
void link_ring(Machine& machine) {
  for (std::size_t gpu = 0; gpu < machine.gpus; ++gpu) {
    const std::size_t next = (gpu + 1) % machine.gpus;
    machine.linked[gpu][next] = true;
    machine.linked[next][gpu] = true;
  }
}

void link_listed(MachineReader& in, Machine& machine, const std::vector<Row>& peers) {
  const std::size_t gpus = machine.gpus;
  if (peers.size() != gpus) {
    in.refuse("links.topology", "machine.contradiction",
              fmt::format("has {} lists of peers for {} GPUs", peers.size(), gpus), "give one list for each GPU");
    return;
  }
  for (std::size_t src = 0; src < gpus; ++src) {
    for (const std::int64_t peer : peers[src].numbers) {
      const auto dst = static_cast<std::size_t>(peer);
      if (dst >= gpus || machine.linked[src][dst]) {
        in.refuse_at(peers[src].line, "links.topology", "machine.contradiction",
                     dst >= gpus  ? fmt::format("GPU {} has the peer {}, but there are {} GPUs", src, dst, gpus)
                     : dst == src ? fmt::format("GPU {} is its own peer", src)
                                  : fmt::format("GPU {} has the peer {} twice", src, dst),
                     "the peers of each GPU, without itself");
        return;
      }
      machine.linked[src][dst] = true;
    }
  }
}

/// links.counts: links where the topology has them, none elsewhere.
void read_counts(MachineReader& in, Machine& machine) {
  const auto table = in.square("links.counts", machine.gpus, 0, kMaxLinks, "0 for none");
  if (!in.ok()) return;
  for (std::size_t src = 0; src < machine.gpus; ++src) {
    std::vector<std::uint32_t>& counts = machine.link_counts.emplace_back();
    for (std::size_t dst = 0; dst < machine.gpus; ++dst) {
      const auto count = static_cast<std::uint32_t>(table[src].numbers[dst]);
      const bool joined = src != dst && machine.linked[src][dst];
      if (joined != (count > 0)) {
        in.refuse_at(table[src].line, "links.counts", "machine.contradiction",
                     fmt::format("{} links from GPU {} to GPU {}, which links.topology {}", count, src, dst,
                                 joined ? "joins" : "does not join"),
                     joined ? "at least 1 where there is a link" : "0 where there is none, and from a GPU to itself");
        return;
      }
      counts.push_back(count);
    }
  }
}

}  // namespace

std::string_view read_topology(MachineReader& in, Machine& machine) {
  const std::size_t gpus = machine.gpus;
  machine.linked.assign(gpus, std::vector<bool>(gpus, false));
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) machine.linked[gpu][gpu] = true;
  const auto [word, peers] = in.word_or_lists("links.topology", kTopologies, 0, kMaxGpus - 1);
  if (word == "ring") {
    link_ring(machine);
  } else if (word.empty()) {
    link_listed(in, machine, peers);
  } else {
    link_all(machine);
  }
  if (!in.has("links.counts")) return word;
  if (word == kSwitch) {
    in.refuse("links.counts", "machine.contradiction", "counts links between pairs, but the topology is a switch",
              "leave it out: every GPU has one port, whose rate is links.rate_GBps");
  }
  read_counts(in, machine);
  return word;
}

}  // namespace cortado::internal
