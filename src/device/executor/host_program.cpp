#include "device/executor/host_program.hpp"

#include "base/check.hpp"
#include "ir/visit.hpp"

namespace cortado::device {
namespace {

class StepCompiler {
 public:
  StepCompiler(const Program& program, const HostTargets& targets, const std::vector<std::uint64_t>& advances)
      : program_(program), targets_(targets), advances_(advances) {}

  HostStep operator()(const Wait& wait) const {
    const StepKind kind = wait.compare == Compare::ge ? StepKind::wait_ge : StepKind::wait_eq;
    return {kind, 0, targets_.words[wait.signal.value], wait.value, advances_[wait.signal.value]};
  }
  HostStep operator()(const Signal& signal) const {
    std::uint64_t* word = targets_.words[signal.signal.value];
    if (signal.op == SignalOp::add) return {StepKind::add, 0, word, signal.value, 0};
    return {StepKind::set, 0, word, signal.value, advances_[signal.signal.value]};
  }
  HostStep operator()(const Trigger& trigger) const {
    return {StepKind::trigger, 0, targets_.words[trigger.signal.value], trigger.value, 0};
  }
  HostStep operator()(const Submit& submit) const {
    const bool dma = program_.queue(submit.queue).kind == QueueKind::dma;
    return {dma ? StepKind::submit_dma : StepKind::submit_compute, targets_.position[submit.queue.value]};
  }
  HostStep operator()(const Timestamp& timestamp) const {
    if (timestamp.label == "begin") return {StepKind::stamp_begin};
    if (timestamp.label == "end") return {StepKind::stamp_end};
    return {StepKind::stamp};
  }
  template <class Other>
  HostStep operator()(const Other&) const {
    CORTADO_CHECK(false, "verified programs have no such command on a host queue");
  }

 private:
  const Program& program_;
  const HostTargets& targets_;
  const std::vector<std::uint64_t>& advances_;
};

}  // namespace

HostProgram compile_host(const Program& program, QueueId queue, const HostTargets& targets,
                         const std::vector<std::uint64_t>& advances) {
  HostProgram host;
  host.queue = queue;
  const StepCompiler compile(program, targets, advances);
  for (const Command& command : program.queue(queue).commands) host.steps.push_back(std::visit(compile, command));
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
    if (caller_queue(program, RankId{rank}) == queue) host.caller_of.push_back(RankId{rank});
  }
  return host;
}

}  // namespace cortado::device
