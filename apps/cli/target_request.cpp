#include "target_request.hpp"

#include <chrono>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "cortado/study.hpp"

#include "base/cores.hpp"
#include "base/text.hpp"
#include "flags.hpp"

namespace cortado::cli {
Status parse_injection(const std::string& text, std::uint32_t gpus, const Machine& machine,
                       device::FaultInjection& faults) {
  const auto bad = [&](std::string_view why) {
    return fail("usage.inject", fmt::format("--inject {}: {}", text, why),
                "write stall:GPU.ENGINE[:AFTER], slow:GPU.ENGINE:TIMES, drop-doorbell:GPU.ENGINE[:NTH], "
                "lose-signal:GPU.ENGINE[:NTH], lose-interrupt:GPU.ENGINE[:NTH] or "
                "delay-signal:GPU.ENGINE:NTH:NANOSECONDS");
  };
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 2) return bad("no engine named");
  const std::vector<std::string> place = split(parts[1], '.');
  const auto gpu = parse_number<std::uint64_t>(place[0]);
  const auto engine = place.size() == 2 ? parse_number<std::uint64_t>(place[1]) : std::nullopt;
  constexpr std::uint64_t kMaxId = std::numeric_limits<std::uint32_t>::max();
  if (!gpu || !engine || *gpu > kMaxId || *engine > kMaxId) return bad("the engine is not GPU.ENGINE, e.g. 0.14");
  const RankId rank{static_cast<std::uint32_t>(*gpu)};
  const EngineId id{static_cast<std::uint32_t>(*engine)};
  if (*gpu >= gpus) return bad(fmt::format("the only GPUs are 0 to {}", gpus - 1));
  if (machine.engine(id) == nullptr) return bad(fmt::format("{} has no engine {}", machine.name, *engine));

  std::vector<std::uint64_t> counts;
  for (std::size_t i = 2; i < parts.size(); ++i) {
    const auto value = parse_number<std::uint64_t>(parts[i]);
    if (!value) return bad(fmt::format("'{}' is not a number", parts[i]));
    counts.push_back(*value);
  }
  const bool delay = parts[0] == "delay-signal";
  const bool slow = parts[0] == "slow";
  if (delay ? counts.size() != 2 : counts.size() > 1 || (slow && counts.empty())) return bad("wrong number of parts");
  const std::uint64_t nth = counts.empty() ? 0 : counts[0];
  if (parts[0] == "stall") {
    faults.stalled_engines.push_back({rank, id, nth});
  } else if (parts[0] == "drop-doorbell") {
    faults.dropped_doorbells.push_back({rank, id, nth});
  } else if (parts[0] == "lose-signal") {
    faults.lost_signals.push_back({rank, id, nth});
  } else if (parts[0] == "lose-interrupt") {
    faults.lost_interrupts.push_back({rank, id, nth});
  } else if (slow) {
    constexpr std::uint64_t kMostTimes = 1'000'000;
    if (nth < 1 || nth > kMostTimes) return bad(fmt::format("the slowdown must be 1 to {} times", kMostTimes));
    faults.slow_engines.push_back({rank, id, nth});
  } else if (delay) {
    faults.delayed_signals.push_back({rank, id, nth, counts[1]});
  } else {
    return bad("unknown kind of fault");
  }
  return {};
}

std::string_view target_mode(std::string_view target) {
  return target == kSimulator ? "sim" : "device";
}

Result<Machine> machine_of(const Arguments& arguments) {
  CORTADO_ASSIGN_OR_RETURN(Machine machine,
                           load_machine(arguments.find("--machine").value_or(std::string(kDefaultMachine))));
  CORTADO_RETURN_IF_ERROR(set_clock(arguments, machine));
  return machine;
}

Status set_clock(const Arguments& arguments, Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(machine.clock, parse_clock_mode(arguments.text("--clock")));
  return {};
}

Result<Machine> machine_with_features(const Arguments& arguments) {
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(arguments.text("--machine")));
  return machine_with_features(arguments, machine);
}

Result<Machine> machine_with_features(const Arguments& arguments, const Machine& machine) {
  if (!arguments.given("--with")) return machine;
  return pipeline::with_features(machine, arguments.names("--with"));
}

Result<TargetRequest> target_request(const Arguments& arguments, const std::string& name, std::uint32_t gpus,
                                     const Machine& machine) {
  TargetRequest request{name, gpus, {}};
  request.soft.workers = arguments.number("--workers");
  if (arguments.given("--adversarial")) request.soft.adversarial_seed = arguments.number<std::uint64_t>("--seed");
  for (const std::string& text : arguments.all("--inject")) {
    CORTADO_RETURN_IF_ERROR(parse_injection(text, gpus, machine, request.soft.faults));
  }
  return request;
}

device::RunOptions device_run_options(const Arguments& arguments) {
  device::RunOptions options;
  options.seed = *arguments.number<std::uint64_t>("--seed");
  options.timeout = std::chrono::milliseconds(*arguments.number("--timeout"));
  if (arguments.given("--adversarial")) options.adversarial_seed = options.seed;
  return options;
}

device::CheckOutputs check_of(const Arguments& arguments) {
  const std::string when = arguments.text("--check");
  return when == "every"  ? device::CheckOutputs::every
         : when == "last" ? device::CheckOutputs::last
                          : device::CheckOutputs::none;
}

std::uint32_t threads_of(const Arguments& arguments) {
  return arguments.number("--threads").value_or(available_cores());
}

}  // namespace cortado::cli
