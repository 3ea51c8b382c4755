// cortado breakdown: where the time of one operation goes, size by size.
#include <functional>

#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/base/text.hpp"
#include "cortado/pipeline/breakdown.hpp"
#include "cortado/report/energy.hpp"
#include "cortado/sim/simulate.hpp"
#include "cortado/target/target.hpp"

#include "device_options.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "output_file.hpp"
#include "plan_options.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

using pipeline::CopyReport;
using pipeline::kCopyPhaseNames;

/// Of a measured copy; a trace keeps the last 16 iterations.
constexpr std::uint32_t kMeasuredIterations = 16;
constexpr std::uint32_t kWarmup = 5;

struct PhasesRow {
  Bytes bytes;
  CopyReport phases;

  double percent(std::size_t phase) const {
    return 100 * microseconds(phases.in_order()[phase]) / microseconds(phases.total());
  }
};

/// Gives the phases of one size, on a device or on the modelled machine.
struct Source {
  bool simulated = false;
  std::string where;
  std::function<Outcome<CopyReport>(Bytes)> phases;
};

class BreakdownCommand : public Subcommand {
 public:
  std::string_view name() const override { return "breakdown"; }
  std::string_view description() const override { return "Show where the time of one copy goes, size by size"; }
  std::vector<Example> examples() const override {
    return {{"cortado breakdown copy --bytes 1KiB:64MiB", "one copy between two GPUs of mi300x-8, predicted"},
            {"cortado breakdown copy --bytes 4KiB:1MiB --on soft", "the same, measured on the embedded node"},
            {"cortado breakdown copy --bytes 64KiB --machine mi250x-8 --json", "for a script"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("what", what_, "What to take apart: copy, from GPU 0 to GPU 1")->required()->type_name("");
    app.add_option("--bytes", sizes_, "FIRST:LAST (doubling), or sizes separated by commas")
        ->type_name("SIZES")
        ->capture_default_str();
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    place_.add_to(app);
    app.add_option("--csv", csv_, "Write the rows as CSV, too")->type_name("FILE");
    app.add_flag("--json", json_, "JSON instead of the table");
  }

  Result<Exit> run(Console& console) override {
    if (what_ != "copy") return fail("usage.what", fmt::format("'{}' cannot be taken apart", what_), "give copy");
    CORTADO_ASSIGN_OR_RETURN(const std::vector<Bytes> sizes, parse_sizes(sizes_));
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
    if (csv_) CORTADO_RETURN_IF_ERROR(check_output_path(*csv_, {machine_}));
    CORTADO_ASSIGN_OR_RETURN(const Source source, this->source(machine));

    watch_for_interrupt();
    std::vector<PhasesRow> rows;
    for (const Bytes bytes : sizes) {
      if (interrupted()) break;
      console.progress(fmt::format("{} of {}: {}", rows.size() + 1, sizes.size(), format_bytes(bytes)));
      const auto phases = source.phases(bytes);
      console.clear_progress();
      if (!phases) return console.failure(phases.error());
      rows.push_back({bytes, *phases});
    }
    console.out(json_ ? to_text(json(machine, source, rows, sizes.size())) : text(machine, source, rows));
    if (csv_) CORTADO_RETURN_IF_ERROR(write_file(*csv_, csv(rows)));
    if (rows.size() == sizes.size()) return Exit::ok;
    console.talk(fmt::format("interrupted: {} of {} rows are done", rows.size(), sizes.size()));
    return Exit::interrupted;
  }

 private:
  Result<Source> source(const Machine& machine) const {
    if (place_.simulated()) CORTADO_RETURN_IF_ERROR(place_.check_for_simulator());
    CORTADO_ASSIGN_OR_RETURN(const auto request, place_.request(2, machine));
    CORTADO_ASSIGN_OR_RETURN(auto opened, open_target(request, machine));
    const std::shared_ptr<Target> target = std::move(opened);
    RunOptions options{.device = place_.run_options()};
    if (!target->predicts()) {
      options.iterations = kMeasuredIterations;
      options.warmup = kWarmup;
    }
    return Source{
        target->predicts(), target->predicts() ? machine.name : target->where(),
        [&machine, target, options](Bytes bytes) { return pipeline::copy_phases(bytes, machine, *target, options); }};
  }

  static std::string text(const Machine& machine, const Source& source, const std::vector<PhasesRow>& rows) {
    std::string text = fmt::format("# one copy from GPU 0 to GPU 1 of {}, {} on {}\n", machine.name,
                                   source.simulated ? "simulated" : "measured", source.where);
    if (!source.simulated)
      text += fmt::format("# medians of {} iterations after {} warm-up\n", kMeasuredIterations, kWarmup);
    text +=
        "# control: packets, ring and doorbell by the host; schedule: until the engine starts; copy: start-up and "
        "bytes;\n"
        "# sync: last byte until the signal is visible\n";
    std::vector<std::string> header{"bytes", "total us"};
    for (const std::string_view phase : kCopyPhaseNames) {
      header.push_back(fmt::format("{} us", phase));
      header.emplace_back("%");
    }
    if (source.simulated) header.insert(header.end(), {"energy J", "power W"});
    TextTable table(std::move(header));
    for (const PhasesRow& row : rows) {
      std::vector<std::string> cells{fmt::format("{}", row.bytes.value),
                                     fmt::format("{:.3f}", microseconds(row.phases.total()))};
      for (std::size_t i = 0; i < kCopyPhaseNames.size(); ++i) {
        cells.push_back(fmt::format("{:.3f}", microseconds(row.phases.in_order()[i])));
        cells.push_back(fmt::format("{:.1f}", row.percent(i)));
      }
      if (source.simulated) {
        cells.insert(cells.end(), {report::joules_text(row.phases.energy), report::watts_text(row.phases.energy)});
      }
      table.add_row(std::move(cells));
    }
    return text + table.to_string();
  }

  static Json json(const Machine& machine, const Source& source, const std::vector<PhasesRow>& rows,
                   std::size_t asked) {
    Json document{{"schema", "cortado.breakdown"},
                  {"version", 1},
                  {"what", "copy"},
                  {"machine", machine.name},
                  {"node", source.where},
                  {"simulated", source.simulated},
                  {"interrupted", rows.size() < asked},
                  {"rows", Json::array()}};
    for (const PhasesRow& row : rows) {
      Json object{{"bytes", row.bytes.value}, {"total_us", microseconds(row.phases.total())}};
      for (std::size_t i = 0; i < kCopyPhaseNames.size(); ++i) {
        object[fmt::format("{}_us", kCopyPhaseNames[i])] = microseconds(row.phases.in_order()[i]);
        object[fmt::format("{}_pct", kCopyPhaseNames[i])] = row.percent(i);
      }
      document["rows"].push_back(report::with_energy(std::move(object), row.phases.energy));
    }
    return document;
  }

  static std::string csv(const std::vector<PhasesRow>& rows) {
    std::string text = "bytes,total_us";
    for (const std::string_view phase : kCopyPhaseNames) text += fmt::format(",{0}_us,{0}_pct", phase);
    text += "," + report::energy_csv_names() + "\n";
    for (const PhasesRow& row : rows) {
      text += fmt::format("{},{:.3f}", row.bytes.value, microseconds(row.phases.total()));
      for (std::size_t i = 0; i < kCopyPhaseNames.size(); ++i) {
        text += fmt::format(",{:.3f},{:.4f}", microseconds(row.phases.in_order()[i]), row.percent(i));
      }
      text += "," + report::energy_csv(row.phases.energy) + "\n";
    }
    return text;
  }

  std::string what_;
  std::string sizes_ = "1KiB:64MiB";
  std::string machine_ = kDefaultMachine;
  DeviceOptions place_{kSimulator};
  std::optional<std::string> csv_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_breakdown() {
  return std::make_unique<BreakdownCommand>();
}

}  // namespace cortado::cli
