// The parts of a machine file that are more than keys: engines, links between GPUs, the affinity table, and timing,
// which is given completely or not at all.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "machine/checks.hpp"
#include "machine/fields.hpp"
#include "machine/reader.hpp"

namespace cortado::internal {
namespace {

constexpr std::int64_t kMaxEngines = 256;
/// The value of links.topology for one port per GPU into a switch.
constexpr std::string_view kSwitch = "switch";
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

/// Why GPU src cannot use the engine towards GPU dst; empty if it can.
std::string affinity_fault(const Machine& machine, std::size_t src, std::size_t dst, std::int64_t id) {
  if (src == dst) return "a GPU needs no engine to itself";
  if (!machine.linked[src][dst]) return "the two GPUs are not linked";
  const Engine* engine = machine.engine({static_cast<std::uint32_t>(id)});
  if (engine == nullptr) return "there is no such engine";
  if (engine->kind == EngineClass::host) return "it is a host engine, which does not reach peers";
  if (!engine->present) return "that engine is absent";
  return {};
}

}  // namespace

void MachineReader::engines(Machine& machine) {
  const auto host = list("engines.host", 0, kMaxEngines - 1);
  const auto peer = list("engines.peer", 0, kMaxEngines - 1);
  const auto absent = list("engines.absent", 0, kMaxEngines - 1);
  const auto add = [&](const std::vector<std::int64_t>& ids, EngineClass kind, std::string_view path) {
    for (const std::int64_t id : ids) {
      const EngineId engine{static_cast<std::uint32_t>(id)};
      if (machine.engine(engine) != nullptr) {
        refuse(path, "machine.engine", fmt::format("lists engine {} a second time", id),
               "an engine is either host or peer, and listed once");
        return;
      }
      machine.engines.push_back({engine, kind, true});
    }
  };
  add(host, EngineClass::host, "engines.host");
  add(peer, EngineClass::peer, "engines.peer");
  std::sort(machine.engines.begin(), machine.engines.end(),
            [](const Engine& a, const Engine& b) { return a.id < b.id; });
  for (const std::int64_t id : absent) {
    const auto found = std::find_if(machine.engines.begin(), machine.engines.end(),
                                    [id](const Engine& e) { return e.id.value == static_cast<std::uint32_t>(id); });
    if (found == machine.engines.end()) {
      refuse("engines.absent", "machine.engine", fmt::format("lists engine {}, which is neither host nor peer", id),
             fmt::format("host: {}; peer: {}", fmt::join(host, ", "), fmt::join(peer, ", ")));
      return;
    }
    found->present = false;
  }
  if (ok() && machine.gpus > 1 && machine.present_engines(EngineClass::peer).empty()) {
    refuse("engines.peer", "machine.engine", fmt::format("has no working engine, but there are {} GPUs", machine.gpus),
           "add at least one peer engine that is not absent");
  }
}

void MachineReader::link_listed(const std::vector<Row>& peers) {
  const std::size_t gpus = machine_.gpus;
  if (peers.size() != gpus) {
    refuse("links.topology", "machine.contradiction",
           fmt::format("has {} lists of peers for {} GPUs", peers.size(), gpus), "provide one list per GPU");
    return;
  }
  for (std::size_t src = 0; src < gpus; ++src) {
    for (const std::int64_t peer : peers[src].numbers) {
      const auto dst = static_cast<std::size_t>(peer);
      if (dst >= gpus || machine_.linked[src][dst]) {
        refuse_at(peers[src].line, "links.topology", "machine.contradiction",
                  dst >= gpus  ? fmt::format("GPU {} has the peer {}, but there are {} GPUs", src, dst, gpus)
                  : dst == src ? fmt::format("GPU {} is its own peer", src)
                               : fmt::format("GPU {} has the peer {} twice", src, dst),
                  "list the peers of each GPU, without the GPU itself");
        return;
      }
      machine_.linked[src][dst] = true;
    }
  }
}

/// links.counts: the number of links where the topology has any, none elsewhere.
void MachineReader::link_counts(std::string_view topology) {
  if (!has("links.counts")) return;
  if (topology == kSwitch) {
    refuse("links.counts", "machine.contradiction", "counts links between pairs, but the topology is a switch",
           "leave it out: every GPU has one port, with the rate links.rate_GBps");
  }
  const auto table = square("links.counts", machine_.gpus, 0, kMaxLinks, "0 for none");
  if (!ok()) return;
  for (std::size_t src = 0; src < machine_.gpus; ++src) {
    std::vector<std::uint32_t>& counts = machine_.link_counts.emplace_back();
    for (std::size_t dst = 0; dst < machine_.gpus; ++dst) {
      const auto count = static_cast<std::uint32_t>(table[src].numbers[dst]);
      const bool joined = src != dst && machine_.linked[src][dst];
      if (joined != (count > 0)) {
        refuse_at(table[src].line, "links.counts", "machine.contradiction",
                  fmt::format("{} links from GPU {} to GPU {}, which links.topology {}", count, src, dst,
                              joined ? "joins" : "does not join"),
                  joined ? "at least 1 where there is a link" : "0 where there is none, and from a GPU to itself");
        return;
      }
      counts.push_back(count);
    }
  }
}

void MachineReader::links(Machine& machine) {
  if (ok()) check_sizes(*this, machine);  // before keys whose limits depend on them
  const std::size_t gpus = machine.gpus;
  machine.linked.assign(gpus, std::vector<bool>(gpus, false));
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) machine.linked[gpu][gpu] = true;
  const auto [word, peers] = word_or_lists("links.topology", kTopologies, 0, kMaxGpus - 1);
  if (word == "ring") {
    link_ring(machine);
  } else if (word.empty()) {
    link_listed(peers);
  } else {
    link_all(machine);
  }
  if (word == kSwitch) shape_ = LinkShape::switched;
  link_counts(word);
}

void MachineReader::affinity(Machine& machine) {
  if (!has("affinity")) return;
  const auto table = square("affinity", machine.gpus, -1, kMaxEngines - 1, "-1 for none");
  if (!ok()) return;
  for (std::size_t src = 0; src < table.size(); ++src) {
    auto& best = machine.affinity.emplace_back(table.size());
    for (std::size_t dst = 0; dst < table.size(); ++dst) {
      const std::int64_t id = table[src].numbers[dst];
      if (id < 0) continue;
      if (const std::string fault = affinity_fault(machine, src, dst, id); !fault.empty()) {
        refuse_at(table[src].line, "affinity", "machine.contradiction",
                  fmt::format("engine {} from GPU {} to GPU {}: {}", id, src, dst, fault), "-1 stands for none");
        return;
      }
      best[dst] = EngineId{static_cast<std::uint32_t>(id)};
    }
  }
}

/// Either all parts of the timing are present, or none.
void MachineReader::timing(std::optional<Timing>& timing) {
  struct Part {
    std::string_view name;
    std::string_view key;
    bool given;
  };
  const std::string_view outer = std::exchange(section_, "links");
  const bool link_rates = given(false, {"rate_GBps", "peak_GBps", "latency_ns"});
  section_ = outer;
  const std::array<Part, 5> parts{{{"[host]", "host", has("host")},
                                   {"[engine_timing]", "engine_timing", has("engine_timing")},
                                   {"the rates of [links]", "links.rate_GBps", link_rates},
                                   {"[memory]", "memory", has("memory")},
                                   {"[cores]", "cores", has("cores")}}};
  std::string_view first;
  std::vector<std::string> there;
  std::vector<std::string> missing;
  for (const Part& part : parts) {
    (part.given ? there : missing).emplace_back(part.name);
    if (part.given && first.empty()) first = part.key;
  }
  if (there.empty()) {
    if (!has("compute")) return;
    there.emplace_back("[compute]");
    first = "compute";
  }
  if (!missing.empty()) {
    refuse(first, "machine.missing", fmt::format("the file has timing in {}, but not {}", join(there), join(missing)),
           "add all of them, or none for a machine that is not simulated");
  }
  describe(*this, timing.emplace());
  timing->link.shape = shape_;
}

}  // namespace cortado::internal
