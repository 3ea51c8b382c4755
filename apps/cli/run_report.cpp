#include "run_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/report.hpp"
#include "cortado/timeline.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "collective_request.hpp"
#include "fold.hpp"
#include "report/energy.hpp"
#include "table_output.hpp"

namespace cortado::cli {
namespace {

/// Long runs are traced only at their end.
std::uint32_t traced_iterations(const Timeline& timeline) {
  if (timeline.spans.empty()) return 0;
  const auto [first, last] =
      std::minmax_element(timeline.spans.begin(), timeline.spans.end(),
                          [](const Span& a, const Span& b) { return a.iteration < b.iteration; });
  return last->iteration - first->iteration + 1;
}

/// ", algbw 72.16 GB/s, busbw 63.14 GB/s"; empty if there is no bandwidth.
std::string bandwidth_text(const Run& run) {
  if (!run.bandwidths) return {};
  return fmt::format(", algbw {:.2f} GB/s, busbw {:.2f} GB/s", run.bandwidths->algorithm, run.bandwidths->bus);
}

}  // namespace

Status RunReport::write_pictures(const CheckedProgram& verified, const Run& run, Console& console) const {
  const auto trace = arguments_.find("--trace");
  const auto html = arguments_.find("--html");
  if (!trace && !html) return {};
  const std::string timeline = report::perfetto_trace(run.timeline, verified.program());
  if (trace) CORTADO_RETURN_IF_ERROR(write_file(*trace, timeline));
  if (!html) return {};
  const report::Document page{.schema = "cortado.run",
                              .version = 2,
                              .title = fmt::format("{}, {}", verified.program().name, run.timeline.where),
                              .about = split(body_text(verified, run), '\n'),
                              .measured = !run.predicted,
                              .timelines = {{verified.program().name, timeline}}};
  for (const std::string& limit : report::page_limits(page)) console.talk(limit);
  return write_file(*html, report::to_html(page, page_origin(arguments_)));
}

std::string RunReport::text(const CheckedProgram& verified, const Run& run) const {
  return folded(title_, 2) + "\n" + body_text(verified, run);
}

std::string RunReport::body_text(const CheckedProgram& verified, const Run& run) const {
  std::string text = run.predicted ? fmt::format("  simulated on {}{}\n", verified.machine().name, sharing_note())
                                   : fmt::format("  measured on {}\n", run.timeline.where);
  text += fmt::format("  {}\n", describe_counts(run.counts));
  const bool once = run_.iterations == 1 && run.predicted;
  text += fmt::format("  time {:.2f} us{}{}\n", microseconds(run.time),
                      once ? "" : fmt::format(" (median of {})", run_.iterations), bandwidth_text(run));
  text += run.predicted ? predicted_text(run) : checked_text(run);
  if (const auto trace = arguments_.find("--trace")) {
    const std::uint32_t traced = traced_iterations(run.timeline);
    const std::string part =
        traced < run_.iterations ? fmt::format(" of the last {} of {} iterations", traced, run_.iterations) : "";
    text += fmt::format("  trace{} in {}: open it at https://ui.perfetto.dev\n", part, *trace);
  }
  if (const auto html = arguments_.find("--html")) text += fmt::format("  page in {}\n", *html);
  return text;
}

std::string RunReport::checked_text(const Run& run) const {
  if (arguments_.text("--check") == "none") return "  bytes not checked (--check none)\n";
  return fmt::format("  {} bytes checked, {} wrong\n", run.check->checked, run.check->wrong);
}

std::string RunReport::predicted_text(const Run& run) const {
  std::string text =
      fmt::format("  {} bytes moved, {} events\n", run.timeline.bytes_moved.value, run.predicted->events);
  if (run.energy) {
    text += fmt::format("  energy of all GPUs {} J, {} W per GPU on average\n    by component: {}\n",
                        report::joules_text(run.energy), report::watts_text(run.energy),
                        report::components_text(*run.energy));
  }
  const std::string path =
      fmt::format("critical path{}: {}", run_.iterations == 1 ? "" : " of the last iteration", path_text(run.timeline));
  return text + "  " + folded(path, 4, 2) + "\n";
}

std::string RunReport::sharing_note() const {
  if (!run_.sim.sharing.local) return {};
  return fmt::format(", local sharing within {:g} %", 100 * run_.sim.sharing.tolerance);
}

std::string RunReport::path_text(const Timeline& timeline) const {
  if (!run_.trace) return fmt::format("not recorded beyond {} commands; --trace records it", kMaxCommandsInPath);
  const auto parts = critical_path(timeline).in_order();
  const double total = microseconds(timeline.iteration_times.back());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].value == 0) continue;
    texts.push_back(fmt::format("{} {:.2f} us ({:.1f} %)", kCriticalPathNames[i], microseconds(parts[i]),
                                100 * microseconds(parts[i]) / total));
  }
  return join(texts);
}

Json RunReport::json(const CheckedProgram& verified, const Run& run) const {
  const Program& program = verified.program();
  std::vector<double> times;
  for (const Nanoseconds time : run.timeline.iteration_times) times.push_back(microseconds(time));
  const auto& bandwidths = run.bandwidths;
  Json json{{"schema", "cortado.run"},
            {"version", 2},
            {"ok", !run.check || run.check->wrong == 0},
            {"program", program.name},
            {"machine", verified.machine().name},
            {"ranks", program.ranks},
            {"in_place", in_place_ ? Json(*in_place_) : Json()},
            {"where", run.timeline.where},
            {"simulated", run.predicted.has_value()},
            {"bytes", whole_buffer(program).value},
            {"iterations", run_.iterations},
            {"time_us", microseconds(run.time)},
            {"times_us", std::move(times)},
            {"algbw_GBps", bandwidths ? Json(bandwidths->algorithm) : Json()},
            {"busbw_GBps", bandwidths ? Json(bandwidths->bus) : Json()},
            {"bytes_moved", run.timeline.bytes_moved.value}};
  json.update(to_json_value(run.counts));
  if (run.predicted) add_predicted(run, json);
  if (run.check) {
    json["checked_bytes"] = run.check->checked;
    json["wrong"] = run.check->wrong;
    if (run.check->first_wrong) json["first_wrong"] = to_json_value(*run.check->first_wrong);
  }
  if (const auto trace = arguments_.find("--trace")) json["trace"] = *trace;
  if (const auto html = arguments_.find("--html")) json["html"] = *html;
  return json;
}

void RunReport::add_predicted(const Run& run, Json& json) const {
  Json path;  // null if it was not kept
  if (run_.trace) {
    const auto parts = critical_path(run.timeline).in_order();
    for (std::size_t i = 0; i < parts.size(); ++i) path[std::string(kCriticalPathNames[i])] = microseconds(parts[i]);
  }
  json["sharing"] = arguments_.text("--sharing");
  json["events"] = run.predicted->events;
  json["critical_path_us"] = std::move(path);
  report::add_energy(run.energy, json);
}

}  // namespace cortado::cli
