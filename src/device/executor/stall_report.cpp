#include "device/executor/stall_report.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"
#include "ir/visit.hpp"

namespace cortado::device {
namespace {

constexpr std::size_t kMaxNamed = 8;
constexpr std::size_t kMaxRaisers = 3;

std::uint64_t read_word(std::uint64_t* word) {
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

std::string_view name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::bad_address:
      return "bad address";
    case FaultKind::misaligned:
      return "misaligned";
    case FaultKind::unknown_packet:
      return "unknown packet";
    case FaultKind::ring_overrun:
      return "ring overrun";
    case FaultKind::engine_absent:
      return "engine absent";
    case FaultKind::unsupported:
      return "unsupported";
    case FaultKind::tracker:
      return "tracker";
  }
  return "fault";
}

bool raises(const Command& command, SignalId signal) {
  return match(
      command, [&](const Signal& s) { return s.signal == signal; },
      [&](const Trigger& t) { return t.signal == signal; },
      [&](const Gemm& g) {
        return std::any_of(g.raises.begin(), g.raises.end(), [&](const TileSignal& t) { return t.signal == signal; });
      },
      [](const auto&) { return false; });
}

std::string to_string(const TrackerState& state) {
  return fmt::format("{} of {} bytes have had {} update{}, the fewest had {}", state.complete_bytes, state.bytes,
                     state.updates, state.updates == 1 ? "" : "s", state.fewest);
}

/// "raised by dma1.14, dma2.10 and 5 more", or that nobody raises it. For trackers, which come first, it says how far
/// they are, beginning with the one that lacks most.
std::string raisers(const Preparation& preparation, SignalId signal) {
  const Program& program = preparation.program();
  std::vector<std::pair<TrackerState, std::string>> trackers;
  for (std::size_t t = 0; t < program.trackers.size(); ++t) {
    if (program.trackers[t].signal != signal) continue;
    trackers.emplace_back(preparation.driver.state(preparation.trackers[t]), program.trackers[t].name);
  }
  std::ranges::stable_sort(trackers, [](const auto& a, const auto& b) {
    return std::pair(a.first.raises, a.first.complete_bytes) < std::pair(b.first.raises, b.first.complete_bytes);
  });
  std::vector<std::string> names;
  for (const auto& [state, name] : trackers) names.push_back(fmt::format("tracker {} ({})", name, to_string(state)));
  for (const Queue& queue : program.queues) {
    const bool one = std::any_of(queue.commands.begin(), queue.commands.end(),
                                 [&](const Command& command) { return raises(command, signal); });
    if (one) names.push_back(queue.name);
  }
  if (names.empty()) return "never raised";
  const std::size_t more = names.size() > kMaxRaisers ? names.size() - kMaxRaisers : 0;
  names.resize(names.size() - more);
  return "raised by " + join(names) + (more > 0 ? fmt::format(" and {} more", more) : "");
}

/// One stuck queue.
struct Stuck {
  bool waits = false;  ///< for a signal; otherwise it may be what the others wait for
  std::string text;
  Place place;
};

class Report {
 public:
  explicit Report(const Preparation& preparation) : preparation_(preparation), program_(preparation.program()) {}

  void add_host(const HostProgram& host, const HostState& state) {
    Stuck stuck = at_command(host.queue, state.step, state.iteration);
    if (std::holds_alternative<Submit>(program_.queue(host.queue).commands[state.step])) {
      stuck.text += ": its ring is full";
      stuck.waits = true;
    }
    stuck_.push_back(std::move(stuck));
  }

  void add_dma(const RingWriter& writer) {
    const QueueState state = preparation_.driver.state(writer.queue());
    if (state.read_offset >= writer.announced()) return;
    const auto place = writer.locate(state.read_offset);
    Stuck stuck = place ? at_command(writer.id(), place->command, place->iteration) : behind_the_last(writer.id());
    if (!stuck.waits) stuck.text += ": " + state.doing;
    if (state.write_offset < writer.announced()) {
      stuck.text += fmt::format(", and the engine missed a doorbell (knows {} of {} bytes)", state.write_offset,
                                writer.announced());
      stuck.waits = false;
    }
    stuck_.push_back(std::move(stuck));
  }

  void add_compute(const ComputeStream& stream) {
    const std::string doing = preparation_.driver.state(stream.queue());
    if (doing.starts_with("idle")) return;
    Stuck stuck = behind_the_last(stream.id());
    stuck.place.command.reset();
    stuck.text = fmt::format("{} ({})", to_string(stuck.place), doing);
    stuck.waits = doing.find("polling") != std::string::npos;
    stuck_.push_back(std::move(stuck));
  }

  Diagnostic finish(std::chrono::milliseconds timeout) && {
    std::stable_partition(stuck_.begin(), stuck_.end(), [](const Stuck& s) { return !s.waits; });
    std::vector<std::string> texts;
    for (const Stuck& stuck : stuck_) {
      if (texts.size() == kMaxNamed) break;
      texts.push_back(stuck.text);
    }
    std::string message = fmt::format("no progress for {} ms; stuck: {}", timeout.count(), join(texts, "; "));
    if (stuck_.empty()) message = fmt::format("no progress for {} ms, though no queue is stuck", timeout.count());
    if (stuck_.size() > kMaxNamed) message += fmt::format("; and {} more queues", stuck_.size() - kMaxNamed);
    Diagnostic diagnostic{"device.timeout", std::move(message),
                          "raise the time-out if the node is just slow; otherwise look at the first queue named"};
    if (!stuck_.empty()) diagnostic.place = stuck_.front().place;
    return diagnostic;
  }

 private:
  Stuck at_command(QueueId id, std::uint32_t index, std::uint64_t iteration) const {
    const Queue& queue = program_.queue(id);
    const Command& command = queue.commands[index];
    Stuck stuck;
    stuck.place.rank = queue.rank;
    stuck.place.queue = queue.name;
    stuck.place.command = index;
    stuck.text = fmt::format("{} ({})", to_string(stuck.place), to_string(program_, command));
    if (const auto* wait = std::get_if<Wait>(&command)) {
      const std::uint32_t s = wait->signal.value;
      stuck.waits = true;
      stuck.text +=
          fmt::format(" needs {} {} {}, is {}, {}", program_.signals[s].name,
                      wait->compare == Compare::ge ? ">=" : "==", wait->value + iteration * preparation_.advances[s],
                      read_word(preparation_.words[s]), raisers(preparation_, wait->signal));
    }
    if (const auto* gemm = std::get_if<Gemm>(&command)) {
      for (const TileWait& wait : gemm->waits) {
        const std::uint32_t s = wait.signal.value;
        const std::uint64_t needed = wait.value + iteration * preparation_.advances[s];
        const std::uint64_t value = read_word(preparation_.words[s]);
        if (value >= needed) continue;
        stuck.waits = true;
        stuck.text += fmt::format(" needs {} >= {} from tile {} on, is {}, {}", program_.signals[s].name, needed,
                                  wait.tiles, value, raisers(preparation_, wait.signal));
        break;
      }
    }
    return stuck;
  }

  Stuck behind_the_last(QueueId id) const {
    Stuck stuck;
    stuck.place.rank = program_.queue(id).rank;
    stuck.place.queue = program_.queue(id).name;
    stuck.text = to_string(stuck.place) + " after its last command";
    return stuck;
  }

  const Preparation& preparation_;
  const Program& program_;
  std::vector<Stuck> stuck_;
};

}  // namespace

namespace {

/// ", tracker chunk2.r1" if the fault is at a byte of a tracker.
std::string tracker_at(const Preparation& preparation, const EngineFault& fault) {
  if (fault.kind != FaultKind::tracker) return "";
  for (const Tracker& tracker : preparation.program().trackers) {
    const std::uint64_t begin = preparation.addresses.of(tracker.region);
    if (fault.address < begin || fault.address - begin >= tracker.region.extent().value) continue;
    const std::uint64_t pitch = tracker.region.rows > 1 ? tracker.region.pitch.value : tracker.region.width.value;
    if ((fault.address - begin) % pitch < tracker.region.width.value) return ", tracker " + tracker.name;
  }
  return "";
}

Diagnostic fault_at(const Queue& queue) {
  Diagnostic diagnostic{"device.fault", "", "the queue has stopped; prepare the program again to continue"};
  diagnostic.place.rank = queue.rank;
  diagnostic.place.queue = queue.name;
  return diagnostic;
}

Diagnostic describe(const Preparation& preparation, const EngineFault& fault, const RingWriter& writer) {
  const Queue& queue = preparation.program().queue(writer.id());
  Diagnostic diagnostic = fault_at(queue);
  std::string command = "a packet";
  if (const auto place = writer.locate(fault.ring_offset)) {
    diagnostic.place.command = place->command;
    command = to_string(preparation.program(), queue.commands[place->command]);
  }
  diagnostic.message = fmt::format("GPU {} engine {} hit a fault at {}: {}: {} (packet {}, address {:#x}{})",
                                   fault.gpu.value, fault.engine.value, command, name_of(fault.kind), fault.message,
                                   fault.packet_index, fault.address, tracker_at(preparation, fault));
  return diagnostic;
}

Diagnostic describe(const Preparation& preparation, const EngineFault& fault, const ComputeStream& stream) {
  Diagnostic diagnostic = fault_at(preparation.program().queue(stream.id()));
  diagnostic.message = fmt::format("GPU {} hit a fault: {}: {} (address {:#x}{})", fault.gpu.value, name_of(fault.kind),
                                   fault.message, fault.address, tracker_at(preparation, fault));
  return diagnostic;
}

}  // namespace

std::optional<Diagnostic> fault_report(const Preparation& preparation) {
  for (const EngineFault& fault : preparation.driver.faults()) {
    const auto met = [&](const auto& queue) { return queue.queue().id == fault.queue; };
    const auto writer = std::ranges::find_if(preparation.dma, met);
    if (writer != preparation.dma.end()) return describe(preparation, fault, *writer);
    const auto stream = std::ranges::find_if(preparation.compute, met);
    if (stream != preparation.compute.end()) return describe(preparation, fault, *stream);
  }
  return std::nullopt;
}

Diagnostic stall_report(const Preparation& preparation, std::span<const HostState> hosts,
                        std::uint64_t batch_iterations, std::chrono::milliseconds timeout) {
  Report report(preparation);
  for (const RingWriter& writer : preparation.dma) report.add_dma(writer);
  for (const ComputeStream& stream : preparation.compute) report.add_compute(stream);
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    if (hosts[h].iteration < batch_iterations) report.add_host(preparation.hosts[h], hosts[h]);
  }
  return std::move(report).finish(timeout);
}

std::uint64_t progress_fingerprint(const Preparation& preparation) {
  std::uint64_t fingerprint = 0;
  const auto mix = [&](std::uint64_t value) { fingerprint = (fingerprint ^ value) * 0x9e3779b97f4a7c15ULL; };
  for (const RingWriter& writer : preparation.dma) mix(writer.read_pointer());
  for (std::uint64_t* word : preparation.words) mix(read_word(word));
  for (const ComputeStream& stream : preparation.compute) {
    mix(std::hash<std::string>{}(preparation.driver.state(stream.queue())));
  }
  return fingerprint;
}

}  // namespace cortado::device
