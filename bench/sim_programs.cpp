#include "sim_programs.hpp"

#include <algorithm>
#include <utility>

#include "cortado/plan.hpp"
#include "cortado/result.hpp"

#include "base/random.hpp"

namespace cortado::bench {
namespace {

constexpr Nanoseconds kLatest{5000};

bool is_timestamp(const Command& command) {
  return std::holds_alternative<Timestamp>(command);
}

void make_symmetric(Program& program, const std::vector<EngineId>& engines) {
  std::vector<std::size_t> next_engine(program.ranks, 0);
  for (Queue& queue : program.queues) {
    if (queue.kind == QueueKind::host) {
      const auto begin = std::find_if(queue.commands.begin(), queue.commands.end(), is_timestamp);
      queue.commands.erase(queue.commands.begin(), begin);
    } else {
      queue.engine = engines[next_engine[queue.rank->value]++ % engines.size()];
    }
  }
}

/// Host threads look at a signal that is there already, for as long as they are late.
void delay_hosts(Program& program, const Machine& machine, Random& random) {
  const auto most = static_cast<std::uint64_t>(kLatest.value / machine.timing->host.poll.value);
  for (Queue& queue : program.queues) {
    if (queue.kind != QueueKind::host) continue;
    const auto begin = std::find_if(queue.commands.begin(), queue.commands.end(), is_timestamp);
    queue.commands.insert(begin + 1, random.below(most + 1), Wait{SignalId{0}, 0});
  }
}

void shorten_copies(Program& program, Random& random) {
  for (Queue& queue : program.queues) {
    for (Command& command : queue.commands) {
      auto* copy = std::get_if<Copy>(&command);
      if (copy == nullptr) continue;
      const std::uint64_t bytes = copy->src.width.value;
      copy->src.width = copy->dst.width = Bytes{bytes - random.below(bytes / 10 + 1)};
    }
  }
}

}  // namespace

std::string to_string(Symmetry symmetry) {
  switch (symmetry) {
    case Symmetry::symmetric:
      return "symmetric";
    case Symmetry::staggered:
      return "staggered";
    case Symmetry::unequal:
      return "unequal";
  }
  return "";
}

Program planned_all_gather(const Machine& machine, std::uint32_t ranks) {
  const auto engines = static_cast<std::uint32_t>(machine.present_engines(EngineClass::peer).size());
  CollectiveRequest request;
  request.collective = "all-gather";
  request.variant = "b2b";
  request.bytes = ranks * 1_MiB;
  request.ranks = ranks;
  request.in_place = true;
  request.ways = (ranks - 1 + engines - 1) / engines;
  request.host = HostThreads::per_rank;
  return plan_collective(request, machine).value();
}

Program direct_all_gather(const Machine& machine, std::uint32_t ranks) {
  Program program = planned_all_gather(machine, ranks);
  make_symmetric(program, machine.present_engines(EngineClass::peer));
  return program;
}

void perturb(Program& program, const Machine& machine, Symmetry symmetry, std::uint64_t seed) {
  Random random(seed);
  if (symmetry == Symmetry::staggered) delay_hosts(program, machine, random);
  if (symmetry == Symmetry::unequal) shorten_copies(program, random);
}

}  // namespace cortado::bench
