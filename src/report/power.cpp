#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "cortado/report.hpp"

#include "base/text.hpp"
#include "report/energy.hpp"
#include "report/skipped.hpp"

namespace cortado::report {
namespace {

constexpr std::string_view kUniformCap = "uniform-cap";

/// The limit for the watts of a row.
std::optional<double> allowed(const PowerRow& row, const PowerReport& report) {
  return row.policy == kUniformCap && report.limit_w ? report.limit_w : report.cap_w;
}

std::vector<std::string> component_keys() {
  std::vector<std::string> keys;
  for (const Component component : kComponents)
    keys.push_back(fmt::format("power_W_by_component.{}", name_of(component)));
  return keys;
}

std::string power_title(const PowerReport& report) {
  std::string collective;
  if (!report.collective.empty()) {
    collective = fmt::format("{} {} of {}", report.collective, report.variant, format_bytes(report.bytes));
  }
  if (!report.strategy.empty()) {
    collective += fmt::format(", with the strategy {}", report.strategy);
  } else if (!report.gemm.empty() && !collective.empty()) {
    collective += ", both launched at once";
  }
  const std::string between = report.gemm.empty() || collective.empty() ? "" : " and ";
  return fmt::format("power of {}{}{}, on {} rank{} of {}", report.gemm, between, collective, report.ranks,
                     report.ranks == 1 ? "" : "s", report.machine);
}

std::string power_basis(const PowerReport& report) {
  std::string text = report.where;
  if (report.cap_w) {
    text += fmt::format("; board cap {:g} W", *report.cap_w);
  } else {
    text += "; no cap, clocks as in the machine file";
  }
  if (report.limit_w) text += fmt::format(", uniform-cap limit {:g} W", *report.limit_w);
  return text + fmt::format("; an idle GPU draws {:.0f} W", report.idle_w);
}

using PowerFields = std::vector<Field<PowerRow>>;

void add_watts(PowerFields& fields) {
  for (const Component component : kComponents) {
    const std::string name(name_of(component));
    fields.push_back(
        {{"power_W_by_component." + name, name, "W", 0, fmt::format("mean watts of one GPU, {}", name), View::wide},
         [component](const PowerRow& row) { return row.use.watts(component); }});
  }
}

void add_clocks(PowerFields& fields) {
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name(kComponentNames[i]);
    fields.push_back(
        {{"clock_GHz." + name, name, "GHz", 3,
          fmt::format("mean clock of {} while anything ran, 0 where nothing ran; null if unmanaged", name)},
         [i](const PowerRow& row) {
           if (!row.clocks_ghz) return Cell();
           const double clock = (*row.clocks_ghz)[i];
           return clock > 0 ? Cell(clock) : Cell(clock).shown_as("-");
         }});
  }
}

PowerFields power_fields() {
  const auto changed = [](auto value) {
    return [value](const PowerRow& row) { return row.change ? Cell(*row.change.*value) : Cell(); };
  };
  PowerFields fields = with_energy<PowerRow>(
      {{{"what", "what", "", 0, "`gemm`, `collective` or `both`: each alone, or both together"}, &PowerRow::what},
       {{"policy", "policy", "", 0, "power policy (`cortado list power-policies`); `unmanaged` with `--cap none`"},
        &PowerRow::policy},
       {{"time_us", "time", "us", 1, "time of an iteration"}, &PowerRow::time_us}},
      &PowerRow::use);
  for (Field<PowerRow>& field : fields) {
    if (field.column.key == "power_W") field.column.digits = 0;
    if (field.column.view == View::wide) field.column.view = View::data;  // watts by component are already there
  }
  add_watts(fields);
  fields.push_back({{"peak_W", "peak", "W", 0,
                     "highest average over a control interval after the first, on any GPU; null if unmanaged"},
                    &PowerRow::peak_w});
  add_clocks(fields);
  const PowerFields rest{
      {{"edp_Js", "EDP", "Js", 3, "energy-delay product: joules times seconds", View::wide, Notation::shortest},
       [](const PowerRow& row) { return row.use.energy_delay(); }},
      {{.key = "above_cap",
        .meaning = "it exceeded its power limit for longer than a control interval, for example because even the "
                   "lowest clocks draw too much",
        .view = View::data},
       &PowerRow::above_cap},
      {{"time_change_pct", "time", "%", 1, "relative to policy `none`; null if unmanaged", View::narrow,
        Notation::with_sign},
       changed(&PowerChange::time)},
      {{"energy_change_pct", "energy", "%", 1, "the same", View::narrow, Notation::with_sign},
       changed(&PowerChange::energy)},
      {{"tflops", "TFLOP/s", "", 1, "of the GEMM on one GPU, over `time_us`; null without a GEMM"}, &PowerRow::tflops},
      {{.key = "iterations", .meaning = "iterations that were simulated", .view = View::data}, &PowerRow::iterations}};
  fields.insert(fields.end(), rest.begin(), rest.end());
  return fields;
}

Table over_time(const PowerReport& report) {
  Table table{.key = "over_time",
              .meaning = "with `--html`: watts of GPU 0 over time, for `both` or for the only workload",
              .columns = {{.key = "what", .meaning = "as in `rows`"},
                          {.key = "policy", .meaning = "as in `rows`"},
                          {.key = "time_us", .head = "time", .unit = "us", .meaning = "start of the sample"}},
              .charts = {{.kind = Chart::Kind::areas,
                          .title = "Power over time",
                          .values = component_keys(),
                          .labels = {"time_us"},
                          .series = {"what", "policy"},
                          .limit = "allowed_W",
                          .about = "Watts of GPU 0 from the first iteration on: compute dies (xcd), I/O dies (iod), "
                                   "memory (hbm) and the rest of the board. Power management starts from the clocks of "
                                   "the machine file and settles. Dashed: the board's limit."}},
              .data_only = true};
  for (const Component component : kComponents) {
    table.columns.push_back({.key = fmt::format("power_W_by_component.{}", name_of(component)),
                             .head = std::string(name_of(component)),
                             .unit = "W",
                             .meaning = "average until the next sample"});
  }
  table.columns.push_back({.key = "allowed_W",
                           .head = "allowed",
                           .unit = "W",
                           .meaning = "cap of a board, or the limit of `uniform-cap`; null if unmanaged"});
  for (const PowerRow& row : report.rows) {
    for (const PowerSample& sample : row.over_time) {
      Row cells{row.what, row.policy, microseconds(sample.time)};
      cells.insert(cells.end(), sample.watts.begin(), sample.watts.end());
      cells.emplace_back(allowed(row, report));
      table.add(std::move(cells));
    }
  }
  return table;
}

std::vector<std::string> notes_of(const PowerReport& report) {
  std::vector<std::string> notes;
  if (std::ranges::any_of(report.rows, [&](const PowerRow& row) {
        return row.peak_w > allowed(row, report).value_or(0) && !row.above_cap;
      })) {
    notes.emplace_back("peaks above the cap last less than a control interval: clocks react to the power drawn before");
  }
  for (const PowerRow& row : report.rows) {
    const PowerRow* none = report.row(row.what, "none");
    if (none == nullptr || row.policy != kUniformCap) continue;
    if (slows_below_limit(none->use.watts(), row.use.seconds / none->use.seconds, allowed(row, report))) {
      notes.push_back(below_limit_note(row.what));
    }
  }
  for (const PowerRow& row : report.rows) {
    if (!row.above_cap) continue;
    notes.push_back(
        fmt::format("{} under {}: exceeds its power limit for longer than a control interval", row.what, row.policy));
  }
  if (!report.gemm.empty() && report.cap_w) {
    notes.emplace_back(
        "clocks follow the board's power draw; `cortado overlap` gives a GEMM one clock, at which it stays within the "
        "cap on its own");
  }
  for (std::string& note : skipped_notes(report.skipped)) notes.push_back(std::move(note));
  return notes;
}

}  // namespace

double PowerSample::total() const {
  return std::accumulate(watts.begin(), watts.end(), 0.0);
}

const PowerRow* PowerReport::row(std::string_view what, std::string_view policy) const {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const PowerRow& one) { return one.what == what && one.policy == policy; });
  return found == rows.end() ? nullptr : &*found;
}

Document power_document(const PowerReport& report) {
  const bool collective = !report.collective.empty();
  Document document{.schema = "cortado.power", .version = 2, .title = power_title(report)};
  document.about = {
      power_basis(report),
      "time and energy (of all GPUs) per iteration, one host thread per GPU; watts per GPU; % relative to policy none"};
  document.facts = {
      {"gemm", report.gemm.empty() ? Cell() : Cell(report.gemm), "GEMM on each GPU; null if there is none"},
      {"collective", collective ? Cell(report.collective) : Cell(), "name of the collective; null if there is none"},
      {"bytes", collective ? Cell(report.bytes) : Cell(), "size of its whole buffer"},
      {"variant", collective ? Cell(report.variant) : Cell(), "its variant"},
      {"strategy", report.strategy.empty() ? Cell() : Cell(report.strategy),
       "strategy, with the details it decided on; null: both launched at once"},
      {"ranks", report.ranks, "number of GPUs"},
      {"machine", report.machine, "modelled machine"},
      {"where", report.where, "the simulated machine"},
      {"idle_W", report.idle_w, "power of an idle GPU"},
      {"cap_W", report.cap_w, "cap of the board; null with `--cap none`"},
      {"limit_W", report.limit_w, "limit of `uniform-cap`; null if it is not among the rows"}};
  Table rows = table_of("rows",
                        "by workload, then by policy; `none` comes first for each. Everything is repeated for at least "
                        "forty control intervals of the power management and twenty iterations; rows are means over "
                        "the second half of the iterations, clocks and peaks cover the whole run",
                        power_fields(), report.rows);
  rows.charts = {{.title = "Mean power of a GPU, by component",
                  .values = component_keys(),
                  .labels = {"what", "policy"},
                  .about = "Compute dies (xcd), I/O dies (iod), memory (hbm) and the rest of the board."}};
  document.tables = {std::move(rows), skipped_table(report.skipped, "policy"), over_time(report)};
  document.notes = notes_of(report);
  return document;
}

}  // namespace cortado::report
