#include "pipeline/calibrate.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "base/cores.hpp"
#include "base/text.hpp"
#include "machine/write.hpp"
#include "pipeline/calibration_program.hpp"

namespace cortado::pipeline {
namespace {

constexpr std::uint32_t kMany = 8;           // copies, waits; and queues if there are enough GPUs
constexpr std::uint32_t kCopiesOfCurve = 4;  // per queue: one copy does not touch all bytes of its queue
constexpr Bytes kTiny{64};
constexpr Bytes kNear = 16_KiB;           // of one copy: a few of them stay in the nearest caches
constexpr Bytes kFirstTouched = 512_KiB;  // of the curve
constexpr Bytes kMostTouched = 4_GiB;     // beyond all caches, and memory that most computers have

/// Of all queues together, half of what is touched.
std::uint64_t copies_of_curve(std::uint32_t queues) {
  return std::uint64_t{queues} * kCopiesOfCurve;
}

/// One program and its time in each round.
struct Probe {
  CalibrationProgram shape;
  Program program;
  std::vector<double> ns{};

  Bytes copied() const { return shape.bytes * shape.copies * shape.queues; }
  double median() const {
    std::vector<double> sorted = ns;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

/// As many iterations as run for a millisecond or two, at least 5.
std::uint32_t iterations(Bytes copied) {
  constexpr std::uint64_t kBytes = 16 << 20;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(kBytes / std::max<std::uint64_t>(copied.value, 1), 5, 500));
}

class NodeMeasurement {
 public:
  NodeMeasurement(const Machine& machine, const CalibrateOptions& options) : machine_(machine), options_(options) {}

  std::size_t add(const CalibrationProgram& shape) {
    probes_.push_back({shape, make_calibration_program(shape, machine_)});
    return probes_.size() - 1;
  }
  double ns(std::size_t probe) const { return probes_[probe].median(); }
  const Probe& operator[](std::size_t probe) const { return probes_[probe]; }

  /// In rounds, so that other work on the computer affects all programs alike.
  Outcome<bool> run() {
    TargetRequest request{.name = "soft"};
    for (const Probe& probe : probes_) request.gpus = std::max(request.gpus, probe.program.ranks);
    request.soft.workers = options_.workers;
    const auto target = open_target(request, machine_);
    if (!target) return fail_at(Stage::prepare, target.error());
    const auto total = options_.rounds * static_cast<std::uint32_t>(probes_.size());
    std::uint32_t done = 0;
    for (std::uint32_t round = 0; round < options_.rounds; ++round) {
      for (Probe& probe : probes_) {
        const auto report =
            run_on(**target, probe.program, machine_, {.iterations = iterations(probe.copied()), .warmup = 1});
        if (!report) return fail(report.error());
        probe.ns.push_back(static_cast<double>(report->time.value));
        if (options_.progress && !options_.progress(++done, total)) {
          return fail_at(Stage::run, {"calibrate.interrupted", "stopped before everything was measured", ""});
        }
      }
    }
    return true;
  }

 private:
  const Machine& machine_;
  const CalibrateOptions& options_;
  std::vector<Probe> probes_;
};

/// Where the timing of a calibrated machine comes from: measured, except for parts that the embedded node lacks.
void give_sources(Machine& machine) {
  struct Source {
    std::string_view keys;  ///< a whole key, or the beginning of keys
    const char* source;
    const char* confidence;
  };
  constexpr const char* kMeasured = "measured on this computer by cortado calibrate";
  static constexpr std::array kSources{
      Source{"host.signal_ns", "as host.trigger_ns", "D"},
      Source{"host.", kMeasured, "B"},
      Source{"engine_timing.wake_ns", "as engine_timing.fetch_ns", "D"},
      Source{"engine_timing.copy_issue_ns", "as engine_timing.copy_start_ns", "D"},
      Source{"engine_timing.copies_in_flight", "a thread makes one copy at a time", "A"},
      Source{"engine_timing.local_rate_GBps", "as engine_timing.rate_GBps", "D"},
      Source{"engine_timing.", kMeasured, "B"},
      Source{"links.", "the embedded node has no links; never the bottleneck", "assumption"},
      Source{"memory.node_", kMeasured, "B"},
      Source{"memory.", "GPUs of the embedded node have no memory of their own; never the bottleneck", "assumption"},
      Source{"cores.", "not measured; all compute units together copy as fast as an engine", "assumption"},
  };
  for (Provenance& fact : machine.provenance) {
    if (fact.key == "links.topology" || fact.key == "links.counts") continue;
    const auto source = std::find_if(kSources.begin(), kSources.end(),
                                     [&](const Source& one) { return fact.key.starts_with(one.keys); });
    if (source == kSources.end()) continue;
    fact.source = source->source;
    fact.confidence = source->confidence;
  }
}

/// Refuses sizes that reveal nothing, and sizes beyond the memory of the machine or the computer.
Status check_largest(const Machine& base, std::uint32_t queues, Bytes largest) {
  const Bytes most = std::min({kMostTouched, base.memory_bytes, base.dma.max_copy_bytes * copies_of_curve(queues) * 2});
  if (largest >= kFirstTouched && largest <= most) return {};
  return fail(
      "calibrate.largest",
      largest < kFirstTouched
          ? fmt::format("{} are too small to show the effect of caches", format_bytes(largest))
          : fmt::format("{} are more than calibration can use in the shape of {}", format_bytes(largest), base.name),
      fmt::format("use {} to {}", format_bytes(kFirstTouched), format_bytes(most)));
}

}  // namespace

Status check_calibrated(const Machine& machine) {
  if (machine.timing && machine.timing->engine.threads > 0) return {};
  return fail(
      "compare.machine",
      fmt::format("{} is not the embedded node of this computer: its simulated times would be those of other hardware",
                  machine.name),
      "calibrate first (cortado calibrate -o here.toml), then use --machine here.toml");
}

Outcome<CalibrationData> measure_node(const Machine& base, const CalibrateOptions& options) {
  const std::size_t routes = calibration_routes(base, 1).size();
  if (base.gpus < 3 || routes < 2) {
    return fail_at(
        Stage::plan,
        {"calibrate.gpus",
         fmt::format("{} has {} GPUs, {} of them linked to others; calibration needs 3, with 2 of them linked",
                     base.name, base.gpus, routes),
         "use a --machine with more GPUs or links"});
  }
  const auto queues = static_cast<std::uint32_t>(std::min<std::size_t>({base.gpus - 1, routes, kMany}));
  if (const Status fits = check_largest(base, queues, options.largest); !fits) {
    return fail_at(Stage::plan, fits.error());
  }
  NodeMeasurement node(base, options);
  const auto tiny = [&](std::uint32_t q, std::uint32_t copies, std::uint32_t waits, bool prelaunch) {
    return node.add({.queues = q, .copies = copies, .bytes = kTiny, .waits = waits, .prelaunch = prelaunch});
  };
  const std::size_t one = tiny(1, 1, 1, false);
  const std::size_t many_copies = tiny(1, kMany, 1, false);
  const std::size_t many_queues = tiny(queues, 1, 1, false);
  const std::size_t many_waits = tiny(1, 1, kMany, false);
  const std::size_t prelaunched_one = tiny(1, 1, 1, true);
  const std::size_t prelaunched_copies = tiny(1, kMany, 1, true);
  const std::size_t prelaunched_queues = tiny(queues, 1, 1, true);
  const std::size_t curve_tiny = tiny(queues, kCopiesOfCurve, 1, false);
  const std::size_t near = node.add({.copies = kCopiesOfCurve, .bytes = kNear});
  const std::size_t near_tiny = tiny(1, kCopiesOfCurve, 1, false);
  const bool broadcasts = base.features.broadcast && !calibration_routes(base, 2).empty();
  const std::size_t broadcast =
      broadcasts ? node.add({.copies = kCopiesOfCurve, .bytes = kNear, .broadcast = true}) : near;
  std::vector<std::size_t> curve;
  for (Bytes touched = kFirstTouched; touched <= options.largest; touched = touched * 2) {
    const Bytes copy = touched / (2 * copies_of_curve(queues));
    curve.push_back(node.add({.queues = queues, .copies = kCopiesOfCurve, .bytes = copy / 64 * 64}));
  }
  if (const auto ran = node.run(); !ran) return fail(ran.error());

  CalibrationData data;
  data.commands = {.queues = queues,
                   .copies = kMany,
                   .waits = kMany,
                   .one = node.ns(one),
                   .many_copies = node.ns(many_copies),
                   .many_queues = node.ns(many_queues),
                   .many_waits = node.ns(many_waits),
                   .prelaunched_one = node.ns(prelaunched_one),
                   .prelaunched_copies = node.ns(prelaunched_copies),
                   .prelaunched_queues = node.ns(prelaunched_queues)};
  const auto beyond = [&](std::size_t probe, std::size_t tiny_one) {
    return std::max(node.ns(probe) - node.ns(tiny_one), 1.0);
  };
  data.rate = static_cast<double>(node[near].copied().value) / beyond(near, near_tiny);
  if (base.features.broadcast) {
    data.broadcast_rate =
        broadcasts ? static_cast<double>(2 * node[broadcast].copied().value) / beyond(broadcast, near_tiny) : data.rate;
  }
  data.threads = options.workers.value_or(available_cores() - 1) + 1;
  for (const std::size_t point : curve) {
    const Bytes copied = node[point].copied();
    data.copies.push_back({copied * 2, copied, beyond(point, curve_tiny)});
    data.parallel_rate = std::max(data.parallel_rate, static_cast<double>(copied.value) / data.copies.back().ns);
  }
  return data;
}

Outcome<Machine> calibrate(const Machine& base, const CalibrateOptions& options) {
  const auto data = measure_node(base, options);
  if (!data) return fail(data.error());
  Machine machine = base;
  machine.name = base.name + "-soft";
  machine.title = fmt::format("the embedded node of this computer in the shape of {}, {}", base.name,
                              data->threads == 1 ? "1 thread" : fmt::format("{} threads", data->threads));
  machine.timing = fit_timing(*data, base);
  machine.power.reset();  // the power of the base machine's GPUs means nothing here
  // Through the text, so that a machine used at once and one read from the file are the same.
  auto read = parse_machine(machine_text(machine), "calibrated");
  if (!read) return fail_at(Stage::prepare, read.error());
  give_sources(*read);
  return *std::move(read);
}

}  // namespace cortado::pipeline
