// Transfers through engines and ports in simulated time: the smallest simulation that uses an event queue and a fluid
// system together. A test uses it to compare the sharing modes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "sim/fluid/fluid.hpp"
#include "sim/kernel/event_queue.hpp"

namespace cortado::sim {

/// All-to-all between `nodes` nodes behind a non-blocking switch. Every node has `engines` engines, each of which takes
/// its transfers one after another, one port out and one port in. Rates in bytes per second.
struct TransferCase {
  std::uint32_t nodes = 64;
  std::uint32_t engines = 16;
  double engine_rate = 60e9;
  double port_rate = 450e9;
  double bytes = 1 << 20;
  double size_spread = 0;     ///< sizes vary by up to this fraction, up and down
  SimTime start_spread{};     ///< engines start at random times within this span
  bool random_peers = false;  ///< peers in random order instead of a rotation that loads all ports equally
  std::uint64_t seed = 1;
};

struct TransferResult {
  std::vector<SimTime> ends;  ///< per transfer: node, then engine, then turn
  SimTime last{};
  FluidWork work;
  std::uint64_t events = 0;
  std::size_t most_flows = 0;
};

class TransferSimulation {
 public:
  TransferSimulation(const TransferCase& what, FluidOptions options) : what_(what), fluid_(options) {
    for (std::uint32_t node = 0; node < what.nodes; ++node) {
      out_.push_back(fluid_.add_resource(what.port_rate));
      in_.push_back(fluid_.add_resource(what.port_rate));
    }
    Random random(what.seed);
    for (std::uint32_t node = 0; node < what.nodes; ++node) {
      std::vector<std::uint32_t> peers;
      for (std::uint32_t i = 1; i < what.nodes; ++i) peers.push_back((node + i) % what.nodes);
      if (what.random_peers) {
        for (std::size_t i = peers.size() - 1; i > 0; --i) std::swap(peers[i], peers[random.below(i + 1)]);
      }
      for (std::uint32_t engine = 0; engine < what.engines; ++engine) {
        Engine& e = engines_.emplace_back();
        e.resource = fluid_.add_resource(what.engine_rate);
        e.node = node;
        e.first = static_cast<std::uint32_t>(transfers_.size());
        for (std::size_t i = engine; i < peers.size(); i += what.engines) {
          const double unit = static_cast<double>(random.below(1 << 20)) / (1 << 19) - 1;
          transfers_.push_back({peers[i], what.bytes * (1 + what.size_spread * unit)});
        }
        e.next = e.first;
        e.end = static_cast<std::uint32_t>(transfers_.size());
        const auto spread = static_cast<std::uint64_t>(what.start_spread.picoseconds);
        queue_.schedule({static_cast<std::int64_t>(spread > 0 ? random.below(spread) : 0)}, EventClass::begin,
                        {Kind::begin, static_cast<std::uint32_t>(engines_.size() - 1)});
      }
    }
    result_.ends.resize(transfers_.size());
  }

  TransferResult run() {
    queue_.run([this](Event event) { handle(event); });
    result_.last = queue_.now();
    result_.work = fluid_.work();
    result_.events = queue_.processed();
    return std::move(result_);
  }

 private:
  enum class Kind : std::uint32_t { begin, end, settle };
  struct Event {
    Kind kind;
    std::uint32_t index;  // engine (begin) or flow (end)
  };
  struct Engine {
    ResourceId resource;
    std::uint32_t node = 0;
    std::uint32_t first = 0;
    std::uint32_t next = 0;
    std::uint32_t end = 0;
  };
  struct Transfer {
    std::uint32_t peer;
    double bytes;
  };
  struct Active {
    double remaining = 0;
    double rate = 0;
    SimTime since;
    EventHandle end;
    std::uint32_t engine = 0;
    std::uint32_t transfer = 0;
  };

  void handle(Event event) {
    switch (event.kind) {
      case Kind::begin:
        begin(event.index);
        break;
      case Kind::end:
        end(event.index);
        break;
      case Kind::settle:
        settle();
        break;
    }
  }

  void begin(std::uint32_t index) {
    Engine& engine = engines_[index];
    if (engine.next == engine.end) return;
    const std::uint32_t transfer = engine.next++;
    const ResourceUse uses[] = {{engine.resource}, {out_[engine.node]}, {in_[transfers_[transfer].peer]}};
    const FlowId flow = fluid_.add_flow({.uses = uses});
    if (flow.value >= active_.size()) active_.resize(flow.value + 1);
    active_[flow.value] = {transfers_[transfer].bytes, 0, queue_.now(), {}, index, transfer};
    if (fluid_.flow_count() > result_.most_flows) result_.most_flows = fluid_.flow_count();
    request_settle();
  }

  void end(std::uint32_t flow) {
    result_.ends[active_[flow].transfer] = queue_.now();
    fluid_.remove_flow({flow});
    request_settle();
    begin(active_[flow].engine);
  }

  void request_settle() {
    if (settle_pending_) return;
    settle_pending_ = true;
    queue_.schedule(queue_.now(), EventClass::settle, {Kind::settle, 0});
  }

  void settle() {
    settle_pending_ = false;
    for (const auto& [id, rate] : fluid_.solve()) {
      Active& flow = active_[id.value];
      flow.remaining -= flow.rate * to_seconds(queue_.now() - flow.since);
      flow.rate = rate;
      flow.since = queue_.now();
      const SimTime end = queue_.now() + sim_time_from_seconds(std::max(flow.remaining, 0.0) / flow.rate);
      if (!queue_.reschedule(flow.end, end)) flow.end = queue_.schedule(end, EventClass::end, {Kind::end, id.value});
    }
  }

  TransferCase what_;
  FluidSystem fluid_;
  EventQueue<Event> queue_;
  std::vector<ResourceId> out_;
  std::vector<ResourceId> in_;
  std::vector<Engine> engines_;
  std::vector<Transfer> transfers_;
  std::vector<Active> active_;
  bool settle_pending_ = false;
  TransferResult result_;
};

}  // namespace cortado::sim
