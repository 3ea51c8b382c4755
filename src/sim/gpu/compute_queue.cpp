// Compute queues: kernels one after another, on compute units that all queues of a GPU share (compute_units.hpp).
//
//   Copy     moves bytes at most at (compute units that it holds) * copy_rate, or * local_rate within one GPU
//   Kernel   reads its sources and writes its destination at most at (compute units) * local_rate in all, and as copies
//            do those that are on other GPUs
//   Gemm     product.cpp
//   Signal   visible `flag` later, at once in the memory of its own GPU; the queue goes on at once
//   Wait     passes as soon as the counter is there
//
// Every kernel takes `start` from where it could begin to its first instruction: the first one of a queue from its
// launch, the others from the end of the one before, or of the wait before it. The parts of one kernel start together.
// They hold their units from its launch until the last part is through, waits included; a queue of its own holds units
// only while a copy or a kernel of it is under way. Who gets fewer units than it may use goes on with them, as much
// slower; more are added when they become free.
#include <algorithm>

#include "cortado/ir/visit.hpp"

#include "sim/gpu/run.hpp"

namespace cortado::sim {

void Run::step_compute(std::uint32_t index) {
  QueueRun& queue = queues_[index];
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  while (at_command(index)) {
    if (units_.is_kernel(tenant) && units_.held(tenant) == 0) {
      queue.blocked = Blocked::units;
      return;
    }
    const Command& command = program_.queues[index].commands[queue.command];
    const bool noted = queue.begun;
    begin_command(index);
    if (const auto* wait = std::get_if<Wait>(&command)) {
      queue.behind = true;
      if (!noted && !pass_wait(index, *wait)) return;
    } else if (const auto* signal = std::get_if<Signal>(&command)) {
      raise_at(flag_time(index, signal->signal), index, signal->signal, signal->value, signal->op);
    } else if (!std::holds_alternative<Timestamp>(command)) {
      if (!noted && queue.behind && !units_.is_kernel(tenant)) {
        step_at(index, events_.now() + by_units(*program_.queues[index].rank, timing_.cores.start));
        return;
      }
      queue.behind = true;
      begin_kernel(index, command);  // its last byte or workgroup ends the command and steps the queue
      return;
    }
    end_command(index);
  }
}

void Run::begin_kernel(std::uint32_t index, const Command& command) {
  if (const auto* gemm = std::get_if<Gemm>(&command)) return begin_product(index, *gemm);
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  if (units_.is_kernel(tenant)) return begin_bytes(index, command);
  queues_[index].blocked = Blocked::units;
  units_.launch(tenant, units_.most(tenant));
  grant_units(tenant);
}

double Run::units_of(std::uint32_t index) const {
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  const double held = units_.held(tenant);
  if (!units_.is_kernel(tenant)) return held;
  const double part = program_.queues[index].compute_units.value_or(machine_.compute_units);
  return part * held / units_.most(tenant);
}

void Run::begin_bytes(std::uint32_t index, const Command& command) {
  const RankId gpu = *program_.queues[index].rank;
  QueueRun& queue = queues_[index];
  queue.blocked = Blocked::transfers;
  const Bytes bytes = bytes_written(command);
  const auto* copy = std::get_if<Copy>(&command);
  if (copy != nullptr) recorder_.moved(bytes);
  UseList& uses = copy != nullptr ? resources_.copy_by_cores(gpu, *copy)
                                  : resources_.kernel_by_cores(gpu, std::get<Kernel>(command));
  node_memory_.touch(command, bytes, uses);
  queue.flow = begin_transfer(static_cast<double>(bytes.value), uses, {.cap = speed_of_kernel(index)},
                              {.queue = index, .span = kNoSpan, .command = &command});
}

double Run::speed_of_kernel(std::uint32_t index) const {
  const Queue& queue = program_.queues[index];
  const Command& command = queue.commands[queues_[index].command];
  return resources_.rate_of_units(*queue.rank, command, units_of(index)) * copy_speed(*queue.rank);
}

void Run::set_speed_of_kernel(std::uint32_t index) {
  transfers_.set_cap(*queues_[index].flow, speed_of_kernel(index));
}

void Run::end_bytes(std::uint32_t index) {
  queues_[index].flow.reset();
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  if (!units_.is_kernel(tenant)) {
    units_.want(tenant, 0);
    units_.release(tenant, units_.held(tenant), events_.now());
    grant_units(tenant);
  }
  end_command(index);
  step(index);
}

void Run::part_begins(std::uint32_t index) {
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  if (tenant == ComputeUnits::kNone || !units_.is_kernel(tenant) || parts_at_work_[tenant]++ > 0) return;
  units_.launch(tenant, units_.most(tenant));
  grant_units(tenant);
}

void Run::part_ends(std::uint32_t index) {
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  if (tenant == ComputeUnits::kNone || !units_.is_kernel(tenant) || --parts_at_work_[tenant] > 0) return;
  units_.want(tenant, 0);
  units_.release(tenant, units_.held(tenant), events_.now());
  grant_units(tenant);
}

void Run::grant_units(ComputeUnits::Tenant on_gpu_of) {
  while (const auto grant = units_.next_grant(on_gpu_of, events_.now())) use_units(*grant);
  if (!products_.empty()) settle_products(on_gpu_of);
}

void Run::use_units(const ComputeUnits::Grant& grant) {
  for (const std::uint32_t index : units_.queues(grant.tenant)) {
    QueueRun& queue = queues_[index];
    if (queue.flow) {
      set_speed_of_kernel(index);
    } else if (units_.is_kernel(grant.tenant)) {
      if (queue.blocked == Blocked::units) step(index);
    } else if (const Command& command = program_.queues[index].commands[queue.command];
               std::holds_alternative<Gemm>(command)) {
      begin_workgroups(index, grant.units);
    } else {
      begin_bytes(index, command);
    }
  }
}

}  // namespace cortado::sim
