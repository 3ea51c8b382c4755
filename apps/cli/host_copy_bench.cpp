// cortado bench host-copy.
#include <algorithm>

#include "cortado/machine.hpp"
#include "cortado/target.hpp"

#include "base/text.hpp"
#include "command.hpp"
#include "pipeline/kv/host_copy.hpp"
#include "study_progress.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr std::string_view kBlockSizes = "4KiB:16MiB";
/// Default number of blocks of a transfer on a device.
constexpr std::uint64_t kMeasuredBytes = std::uint64_t{64} << 20;

}  // namespace

Result<Exit> bench_host_copies(const Arguments& arguments, Console& console) {
  const TableOutput table(arguments);
  pipeline::HostCopyRequest request{.strategies = arguments.names("--strategies")};
  CORTADO_ASSIGN_OR_RETURN(request.blocks, parse_sizes(arguments.find("--sizes").value_or(std::string(kBlockSizes))));
  using enum plan::KvDirection;
  for (const plan::KvDirection direction : {fetch, store, both}) {
    const std::string wanted = arguments.text("--direction");
    if (wanted == "all" || wanted == pipeline::name_of(direction)) request.directions.push_back(direction);
  }
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, machine_with_features(arguments));
  CORTADO_RETURN_IF_ERROR(table.check({arguments.text("--machine")}));
  CORTADO_ASSIGN_OR_RETURN(const auto asked, target_request(arguments, arguments.text("--on"), 1, machine));
  CORTADO_ASSIGN_OR_RETURN(const auto target, open_target(asked, machine));
  const auto largest = std::ranges::max(request.blocks);
  if (!target->predicts()) request.count = std::clamp<std::uint64_t>(kMeasuredBytes / largest.value, 1, request.count);
  request.count = arguments.number<std::uint64_t>("--blocks").value_or(request.count);
  RunOptions options{.device = device_run_options(arguments)};
  if (target->predicts()) {
    tell_what_is_borrowed(machine, console);
  } else {
    options.iterations = arguments.number("--iters").value_or(5);
    options.warmup = *arguments.number("--warmup");
  }
  const auto report = pipeline::bench_host_copy(request, machine, *target, options);
  if (!report) return console.failure(report.error());
  CORTADO_RETURN_IF_ERROR(table.show(console, pipeline::host_copy_document(*report)));
  const bool wrong = std::ranges::any_of(report->rows, [](const auto& row) { return row.wrong.value_or(0) > 0; });
  return wrong ? Exit::failed : Exit::ok;
}

}  // namespace cortado::cli
