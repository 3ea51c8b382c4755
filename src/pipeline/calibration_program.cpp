#include "pipeline/calibration_program.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/check.hpp"

namespace cortado::pipeline {

std::vector<CalibrationRoute> calibration_routes(const Machine& machine, std::size_t peers) {
  std::vector<CalibrationRoute> routes;
  for (std::uint32_t from = 0; from < machine.gpus; ++from) {
    CalibrationRoute route{RankId{from}, {}};
    for (std::uint32_t step = 1; step < machine.gpus && route.to.size() < peers; ++step) {
      const std::uint32_t to = (from + step) % machine.gpus;
      if (machine.linked[from][to]) route.to.push_back(RankId{to});
    }
    if (route.to.size() == peers) routes.push_back(std::move(route));
  }
  return routes;
}

Program make_calibration_program(const CalibrationProgram& shape, const Machine& machine) {
  std::vector<CalibrationRoute> routes = calibration_routes(machine, shape.broadcast ? 2 : 1);
  CORTADO_CHECK(shape.queues <= routes.size(), "a machine has a route for every queue of calibration");
  routes.resize(shape.queues);
  std::uint32_t last = 0;
  for (const CalibrationRoute& route : routes) {
    last = std::max(last, route.from.value);
    for (const RankId to : route.to) last = std::max(last, to.value);
  }
  ProgramBuilder b("calibration", machine.name, last + 1);
  const Bytes whole = shape.bytes * shape.copies;
  Contract contract{"calibration", {}};
  std::vector<QueueId> queues;
  std::vector<SignalId> done;
  const SignalId go = shape.prelaunch ? b.signal("go") : SignalId{};
  for (std::uint32_t i = 0; i < shape.queues; ++i) {
    const RankId from = routes[i].from;
    const RankId to = routes[i].to.front();
    const BufferId in = b.buffer(fmt::format("in{}", i), from, whole, BufferRole::input);
    const BufferId out = b.buffer(fmt::format("out{}", i), to, whole, BufferRole::output);
    contract.clauses.push_back({make_region(out, {}, whole), {make_region(in, {}, whole)}});
    std::optional<BufferId> other;
    if (shape.broadcast) {
      other = b.buffer(fmt::format("other{}", i), routes[i].to[1], whole, BufferRole::output);
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
