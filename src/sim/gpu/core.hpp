// What all parts of a run share: the program and its machine, the event queue, bytes in transit, signals, and the
// record of what happened.
#pragma once

#include "sim/fluid/fluid.hpp"
#include "sim/gpu/events.hpp"
#include "sim/gpu/recorder.hpp"
#include "sim/gpu/signal_board.hpp"
#include "sim/gpu/simulate.hpp"
#include "sim/gpu/transfers.hpp"
#include "sim/power/listener.hpp"

namespace cortado::sim {

struct Core {
  /// The machine of the program must have timing. `sharing` configures the fluid solver. What the references name must
  /// outlive this.
  Core(const CheckedProgram& proved, const SimulateOptions& how, FluidOptions sharing, Listener& who_listens)
      : program(proved.program()),
        machine(proved.machine()),
        timing(*machine.timing),
        options(how),
        fluid(sharing),
        listener(who_listens),
        transfers(events, fluid, who_listens),
        signals(program),
        recorder(proved, how) {}

  SimTime now() const { return events.now(); }
  /// The GPU on which the queue executes; not for a host queue of all ranks.
  RankId gpu_of(std::uint32_t queue) const { return *program.queues[queue].rank; }

  const Program& program;
  const Machine& machine;
  const Timing& timing;
  const SimulateOptions& options;
  Events events;
  FluidSystem fluid;
  Listener& listener;
  Transfers transfers;
  SignalBoard signals;
  Recorder recorder;
};

}  // namespace cortado::sim
