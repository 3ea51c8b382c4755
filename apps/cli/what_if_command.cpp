// cortado what-if: a product and its collective on a machine as it is and with hardware that it has not got.
#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/pipeline/what_if.hpp"

#include "dependence_options.hpp"
#include "interrupt.hpp"
#include "number_option.hpp"
#include "plan_options.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

class WhatIfCommand : public Subcommand {
 public:
  std::string_view name() const override { return "what-if"; }
  std::string_view description() const override { return "Show what hardware that a machine has not got would give"; }
  std::vector<Example> examples() const override {
    return {
        {"cortado what-if --machine mi300x-8 --with tracker,nmc,mca --gemm 8192x8192x3584",
         "T3 on eight MI300X, for a product whose sum is scattered"},
        {"cortado what-if --machine h100-8 --with tracker,nmc --gemm 4096x12288x1536 --collective all-reduce --json",
         "another machine, with the all-gather behind, for a script"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("--machine", machine_, "Machine of today, by name or .toml file")
        ->type_name("NAME")
        ->capture_default_str();
    std::vector<std::string> features;
    for (const pipeline::FeatureInfo& feature : pipeline::list_features()) {
      features.push_back(fmt::format("{} ({})", feature.name, feature.summary));
    }
    app.add_option("--with", features_, "Features of tomorrow, separated by commas: " + join(features, "; "))
        ->type_name("NAMES")
        ->capture_default_str();
    app.add_option("--as", as_, "Machine whose features they are: entries, costs, thresholds")
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--gemm", gemm_,
                   "The product of every GPU, C = A B: rows of A x columns of B x columns of A; before an all-to-all M "
                   "are the rows "
                   "of all GPUs together")
        ->required()
        ->type_name("MxNxK");
    app.add_option("--dtype", dtype_, "Its element type: fp32, fp16, bf16, fp8")
        ->type_name("TYPE")
        ->capture_default_str();
    app.add_option("--collective", collective_,
                   "What takes the product away: reduce-scatter, all-reduce, all-to-all, all-gather")
        ->type_name("NAME")
        ->capture_default_str();
    add_number(app, "--ranks", ranks_, "GPUs that take part (default: all of the machine)", {.least = 2})
        ->type_name("N");
    app.add_flag("--json", json_, "JSON instead of the table");
  }

  Result<Exit> run(Console& console) override {
    CORTADO_ASSIGN_OR_RETURN(const DType dtype, parse_dtype(dtype_));
    CORTADO_ASSIGN_OR_RETURN(const GemmShape gemm, parse_shape(gemm_, dtype));
    CORTADO_ASSIGN_OR_RETURN(const Machine today, load_machine(machine_));
    CORTADO_ASSIGN_OR_RETURN(const pipeline::FusedRequest request,
                             fused_request(gemm, collective_, ranks_.value_or(today.gpus)));
    CORTADO_ASSIGN_OR_RETURN(const Machine as, load_machine(as_));
    pipeline::FusedOptions options;
    options.threads = available_cores();
    options.progress = [&console](std::size_t done, std::size_t of) {
      console.progress(fmt::format("{} of {}", done, of));
      return !interrupted();
    };
    watch_for_interrupt();
    const auto report = pipeline::what_if(request, today, split_names(features_), as, options);
    console.clear_progress();
    if (!report && interrupted()) {
      console.talk("interrupted before all was simulated: there is nothing to compare");
      return Exit::interrupted;
    }
    if (!report) return console.failure(report.error());
    console.out(json_ ? report::what_if_json(*report) : report::what_if_text(*report));
    return Exit::ok;
  }

 private:
  std::string machine_ = kDefaultMachine;
  std::string features_ = "tracker,nmc,mca";
  std::string as_ = "mi300x-8+t3";
  std::string gemm_;
  std::string dtype_ = "bf16";
  std::string collective_ = "reduce-scatter";
  std::optional<std::uint32_t> ranks_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_what_if() {
  return std::make_unique<WhatIfCommand>();
}

}  // namespace cortado::cli
