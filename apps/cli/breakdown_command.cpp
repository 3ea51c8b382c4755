// cortado breakdown: where the time of one operation goes, size by size.
#include <functional>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/pipeline/breakdown.hpp"
#include "cortado/sim/simulate.hpp"
#include "cortado/target/target.hpp"

#include "device_options.hpp"
#include "interrupt.hpp"
#include "plan_options.hpp"
#include "subcommand.hpp"
#include "table_options.hpp"

namespace cortado::cli {
namespace {

using pipeline::CopyReport;

/// Of a measured copy; a trace keeps the last 16 iterations.
constexpr std::uint32_t kMeasuredIterations = 16;
constexpr std::uint32_t kWarmup = 5;

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
    table_.add_to(app, {.csv = true});
  }

  Result<Exit> run(Console& console) override {
    if (what_ != "copy") return fail("usage.what", fmt::format("'{}' cannot be taken apart", what_), "give copy");
    CORTADO_ASSIGN_OR_RETURN(const std::vector<Bytes> sizes, parse_sizes(sizes_));
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
    CORTADO_RETURN_IF_ERROR(table_.check({machine_}));
    CORTADO_ASSIGN_OR_RETURN(const Source source, this->source(machine));

    watch_for_interrupt();
    pipeline::Breakdown breakdown{
        machine.name, source.where, source.simulated, kWarmup, kMeasuredIterations, false, {}};
    for (const Bytes bytes : sizes) {
      if (interrupted()) break;
      console.progress(fmt::format("{} of {}: {}", breakdown.rows.size() + 1, sizes.size(), format_bytes(bytes)));
      const auto phases = source.phases(bytes);
      console.clear_progress();
      if (!phases) return console.failure(phases.error());
      breakdown.rows.push_back({bytes, *phases});
    }
    breakdown.interrupted = breakdown.rows.size() < sizes.size();
    CORTADO_RETURN_IF_ERROR(table_.show(console, pipeline::breakdown_document(breakdown)));
    if (!breakdown.interrupted) return Exit::ok;
    console.talk(fmt::format("interrupted: {} of {} rows are done", breakdown.rows.size(), sizes.size()));
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

  std::string what_;
  std::string sizes_ = "1KiB:64MiB";
  std::string machine_ = kDefaultMachine;
  DeviceOptions place_{kSimulator};
  TableOptions table_;
};

}  // namespace

std::unique_ptr<Subcommand> make_breakdown() {
  return std::make_unique<BreakdownCommand>();
}

}  // namespace cortado::cli
