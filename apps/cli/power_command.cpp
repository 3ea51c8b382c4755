// cortado power: what a product and a collective draw, alone and at once, under policies of power management.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/pipeline/power.hpp"
#include "cortado/plan/choose.hpp"

#include "auto_options.hpp"
#include "dependence_options.hpp"
#include "interrupt.hpp"
#include "number_option.hpp"
#include "plan_options.hpp"
#include "product_options.hpp"
#include "subcommand.hpp"
#include "table_options.hpp"

namespace cortado::cli {
namespace {

constexpr std::string_view kNoCap = "none";

class PowerCommand : public Subcommand {
 public:
  std::string_view name() const override { return "power"; }
  std::string_view description() const override {
    return "Tell what a product and a collective draw, alone and at once, under power policies";
  }
  std::vector<Example> examples() const override {
    return {
        {"cortado power --gemm 4096x4096x8192 --collective all-gather --bytes 64MiB --policy all",
         "watts by component, time and energy of each alone and of both, by every policy"},
        {"cortado power --collective all-gather --bytes 64MiB --variant pcpy --policy none --html power.html",
         "an all-gather by DMA engines; power over time as a picture"},
        {"cortado power --gemm 4096x4096x8192 --policy uniform-cap,component-shift --cap 600 --limit 500 --json",
         "a product on boards with other caps, for a script"},
        {"cortado power --gemm 4096x4096x8192 --cap none", "clocks as the machine file has them, whatever that draws"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("--gemm", gemm_, "A product on every GPU, C = A B: rows of A x columns of B x columns of A")
        ->type_name("MxNxK");
    app.add_option("--dtype", dtype_, "Its element type: fp32, fp16, bf16, fp8")
        ->type_name("TYPE")
        ->capture_default_str();
    collective_option_ =
        app.add_option("--collective", collective_, "A collective (cortado list collectives)")->type_name("NAME");
    of_collective_ = {
        app.add_option("--bytes", bytes_, "Size of its whole buffer, as nccl-tests count it: 64KiB, 256MiB")
            ->type_name("SIZE"),
        app.add_option("--variant", variant_,
                       "How it is done: pcpy, bcst, cores-simple, ... (cortado list variants), or cores: on compute "
                       "units as a library does it")
            ->type_name("NAME")
            ->capture_default_str(),
        app.add_flag("--prelaunch", prelaunch_, "Its queues are submitted first and start on a trigger"),
        app.add_flag("--leave-own-block", leave_own_block_, "all-to-all: a rank's block for itself stays where it is")};
    app.add_option("--policy", policies_,
                   "Power policies separated by commas (cortado list power-policies), or all; none comes first always: "
                   "the others are compared with it")
        ->type_name("NAMES")
        ->capture_default_str();
    app.add_option("--cap", cap_,
                   "Watts that a board may draw (default: the machine's), or none: clocks are not managed")
        ->type_name("W");
    app.add_option("--limit", limit_, "uniform-cap: watts that a GPU may draw (default: 80 % of the cap)")
        ->type_name("W");
    app.add_option(
           "--components", components_,
           "component-cap, component-shift: whose clocks may be moved, of xcd, iod and hbm, separated by commas "
           "(default: xcd for component-cap, as software can today; all for component-shift)")
        ->type_name("NAMES");
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    add_number(app, "--ranks", ranks_, "GPUs that take part (default: all of the machine)", {.least = 1})
        ->type_name("N");
    add_number(app, "--threads", threads_, "Simulations at the same time (default: one a core)", {.least = 1})
        ->type_name("N");
    table_.add_to(app, {.html = true});
  }

  Result<Exit> run(Console& console) override {
    if (threads_ == 0U) return fail("usage.threads", "--threads 0 simulates nothing", "give 1 or more");
    CORTADO_RETURN_IF_ERROR(table_.check({machine_}));
    CORTADO_ASSIGN_OR_RETURN(const pipeline::PowerRequest request, this->request());
    CORTADO_ASSIGN_OR_RETURN(pipeline::PowerOptions options, this->options());
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
    options.threads = threads_.value_or(available_cores());
    options.progress = [&console](std::size_t done, std::size_t of) {
      console.progress(fmt::format("{} of {}", done, of));
      return !interrupted();
    };
    watch_for_interrupt();
    const auto report = pipeline::study_power(request, machine, options);
    console.clear_progress();
    if (!report && interrupted()) {
      console.talk("interrupted before all was simulated: there is nothing to compare");
      return Exit::interrupted;
    }
    if (!report) return console.failure(report.error());
    CORTADO_RETURN_IF_ERROR(table_.show(console, report::power_document(*report)));
    return Exit::ok;
  }

 private:
  Result<pipeline::PowerRequest> request() const {
    if (ranks_ && *ranks_ == 0) {
      return fail("usage.ranks", "0 ranks asked for", "give --ranks 1 or more, or leave it out");
    }
    pipeline::PowerRequest request;
    request.ranks = ranks_.value_or(0);
    if (gemm_) {
      CORTADO_ASSIGN_OR_RETURN(const DType dtype, parse_dtype(dtype_));
      CORTADO_ASSIGN_OR_RETURN(request.gemm, parse_shape(*gemm_, dtype));
    }
    if (collective_option_->count() > 0) {
      CORTADO_ASSIGN_OR_RETURN(request.collective, collective());
    } else if (const std::string given = first_given(of_collective_); !given.empty()) {
      return fail("usage.option", fmt::format("{} describes a collective, but there is none", given),
                  "give --collective NAME, or leave it out");
    }
    if (!request.gemm && !request.collective) {
      return fail("usage.power", "power of what?", "give --gemm MxNxK, --collective NAME --bytes SIZE, or both");
    }
    return request;
  }

  Result<CollectiveRequest> collective() const {
    if (bytes_.empty()) {
      return fail("usage.size", "--bytes is missing: how much the collective moves",
                  "give the size of its whole buffer: --bytes 64MiB");
    }
    CollectiveRequest request;
    CORTADO_ASSIGN_OR_RETURN(request.collective, find_collective(collective_));
    CORTADO_ASSIGN_OR_RETURN(request.bytes, parse_bytes(bytes_));
    request.variant = variant_;
    request.prelaunch = prelaunch_;
    request.ranks = ranks_.value_or(0);
    request.in_place = default_in_place(request.collective, variant_);
    request.own_block = !leave_own_block_;
    return request;
  }

  Result<pipeline::PowerOptions> options() const {
    pipeline::PowerOptions options;
    options.over_time = table_.wants_html();
    if (policies_ != pipeline::kAllPowerPolicies) {
      CORTADO_ASSIGN_OR_RETURN(options.policies, sim::parse_power_policies(split_names(policies_)));
    }
    options.managed = cap_ != kNoCap;
    if (cap_ && options.managed) {
      CORTADO_ASSIGN_OR_RETURN(options.cap_w, watts("--cap", *cap_));
    }
    if (limit_) {
      CORTADO_ASSIGN_OR_RETURN(options.limit_w, watts("--limit", *limit_));
    }
    if (components_) {
      CORTADO_ASSIGN_OR_RETURN(options.components, components(*components_));
    }
    return options;
  }

  static Result<std::vector<Component>> components(const std::string& names) {
    std::vector<Component> components;
    for (const std::string& name : split_names(names)) {
      const auto known = std::ranges::find(kComponentNames, name);
      if (known == kComponentNames.end()) {
        return fail("usage.component", fmt::format("there is no component {}", name), "name some of xcd, iod and hbm");
      }
      components.push_back(kComponents[static_cast<std::size_t>(known - kComponentNames.begin())]);
    }
    return components;
  }

  static Result<double> watts(const char* option, const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && std::isfinite(value)) return value;
    return fail("usage.watts", fmt::format("{} {} is no number of watts", option, text),
                fmt::format("give for example {} 600", option));
  }

  std::optional<std::string> gemm_;
  std::string dtype_ = "bf16";
  std::string collective_;
  std::string bytes_;
  std::string variant_ = kCoresVariants;
  bool prelaunch_ = false;
  bool leave_own_block_ = false;
  const CLI::Option* collective_option_ = nullptr;
  std::vector<const CLI::Option*> of_collective_;
  std::string policies_ = pipeline::kAllPowerPolicies;
  std::optional<std::string> cap_;
  std::optional<std::string> limit_;
  std::optional<std::string> components_;
  std::string machine_ = kDefaultMachine;
  std::optional<std::uint32_t> ranks_;
  std::optional<std::uint32_t> threads_;
  TableOptions table_;
};

}  // namespace

std::unique_ptr<Subcommand> make_power() {
  return std::make_unique<PowerCommand>();
}

}  // namespace cortado::cli
