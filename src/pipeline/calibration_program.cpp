#include "pipeline/calibration_program.hpp"

#include <fmt/format.h>

#include "cortado/ir/builder.hpp"

namespace cortado::pipeline {

Program make_calibration_program(const CalibrationProgram& shape, const Machine& machine) {
  ProgramBuilder b("calibration", machine.name, shape.queues + (shape.broadcast ? 2 : 1));
  const Bytes whole = shape.bytes * shape.copies;
  Contract contract{"calibration", {}};
  std::vector<QueueId> queues;
  std::vector<SignalId> done;
  const SignalId go = shape.prelaunch ? b.signal("go") : SignalId{};
  for (std::uint32_t i = 0; i < shape.queues; ++i) {
    const RankId from{i};
    const RankId to{i + 1};
    const BufferId in = b.buffer(fmt::format("in{}", i), from, whole, BufferRole::input);
    const BufferId out = b.buffer(fmt::format("out{}", i), to, whole, BufferRole::output);
    contract.clauses.push_back({make_region(out, {}, whole), {make_region(in, {}, whole)}});
    std::optional<BufferId> other;
    if (shape.broadcast) {
      other = b.buffer(fmt::format("other{}", i), RankId{i + 2}, whole, BufferRole::output);
      contract.clauses.push_back({make_region(*other, {}, whole), {make_region(in, {}, whole)}});
    }
    queues.push_back(b.dma_queue(fmt::format("dma{}", i), from, machine.engine_towards(from, to)));
    done.push_back(b.signal(fmt::format("done{}", i)));
    if (shape.prelaunch) b.add(queues.back(), Wait{go});
    for (std::uint32_t k = 0; k < shape.copies; ++k) {
      const Region src = make_region(in, shape.bytes * k, shape.bytes);
      const Region dst = make_region(out, shape.bytes * k, shape.bytes);
      if (other) {
        b.add(queues.back(), Broadcast{src, dst, make_region(*other, shape.bytes * k, shape.bytes)});
      } else {
        b.add(queues.back(), Copy{src, dst});
      }
    }
    b.add(queues.back(), Signal{done.back()});
  }
  const QueueId host = b.host_queue("host");
  if (!shape.prelaunch) b.add(host, Timestamp{"begin"});
  for (const QueueId queue : queues) b.add(host, Submit{queue});
  if (shape.prelaunch) b.add(host, Timestamp{"begin"}).add(host, Trigger{go});
  for (const SignalId signal : done) {
    for (std::uint32_t k = 0; k < shape.waits; ++k) b.add(host, Wait{signal});
  }
  b.add(host, Timestamp{"end"});
  b.contract(std::move(contract));
  return std::move(b).finish();
}

}  // namespace cortado::pipeline
