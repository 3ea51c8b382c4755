#include "collective_request.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"
#include "ir/visit.hpp"
#include "plan/external.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr std::string_view kDtypeAlone = "f32";

std::optional<bool> in_place(const Arguments& arguments) {
  if (arguments.given("--in-place")) return true;
  if (arguments.given("--out-of-place")) return false;
  return {};
}

/// Without variant, bytes and prelaunch.
Result<CollectiveRequest> base_request(const Arguments& arguments, const std::string& collective) {
  CollectiveRequest request;
  CORTADO_ASSIGN_OR_RETURN(request.collective, find_collective(collective));
  if (arguments.given("--in-place") && arguments.given("--out-of-place")) {
    return fail("usage.place", "--in-place and --out-of-place are mutually exclusive", "use one of them, or neither");
  }
  request.ranks = arguments.number("--ranks").value_or(0);
  CORTADO_ASSIGN_OR_RETURN(request.dtype, parse_dtype(arguments.find("--dtype").value_or(std::string(kDtypeAlone))));
  request.root = RankId{*arguments.number("--root")};
  request.peer = RankId{*arguments.number("--peer")};
  request.ways = *arguments.number("--ways");
  request.compute_units = arguments.number("--cus").value_or(0);
  request.own_block = !arguments.given("--leave-own-block");
  CORTADO_ASSIGN_OR_RETURN(request.runtime, parse_runtime_mode(arguments.text("--runtime")));
  if (const auto hosts = arguments.find("--hosts")) {
    request.host = *hosts == "single" ? HostThreads::single : HostThreads::per_rank;
  }
  request.trigger_words =
      arguments.text("--trigger-words") == "shared" ? TriggerWords::shared : TriggerWords::per_queue;
  return request;
}

std::vector<std::string> among(const Arguments& arguments) {
  return arguments.given("--among") ? arguments.names("--among") : std::vector<std::string>{};
}

}  // namespace

std::string asked_variant(const Arguments& arguments, std::string_view fallback) {
  if (const auto planner = arguments.find("--planner")) return external_name(*planner);
  return arguments.find("--variant").value_or(std::string(fallback));
}

Result<CollectiveRequest> collective_request(const Arguments& arguments, const std::string& collective,
                                             const std::string& variant) {
  CORTADO_ASSIGN_OR_RETURN(CollectiveRequest request, base_request(arguments, collective));
  CORTADO_ASSIGN_OR_RETURN(request.bytes, arguments.bytes("--bytes"));
  request.variant = variant;
  request.prelaunch = arguments.given("--prelaunch");
  request.in_place = in_place(arguments).value_or(default_in_place(request.collective, variant));
  return request;
}

ChoiceRequest choice_request(const Arguments& arguments, const CollectiveRequest& request) {
  return {request, in_place(arguments), among(arguments)};
}

pipeline::ChooserOptions chooser_options(const Arguments& arguments) {
  pipeline::ChooserOptions options;
  options.threads = threads_of(arguments);
  if (!arguments.given("--no-cache")) options.cache_folder = pipeline::default_cache_folder();
  return options;
}

Result<CollectiveRequest> settled(const CollectiveRequest& request, const Arguments& arguments, const Machine& machine,
                                  Console& console) {
  if (request.variant != kAutoVariant) return request;
  pipeline::Chooser chooser(machine, chooser_options(arguments));
  CORTADO_ASSIGN_OR_RETURN(const ChoiceRow row, chooser.row(choice_request(arguments, request)));
  keep_times(chooser, console);
  console.talk(fmt::format("auto chose {}: {:.2f} us simulated, the best of {}; cortado plan --explain says why",
                           way_name(row.best().request), microseconds(row.best().time), row.fitting.size()));
  return row.best().request;
}

Result<pipeline::BenchRequest> sweep_request(const Arguments& arguments, const std::string& collective,
                                             const std::string& variants, const std::string& sizes) {
  pipeline::BenchRequest request;
  CORTADO_ASSIGN_OR_RETURN(request.base, base_request(arguments, collective));
  request.in_place = in_place(arguments);
  CORTADO_ASSIGN_OR_RETURN(request.sizes, parse_sizes(sizes));
  if (arguments.given("--prelaunch") && arguments.given("--no-prelaunch")) {
    return fail("usage.prelaunch", "--prelaunch and --no-prelaunch are mutually exclusive",
                "use one of them, or neither to get both kinds");
  }
  if (arguments.given("--prelaunch") || arguments.given("--no-prelaunch")) {
    request.prelaunch = {arguments.given("--prelaunch")};
  }
  request.among = among(arguments);
  const auto planner = arguments.command() == "bench" ? arguments.find("--planner") : std::nullopt;
  if (planner) request.planner = external_name(*planner);
  if (variants == "all") return request;
  std::vector<std::string> known{kAutoVariant, "rccl", "nccl"};
  for (const VariantInfo& info : list_variants(request.base.collective)) known.push_back(info.variant);
  request.variants = split_names(variants);
  for (const std::string& variant : request.variants) {
    if (std::ranges::count(known, variant) > 0) continue;
    return fail("usage.variant", fmt::format("{} has no variant '{}'", collective, variant), "use all, " + join(known));
  }
  return request;
}

bool leaves_open(const std::string& variants) {
  return std::ranges::count(split_names(variants), kAutoVariant) > 0;
}

void keep_times(pipeline::Chooser& chooser, Console& console) {
  if (const Status saved = chooser.save(); !saved) {
    console.talk(fmt::format("cannot cache simulated times: {}", to_string(saved.error())));
  }
}

std::string describe(const CollectiveRequest& request, const Program& program) {
  return fmt::format("{} {}{} of {} on {} ranks of {}, {}", request.collective, request.variant,
                     request.prelaunch ? " prelaunch" : "", format_bytes(request.bytes), program.ranks, program.machine,
                     request.in_place ? "in place" : "out of place");
}

std::string describe_counts(const ProgramCounts& counts) {
  const auto counted = [](std::uint64_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  std::vector<std::string> parts{counted(counts.commands, "command"), counted(counts.signals, "signal"),
                                 counted(counts.doorbells, "doorbell")};
  if (counts.triggers > 0) parts.push_back(counted(counts.triggers, "trigger"));
  if (counts.kernels > 0) parts.push_back(counted(counts.kernels, "kernel"));
  return join(parts);
}

}  // namespace cortado::cli
