#include "sim/gpu/compute_queues.hpp"

#include "ir/visit.hpp"
#include "sim/gpu/protocols.hpp"
#include "verify/packet_space.hpp"

namespace cortado::sim {

ComputeQueues::ComputeQueues(Core& core, Queues& queues, QueueControl& control, MachineResources& resources,
                             NodeMemory& memory, ComputeUnits& units, Movers& movers, Products& products,
                             RunPower& power)
    : core_(core),
      queues_(queues),
      control_(control),
      resources_(resources),
      memory_(memory),
      units_(units),
      movers_(movers),
      products_(products),
      power_(power),
      states_(queues.size()),
      parts_at_work_(queues.size(), 0) {}

void ComputeQueues::step(std::uint32_t index) {
  QueueState& queue = queues_[index];
  State& state = states_[index];
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  const auto iteration_ended = [&] {
    state.behind = false;
    part_ends(index);
  };
  while (queues_.at_command(index, iteration_ended)) {
    if (units_.is_kernel(tenant) && units_.held(tenant) == 0) {
      queue.blocked = Blocked::units;
      return;
    }
    const Command& command = queues_.command(index);
    const bool noted = queue.begun;
    queues_.begin_command(index);
    if (const auto* wait = std::get_if<Wait>(&command)) {
      state.behind = true;
      if (!noted && !queues_.pass_wait(index, *wait)) return;
    } else if (const auto* signal = std::get_if<Signal>(&command)) {
      queues_.raise_at(products_.flag_time(index, signal->signal), index, signal->signal, signal->value, signal->op);
    } else if (const auto* submit = std::get_if<Submit>(&command)) {
      if (!noted) {
        queues_.step_at(index, core_.now() + ring_time(*submit));
        return;
      }
      queues_[submit->queue.value].submit_span = queue.span;
      core_.events.post(core_.now() + to_sim_time(core_.timing.engine.fetch), EventClass::begin,
                        {EventKind::fetched, submit->queue.value});
    } else if (!std::holds_alternative<Timestamp>(command)) {
      if (!noted && state.behind && !units_.is_kernel(tenant)) {
        queues_.step_at(index, core_.now() + power_.by_units(core_.gpu_of(index), start_of(command, core_.machine)));
        return;
      }
      if (const SimTime fill = fill_time(index); !noted && fill > SimTime{}) {
        queues_.step_at(index, core_.now() + fill);
        return;
      }
      state.behind = true;
      begin_kernel(index, command);  // its last byte or workgroup ends the command and steps the queue
      return;
    }
    queues_.end_command(index);
  }
}

/// Time of a kernel that writes packets and rings the doorbell.
SimTime ComputeQueues::ring_time(const Submit& submit) const {
  const DeviceInitiated& initiated = *core_.machine.features.device_initiated;
  const auto packets =
      static_cast<std::int64_t>(written_packets(core_.program.queue(submit.queue), core_.machine.features));
  return to_sim_time({initiated.submit.value + packets * initiated.packet.value});
}

SimTime ComputeQueues::fill_time(std::uint32_t index) const {
  const Queue& queue = core_.program.queues[index];
  const MulticastTiming* multicast = multicast_of(queue.protocol, core_.timing);
  if (multicast == nullptr || !std::holds_alternative<Kernel>(queues_.command(index))) return {};
  const double loop = units_of(index) * static_cast<double>(queue.chunk.value);
  return sim_time_from_seconds(multicast->fill * loop / full_speed(index));
}

void ComputeQueues::begin_kernel(std::uint32_t index, const Command& command) {
  if (const auto* gemm = std::get_if<Gemm>(&command)) return products_.begin(index, *gemm);
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  if (units_.is_kernel(tenant)) return begin_bytes(index, command);
  queues_[index].blocked = Blocked::units;
  units_.launch(tenant, units_.most(tenant));
  grant_units(tenant);
}

double ComputeQueues::units_of(std::uint32_t index) const {
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  const double held = units_.held(tenant);
  if (!units_.is_kernel(tenant)) return held;
  const double part = core_.program.queues[index].compute_units.value_or(core_.machine.compute_units);
  return part * held / units_.most(tenant);
}

void ComputeQueues::begin_bytes(std::uint32_t index, const Command& command) {
  const RankId gpu = core_.gpu_of(index);
  queues_[index].blocked = Blocked::transfers;
  const Bytes bytes = bytes_written(command);
  const auto* copy = std::get_if<Copy>(&command);
  if (copy != nullptr) core_.recorder.moved(bytes);
  const Protocol protocol = core_.program.queues[index].protocol;
  const auto* call = std::get_if<Call>(&command);
  UseList& uses = copy != nullptr   ? resources_.copy_by_cores(gpu, *copy, protocol)
                  : call != nullptr ? resources_.call_by_cores(gpu, *call)
                                    : resources_.kernel_by_cores(gpu, std::get<Kernel>(command), protocol);
  memory_.touch(command, bytes, uses);
  states_[index].flow = movers_.begin(static_cast<double>(bytes.value), uses,
                                      {.cap = full_speed(index), .weight = resources_.weight_of_link()},
                                      {.queue = index, .command = &command});
}

double ComputeQueues::full_speed(std::uint32_t index) const {
  const RankId gpu = core_.gpu_of(index);
  const Queue& queue = core_.program.queues[index];
  const double units = units_of(index);
  const auto* kernel = std::get_if<Kernel>(&queues_.command(index));
  const double rate = kernel != nullptr && queue.protocol == Protocol::multicast
                          ? resources_.rate_of_multicast(*kernel, units * static_cast<double>(queue.chunk.value))
                          : resources_.rate_of_units(gpu, queues_.command(index), units, queue.protocol);
  const bool slowed = products_.on_gpu(gpu) && resources_.leaves(gpu, queues_.command(index));
  return rate * power_.copy_speed(gpu) * (slowed ? core_.timing.cores.beside_products : 1);
}

void ComputeQueues::clock_changed(std::uint32_t index) {
  if (states_[index].flow) core_.transfers.set_cap(*states_[index].flow, full_speed(index));
}

void ComputeQueues::products_changed(RankId gpu) {
  if (core_.timing.cores.beside_products == 1) return;
  for (std::uint32_t index = 0; index < queues_.size(); ++index) {
    const Queue& queue = core_.program.queues[index];
    if (queue.kind == QueueKind::compute && queue.rank == gpu) clock_changed(index);
  }
}

void ComputeQueues::end_bytes(std::uint32_t index) {
  states_[index].flow.reset();
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  if (!units_.is_kernel(tenant)) {
    units_.want(tenant, 0);
    units_.release(tenant, units_.held(tenant), core_.now());
    grant_units(tenant);
  }
  queues_.end_command(index);
  control_.step(index);
}

void ComputeQueues::part_begins(std::uint32_t index) {
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  if (!units_.is_kernel(tenant) || parts_at_work_[tenant]++ > 0) return;
  units_.launch(tenant, units_.most(tenant));
  grant_units(tenant);
}

void ComputeQueues::part_ends(std::uint32_t index) {
  const ComputeUnits::Tenant tenant = units_.tenant_of(index);
  if (!units_.is_kernel(tenant) || --parts_at_work_[tenant] > 0) return;
  units_.want(tenant, 0);
  units_.release(tenant, units_.held(tenant), core_.now());
  grant_units(tenant);
}

void ComputeQueues::grant_units(ComputeUnits::Tenant on_gpu_of) {
  while (const auto grant = units_.next_grant(on_gpu_of, core_.now())) use_units(*grant);
  products_.settle(on_gpu_of);
}

void ComputeQueues::use_units(const ComputeUnits::Grant& grant) {
  for (const std::uint32_t index : units_.queues(grant.tenant)) {
    if (states_[index].flow) {
      core_.transfers.set_cap(*states_[index].flow, full_speed(index));
    } else if (units_.is_kernel(grant.tenant)) {
      if (queues_[index].blocked == Blocked::units) control_.step(index);
    } else if (std::holds_alternative<Gemm>(queues_.command(index))) {
      products_.begin_workgroups(index, grant.units);
    } else {
      begin_bytes(index, queues_.command(index));
    }
  }
}

}  // namespace cortado::sim
