#include "cortado/report/power.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cortado/base/text.hpp"
#include "cortado/report/energy.hpp"

#include "report/overlap_parts.hpp"
#include "report/power_parts.hpp"

namespace cortado::report {
namespace {

using Json = nlohmann::ordered_json;

Json by_component(const auto& value) {
  Json object;
  for (const Component component : kComponents) object[std::string(name_of(component))] = value(component);
  return object;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json clocks_of(const PowerRow& row) {
  if (!row.clocks_ghz) return {};
  Json object;
  for (std::size_t i = 0; i < row.clocks_ghz->size(); ++i)
    object[std::string(kComponentNames[i])] = (*row.clocks_ghz)[i];
  return object;
}

Json over_time(const PowerRow& row) {
  Json samples = Json::array();
  for (const PowerSample& sample : row.over_time) {
    Json one{{"time_us", microseconds(sample.time)}};
    one["power_W_by_component"] =
        by_component([&](Component component) { return sample.watts[static_cast<std::size_t>(component)]; });
    samples.push_back(std::move(one));
  }
  return samples;
}

Json row_of(const PowerRow& row) {
  Json object{{"what", row.what}, {"policy", row.policy}, {"time_us", row.time_us()}};
  add_energy(row.use, object);
  object.update({{"power_W_by_component", by_component([&](Component c) { return row.use.watts(c); })},
                 {"edp_Js", row.use.energy_delay()},
                 {"clock_GHz", clocks_of(row)},
                 {"peak_W", or_null(row.peak_w)},
                 {"above_cap", row.above_cap},
                 {"time_change_pct", row.change ? Json(row.change->time) : Json()},
                 {"energy_change_pct", row.change ? Json(row.change->energy) : Json()},
                 {"tflops", or_null(row.tflops)},
                 {"iterations", row.iterations}});
  if (!row.over_time.empty()) object["over_time"] = over_time(row);
  return object;
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

std::string power_title(const PowerReport& report) {
  std::string collective;
  if (!report.collective.empty()) {
    collective = fmt::format("{} {} of {}", report.collective, report.variant, format_bytes(report.bytes));
  }
  const std::string between = report.gemm.empty() || collective.empty() ? "" : " and ";
  return fmt::format("{}{}{}, on {} rank{} of {}", report.gemm, between, collective, report.ranks,
                     report.ranks == 1 ? "" : "s", report.machine);
}

std::string power_basis(const PowerReport& report) {
  std::string text = report.where;
  if (report.cap_w) {
    text += fmt::format("; cap of a board {:g} W", *report.cap_w);
  } else {
    text += "; no cap, clocks as the machine file has them";
  }
  if (report.limit_w) text += fmt::format(", limit of uniform-cap {:g} W", *report.limit_w);
  return text + fmt::format("; an idle GPU draws {:.0f} W", report.idle_w);
}

std::vector<std::string> power_header() {
  std::vector<std::string> header{"what", "policy", "time us", "energy\nJ", "power\nW"};
  for (const Component component : kComponents) header.push_back(fmt::format("{}\nW", name_of(component)));
  for (const char* name :
       {"peak\nW", "xcd\nGHz", "iod\nGHz", "hbm\nGHz", "EDP\nJs", "time\n%", "energy\n%", "TFLOP/s"}) {
    header.emplace_back(name);
  }
  return header;
}

std::vector<std::string> power_cells(const PowerRow& row) {
  const auto rounded = [](double value, int digits) { return fmt::format("{:.{}f}", value, digits); };
  const auto changed = [](double percent) { return fmt::format("{:+.1f}", percent); };
  std::vector<std::string> cells{row.what, row.policy, rounded(row.time_us(), 1), joules_text(row.use),
                                 rounded(row.use.watts(), 0)};
  for (const Component component : kComponents) cells.push_back(rounded(row.use.watts(component), 0));
  cells.push_back(row.peak_w ? rounded(*row.peak_w, 0) : "-");
  for (std::size_t i = 0; i < 3; ++i) {
    const double clock = row.clocks_ghz ? (*row.clocks_ghz)[i] : 0;
    cells.push_back(clock > 0 ? rounded(clock, 3) : "-");
  }
  cells.push_back(fmt::format("{:.3g}", row.use.energy_delay()));
  cells.push_back(row.change ? changed(row.change->time) : "-");
  cells.push_back(row.change ? changed(row.change->energy) : "-");
  cells.push_back(row.tflops ? rounded(*row.tflops, 1) : "-");
  return cells;
}

std::string power_text(const PowerReport& report) {
  TextTable table(power_header());
  for (const PowerRow& row : report.rows) table.add_row(power_cells(row));
  std::string text = fmt::format("# power of {}\n# {}\n", power_title(report), power_basis(report));
  text += "# time and energy (of all GPUs) of an iteration, watts of one GPU; % against policy none\n";
  text += table.to_string();
  const auto allowed = [&](const PowerRow& row) {
    return row.policy == "uniform-cap" ? report.limit_w.value_or(0) : report.cap_w.value_or(0);
  };
  if (std::ranges::any_of(report.rows,
                          [&](const PowerRow& row) { return row.peak_w > allowed(row) && !row.above_cap; })) {
    text += "# peaks above the cap last less than a control interval: clocks follow what was drawn before\n";
  }
  for (const PowerRow& row : report.rows) {
    if (!row.above_cap) continue;
    text +=
        fmt::format("# {} under {}: draws more than it may for longer than a control interval\n", row.what, row.policy);
  }
  return text + skipped_text(report.skipped);
}

std::string power_json(const PowerReport& report) {
  Json document{{"schema", "cortado.power"},
                {"version", 1},
                {"gemm", report.gemm.empty() ? Json() : Json(report.gemm)},
                {"collective", report.collective.empty() ? Json() : Json(report.collective)},
                {"bytes", report.collective.empty() ? Json() : Json(report.bytes.value)},
                {"variant", report.collective.empty() ? Json() : Json(report.variant)},
                {"ranks", report.ranks},
                {"machine", report.machine},
                {"where", report.where},
                {"idle_W", report.idle_w},
                {"cap_W", or_null(report.cap_w)},
                {"limit_W", or_null(report.limit_w)},
                {"rows", Json::array()},
                {"skipped", skipped_list(report.skipped, "policy")}};
  for (const PowerRow& row : report.rows) document["rows"].push_back(row_of(row));
  return to_text(document);
}

}  // namespace cortado::report
