// Part of verify.machine: engines and links. An engine must be in the machine's table and in silicon, have a free queue
// slot, and reach the memories that the commands of its queue touch.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "ir/visit.hpp"
#include "verify/machine_limits.hpp"
#include "verify/naming.hpp"

namespace cortado::verifier {
namespace {

bool linked(const Machine& machine, RankId from, RankId to) {
  return from.value < machine.linked.size() && to.value < machine.linked[from.value].size() &&
         machine.linked[from.value][to.value];
}

class ReachCheck {
 public:
  ReachCheck(const Program& program, const Machine& machine, Findings& findings)
      : program_(program), machine_(machine), findings_(findings) {
    const auto in_host_memory = [](const Buffer& buffer) { return buffer.host.has_value(); };
    all_reached_ = std::ranges::none_of(program.buffers, in_host_memory);
    for (std::uint32_t from = 0; from < program.ranks && all_reached_; ++from) {
      for (std::uint32_t to = 0; to < program.ranks && all_reached_; ++to) {
        all_reached_ = from == to || linked(machine, RankId{from}, RankId{to});
      }
    }
  }

  void queue(QueueId id) {
    const Queue& queue = program_.queue(id);
    const Engine* engine = nullptr;
    if (queue.kind == QueueKind::dma) {
      engine = usable_engine(id);
      if (engine == nullptr) return;
    }
    if (all_reached_ && (engine == nullptr || engine->kind != EngineClass::host)) return;
    for (std::size_t c = 0; c < queue.commands.size() && !findings_.full(); ++c) {
      command(queue.commands[c], engine, *queue.rank, id, c);
    }
  }

  /// A tracker raises its signal from the GPU whose memory it watches.
  void tracker(std::size_t index) {
    const Tracker& tracker = program_.trackers[index];
    const RankId rank = program_.buffer(tracker.region.buffer).rank;
    const auto& [name, home] = program_.signals[tracker.signal.value];
    if (home && *home != rank && !linked(machine_, rank, *home)) {
      no_link(rank, *home, name, Spot::tracker(program_, index));
    }
  }

 private:
  void no_link(RankId from, RankId to, const std::string& what, const Spot& place) {
    findings_.add(place, fmt::format("rank {} has no link to {} of rank {}", from.value, what, to.value),
                  "go through a rank that is linked to both");
  }

  std::string peer_engines() const {
    std::vector<std::string> names;
    for (const EngineId id : machine_.present_engines(EngineClass::peer)) names.push_back(std::to_string(id.value));
    return "engines for peers are " + join(names);
  }

  const Engine* usable_engine(QueueId id) {
    const Queue& queue = program_.queue(id);
    const Engine* engine = machine_.engine(*queue.engine);
    if (engine == nullptr) {
      findings_.add(Spot(program_, id), fmt::format("{} has no engine {}", machine_.name, queue.engine->value),
                    peer_engines());
      return nullptr;
    }
    if (!engine->present) {
      findings_.add(Spot(program_, id),
                    fmt::format("engine {} of {} is in the driver's table but not in silicon; a queue on it hangs",
                                engine->id.value, machine_.name),
                    peer_engines());
      return nullptr;
    }
    const std::uint32_t used = ++queues_[{queue.rank->value, engine->id.value}];
    if (used == machine_.dma.queues_per_engine + 1) {
      findings_.add(Spot(program_, id),
                    fmt::format("engine {} of rank {} has more than {} queues", engine->id.value, queue.rank->value,
                                machine_.dma.queues_per_engine),
                    "put more copies on one queue, or use other engines");
    }
    return engine;
  }

  void command(const Command& command, const Engine* engine, RankId rank, QueueId queue, std::size_t index) {
    const Spot place(program_, queue, index);
    const auto touch = [&](std::optional<RankId> home, const std::string& what) {
      if (!home || *home == rank) return;
      if (engine != nullptr && engine->kind == EngineClass::host) {
        findings_.add(place,
                      fmt::format("engine {} serves host memory and does not reach {} of rank {}", engine->id.value,
                                  what, home->value),
                      peer_engines());
      } else if (!linked(machine_, rank, *home)) {
        no_link(rank, *home, what, place);
      }
    };
    const auto* gemm = std::get_if<Gemm>(&command);
    if (gemm != nullptr && !gemm->outputs.empty()) {
      for (const Region* operand : {&gemm->a, &gemm->b}) {
        touch(program_.buffer(operand->buffer).rank, program_.buffer(operand->buffer).name);
      }
      for (std::size_t b = 0; b < gemm->outputs.size(); ++b) {
        const Buffer& buffer = program_.buffer(gemm->outputs[b].to.buffer);
        if (buffer.rank == rank || linked(machine_, rank, buffer.rank)) continue;
        no_link(rank, buffer.rank, fmt::format("{}, where {} goes,", buffer.name, block_name(*gemm, b)), place);
      }
    } else {
      for_each_access(command, [&](const Region& region, AccessKind) {
        const Buffer& buffer = program_.buffer(region.buffer);
        if (!buffer.host) touch(buffer.rank, buffer.name);
      });
    }
    host_memory(command, place);
    const auto touch_signal = [&](SignalId id) {
      touch(program_.signals[id.value].home, program_.signals[id.value].name);
    };
    for_each_raise(command, [&](SignalId id, std::uint64_t, SignalOp) { touch_signal(id); });
    for_each_wait(command, [&](SignalId id, std::uint64_t) { touch_signal(id); });
  }

  /// Only Copy and Broadcast may read and write host memory, and only in NUMA nodes that exist.
  void host_memory(const Command& command, const Spot& place) {
    for_each_access(command, [&](const Region& region, AccessKind) {
      const Buffer& buffer = program_.buffer(region.buffer);
      if (!buffer.host) return;
      if (!moves_bytes(command) || std::holds_alternative<Swap>(command)) {
        findings_.add(place,
                      fmt::format("{} is in host memory, which only copies and broadcasts can reach", buffer.name),
                      "copy it to the memory of a GPU first");
      }
      const auto* link = machine_.timing && machine_.timing->host_link ? &*machine_.timing->host_link : nullptr;
      if (link != nullptr && *buffer.host >= link->numa_nodes) {
        findings_.add(place,
                      fmt::format("{} is in NUMA node {}, but the host of {} has {}", buffer.name, *buffer.host,
                                  machine_.name, link->numa_nodes),
                      "nodes are counted from 0");
      }
    });
  }

  const Program& program_;
  const Machine& machine_;
  Findings& findings_;
  bool all_reached_ = true;  // every rank has a link to every other, and nothing is in host memory
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> queues_;  // by (rank, engine)
};

}  // namespace

void check_reach(const Program& program, const Machine& machine, Findings& findings) {
  ReachCheck check(program, machine, findings);
  for (std::uint32_t q = 0; q < program.queues.size() && !findings.full(); ++q) {
    if (program.queues[q].kind != QueueKind::host) check.queue(QueueId{q});
  }
  for (std::size_t i = 0; i < program.trackers.size() && !findings.full(); ++i) check.tracker(i);
}

}  // namespace cortado::verifier
