// The commands of a host queue, resolved into small steps that the runner interprets without looking anything up.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/program.hpp"

namespace cortado::device {

enum class StepKind : std::uint8_t {
  wait_ge,
  wait_eq,
  add,
  trigger,  ///< an add that prelaunched queues wait for
  set,
  submit_dma,
  submit_compute,
  stamp_begin,
  stamp_end,
  stamp
};

struct HostStep {
  StepKind kind{};
  std::uint32_t target = 0;       ///< submits: index of the dma or compute queue among those of its kind
  std::uint64_t* word = nullptr;  ///< waits and signals
  std::uint64_t value = 0;
  std::uint64_t advance = 0;  ///< the value for iteration k is value + k * advance; zero for adds
};

struct HostProgram {
  QueueId queue;
  std::vector<HostStep> steps;  ///< one per command
  std::vector<RankId>
      caller_of;  ///< ranks whose inputs this queue writes and whose outputs it reads (program.hpp, rule 4)
};

/// What compile_host needs from the rest of the preparation.
struct HostTargets {
  std::vector<std::uint64_t*> words;    ///< by SignalId
  std::vector<std::uint32_t> position;  ///< by QueueId: index among the queues of its kind
};

HostProgram compile_host(const Program& program, QueueId queue, const HostTargets& targets,
                         const std::vector<std::uint64_t>& advances);

/// How far the interpretation of a host queue has got.
struct HostState {
  std::uint32_t step = 0;
  std::uint64_t iteration = 0;     ///< within the batch
  bool inside = false;             ///< the caller has written the inputs of this iteration
  std::int64_t step_started = -1;  ///< ns since the run began; -1 = not tried yet. Kept only with tracing
};

}  // namespace cortado::device
