#include "device_options.hpp"

#include <charconv>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "cortado/base/text.hpp"

#include "number_option.hpp"

namespace cortado::cli {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return {};
  return value;
}

}  // namespace

Status parse_injection(const std::string& text, std::uint32_t gpus, const Machine& machine,
                       device::FaultInjection& faults) {
  const auto bad = [&](std::string_view why) {
    return fail("usage.inject", fmt::format("--inject {}: {}", text, why),
                "write stall:GPU.ENGINE[:AFTER], drop-doorbell:GPU.ENGINE[:NTH], lose-signal:GPU.ENGINE[:NTH] or "
                "delay-signal:GPU.ENGINE:NTH:NANOSECONDS");
  };
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() < 2) return bad("no engine named");
  const std::vector<std::string_view> place = split(parts[1], '.');
  const auto gpu = number(place[0]);
  const auto engine = place.size() == 2 ? number(place[1]) : std::nullopt;
  constexpr std::uint64_t kMaxId = std::numeric_limits<std::uint32_t>::max();
  if (!gpu || !engine || *gpu > kMaxId || *engine > kMaxId) return bad("the engine is not GPU.ENGINE, e.g. 0.14");
  const RankId rank{static_cast<std::uint32_t>(*gpu)};
  const EngineId id{static_cast<std::uint32_t>(*engine)};
  if (*gpu >= gpus) return bad(fmt::format("there are GPUs 0 to {} only", gpus - 1));
  if (machine.engine(id) == nullptr) return bad(fmt::format("{} has no engine {}", machine.name, *engine));

  std::vector<std::uint64_t> counts;
  for (std::size_t i = 2; i < parts.size(); ++i) {
    const auto value = number(parts[i]);
    if (!value) return bad(fmt::format("'{}' is not a number", parts[i]));
    counts.push_back(*value);
  }
  const bool delay = parts[0] == "delay-signal";
  if (delay ? counts.size() != 2 : counts.size() > 1) return bad("wrong number of parts");
  const std::uint64_t nth = counts.empty() ? 0 : counts[0];
  if (parts[0] == "stall") {
    faults.stalled_engines.push_back({rank, id, nth});
  } else if (parts[0] == "drop-doorbell") {
    faults.dropped_doorbells.push_back({rank, id, nth});
  } else if (parts[0] == "lose-signal") {
    faults.lost_signals.push_back({rank, id, nth});
  } else if (delay) {
    faults.delayed_signals.push_back({rank, id, nth, counts[1]});
  } else {
    return bad("unknown kind of fault");
  }
  return {};
}

void DeviceOptions::add_to(CLI::App& app) {
  std::vector<std::string> names;
  for (const TargetInfo& info : list_targets()) names.emplace_back(info.name);
  app.add_option("--on", place_, fmt::format("Where: {} (cortado list targets)", join(names, " or ")))
      ->type_name("TARGET")
      ->capture_default_str();
  device_only_ = {
      add_number(app, "--seed", seed_, "Seed of the input bytes, and of the order with --adversarial")
          ->type_name("N")
          ->capture_default_str(),
      app.add_flag("--adversarial", adversarial_, "soft: reorder and delay everything the semantics leaves open"),
      add_number(app, "--timeout", timeout_ms_, "Give up after so long without progress", {.least = 1})
          ->type_name("MS")
          ->capture_default_str(),
      add_number(app, "--workers", workers_, "soft: threads beside the caller's (default: cores - 1)")->type_name("N"),
      app.add_option("--inject", injections_,
                     "soft: a fault on purpose: stall:GPU.ENGINE[:AFTER], drop-doorbell:GPU.ENGINE[:NTH], "
                     "lose-signal:GPU.ENGINE[:NTH], delay-signal:GPU.ENGINE:NTH:NS; may be repeated")
          ->type_name("FAULT")
          ->expected(1)
          ->take_all()};
}

bool DeviceOptions::simulated() const {
  return place_ == kSimulator;
}

Status DeviceOptions::check_for_simulator() const {
  for (const CLI::Option* option : device_only_) {
    if (option->count() == 0) continue;
    return fail("usage.option",
                fmt::format("{} means nothing to the simulator: no bytes move there", option->get_name()),
                "leave it out or run on a device");
  }
  return {};
}

Result<TargetRequest> DeviceOptions::request(std::uint32_t gpus, const Machine& machine) const {
  if (timeout_ms_ == 0)
    return fail("usage.timeout", "--timeout 0 would give up at once", "give milliseconds, 1 or more");
  TargetRequest request{place_, gpus, {}};
  request.soft.workers = workers_;
  if (adversarial_) request.soft.adversarial_seed = seed_;
  for (const std::string& text : injections_) {
    CORTADO_RETURN_IF_ERROR(parse_injection(text, gpus, machine, request.soft.faults));
  }
  return request;
}

device::RunOptions DeviceOptions::run_options() const {
  device::RunOptions options;
  options.seed = seed_;
  options.timeout = std::chrono::milliseconds(timeout_ms_);
  if (adversarial_) options.adversarial_seed = seed_;
  return options;
}

}  // namespace cortado::cli
