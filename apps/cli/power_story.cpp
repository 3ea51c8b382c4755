#include "power_story.hpp"

#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/base/text.hpp"
#include "cortado/gemm/gemm.hpp"
#include "cortado/pipeline/power.hpp"
#include "cortado/plan/choose.hpp"

namespace cortado::cli {
namespace {

/// A feed-forward layer as wide as LLaMA-70B's for 8 Ki tokens, and the gathering of the weights of the next.
pipeline::PowerRequest question(const char* variant) {
  return {.gemm = GemmShape{8192, 28672, 8192, DType::bf16},
          .collective = CollectiveRequest{.collective = "all-gather",
                                          .variant = variant,
                                          .bytes = {std::uint64_t{448} << 20},
                                          .in_place = default_in_place("all-gather", variant)}};
}

void add_rows(TextTable& table, const report::PowerReport& report, const std::string& way) {
  for (const report::PowerRow& row : report.rows) {
    if (row.what == "gemm" && way != kCoresVariants) continue;  // the same
    const std::string what = row.what == "gemm"         ? "product"
                             : row.what == "collective" ? fmt::format("all-gather {}", way)
                                                        : fmt::format("both, {}", way);
    std::vector<std::string> cells{what, row.policy, fmt::format("{:.0f}", row.time_us()),
                                   fmt::format("{:.2f}", row.use.joules()), fmt::format("{:.0f}", row.use.watts())};
    for (const Component component : kComponents) cells.push_back(fmt::format("{:.0f}", row.use.watts(component)));
    cells.push_back(row.clocks_ghz && row.clocks_ghz->front() > 0 ? fmt::format("{:.2f}", row.clocks_ghz->front())
                                                                  : "-");
    table.add_row(std::move(cells));
  }
}

}  // namespace

pipeline::Outcome<StoryPart> power_story(const Machine& machine, device::Driver&) {
  StoryPart story;
  story.text = fmt::format("And what does that draw? {} beside an all-gather of 448MiB, under the cap of the board\n",
                           to_string(*question(kCoresVariants).gemm));
  pipeline::PowerOptions options;
  options.policies = {
      {&sim::kNoPowerPolicy, sim::find_power_policy("component-cap"), sim::find_power_policy("component-shift")}};
  options.threads = available_cores();
  TextTable table(
      {"what", "power policy", "predicted us", "joules", "W a GPU", "xcd", "iod", "hbm", "rest", "xcd GHz"});
  for (const char* way : {kCoresVariants, "pcpy"}) {
    const auto report = pipeline::study_power(question(way), machine, options);
    if (!report) {
      story.text += fmt::format("  not predicted: {}\n\n", report.error().errors.front().message);
      return story;
    }
    add_rows(table, *report, way);
  }
  story.text += table.to_string("  ");
  story.text +=
      "  xcd = compute dies, iod = fabric, caches, links and engines, hbm = memory; cores, pcpy = who moves the bytes\n"
      "  component-cap = compute dies no faster than links let them; component-shift = watts go where work waits\n\n";
  return story;
}

}  // namespace cortado::cli
