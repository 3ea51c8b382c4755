// Compute queues: kernels one after another.
//
//   Copy     moves bytes at most at (compute units of the queue) * copy_rate, or * local_rate within one GPU
//   Kernel   reads its sources and writes its destination at most at (compute units) * local_rate in all
//   Signal   visible `flag` later, at once in the memory of its own GPU; the queue goes on at once
//   Wait     passes as soon as the counter is there
#include "cortado/ir/visit.hpp"

#include "sim/gpu/run.hpp"

namespace cortado::sim {

void Run::step_compute(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  while (at_command(index)) {
    const Command& command = program_.queues[index].commands[queue.command];
    const bool noted = queue.begun;
    begin_command(index);
    if (const auto* wait = std::get_if<Wait>(&command)) {
      if (!noted && !pass_wait(index, *wait)) return;
    } else if (const auto* signal = std::get_if<Signal>(&command)) {
      const bool local = program_.signals[signal->signal.value].home == program_.queues[index].rank;
      const SimTime flag = local ? SimTime{} : to_sim_time(timing_.cores.flag);
      raise_at(events_.now() + flag, index, signal->signal, signal->value, signal->op);
    } else if (!std::holds_alternative<Timestamp>(command)) {
      begin_kernel(index, command);  // its last byte ends the command and steps the queue
      return;
    }
    end_command(index);
  }
}

void Run::begin_kernel(std::uint32_t index, const Command& command) {
  const Queue& queue = program_.queues[index];
  const RankId gpu = *queue.rank;
  queues_[index].blocked = Blocked::transfers;
  const double units = queue.compute_units.value_or(machine_.compute_units);
  const Mover mover{index, kNoSpan};
  if (const auto* copy = std::get_if<Copy>(&command)) {
    const GBps per_unit = resources_.is_local(gpu, *copy) ? timing_.cores.local_rate : timing_.cores.copy_rate;
    recorder_.moved(copy->dst.bytes());
    UseList& uses = resources_.copy_by_cores(gpu, *copy);
    node_memory_.touch(command, copy->dst.bytes(), uses);
    begin_transfer(copy->dst.bytes(), uses, units * per_unit.bytes_per_second(), mover);
    return;
  }
  const auto& kernel = std::get<Kernel>(command);
  const auto streams = static_cast<double>(kernel.sources.size() + 1);
  const double cap = units * timing_.cores.local_rate.bytes_per_second() / streams;
  UseList& uses = resources_.kernel_by_cores(gpu, kernel);
  node_memory_.touch(command, kernel.dst.bytes(), uses);
  begin_transfer(kernel.dst.bytes(), uses, cap, mover);
}

}  // namespace cortado::sim
