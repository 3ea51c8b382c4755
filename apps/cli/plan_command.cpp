// cortado plan: a collective, or a product with the collective that it depends on, in steps or with tracked stores, as
// a program file.
#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/machine/machine.hpp"

#include "ficco_options.hpp"
#include "output_file.hpp"
#include "plan_options.hpp"
#include "product_options.hpp"
#include "subcommand.hpp"
#include "t3_options.hpp"

namespace cortado::cli {
namespace {

class PlanCommand : public Subcommand {
 public:
  std::string_view name() const override { return "plan"; }
  std::string_view description() const override { return "Plan a collective and write it as a program file"; }
  std::vector<Example> examples() const override {
    return {{"cortado plan all-gather --variant bcst --prelaunch --bytes 1MiB --machine mi300x-8 -o ag.json",
             "all-gather with two-destination copies, queued ahead, for 8 GPUs"},
            {"cortado plan all-to-all --variant swap --bytes 64KiB | cortado verify -", "plan into a pipe"},
            {"cortado plan all-gather --variant auto --bytes 64KiB --prelaunch -o small.json",
             "the variant that the simulator finds fastest at this size"},
            {"cortado plan reduce-scatter --bytes 1MiB --ranks 4 --dtype bf16 -o rs.json",
             "DMA moves and reduction kernels"},
            {"cortado plan ficco --gemm 16384x2048x131072 --schedule hetero-fused-1d -o g1.json",
             "an all-gather and the product that needs it, cut into steps"},
            {"cortado plan ficco --gemm 4096x1024x2048 --collective all-to-all --tokens 3:1:1:1 --ranks 4 -o moe.json",
             "tokens for experts, one of which is three times as popular as the others"},
            {"cortado plan t3 --gemm 1024x512x128 --machine t3-ring-8 -o t3.json",
             "a product whose tracked stores go round a ring and are added up in memory"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("collective", collective_,
                   "Which one (cortado list collectives), or with a product ficco: in steps, t3: with tracked stores")
        ->required()
        ->type_name("");
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    options_.add_to(app);
    product_.add_to(app);
    ficco_.add_to(app);
    t3_.add_to(app);
    app.add_option("-o,--output", output_, "File to write; - is standard output")
        ->type_name("FILE")
        ->capture_default_str();
  }

  Result<Exit> run(Console& console) override {
    console.stage("planning");
    if (collective_ != kT3) CORTADO_RETURN_IF_ERROR(check_none_given(t3_.options(), "cortado plan t3"));
    if (collective_ == kFicco) return run_ficco(console);
    CORTADO_RETURN_IF_ERROR(check_none_given(ficco_.options(), "cortado plan ficco"));
    if (collective_ == kT3) return run_t3(console);
    CORTADO_RETURN_IF_ERROR(check_none_given(product_.options(), "cortado plan ficco and cortado plan t3"));
    CORTADO_ASSIGN_OR_RETURN(CollectiveRequest request, options_.request(collective_));
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, open_machine());
    CORTADO_ASSIGN_OR_RETURN(request, options_.settled(request, machine, console));
    CORTADO_ASSIGN_OR_RETURN(const Program program, plan_collective(request, machine));
    return write(program, describe(request, program), console);
  }

 private:
  static constexpr const char* kFicco = "ficco";
  static constexpr const char* kT3 = "t3";

  /// Ranks and dtype; nothing else of a collective alone may be given.
  Result<CollectiveRequest> common_request() const {
    if (const std::string flag = options_.first_given({"--ranks", "--dtype"}); !flag.empty()) {
      return fail("usage.option", fmt::format("{} is for a collective alone", flag), "leave it out");
    }
    return options_.CollectiveOptions::request({});
  }

  static Status check_none_given(const std::vector<const CLI::Option*>& options, const char* whose) {
    const std::string flag = first_given(options);
    if (flag.empty()) return {};
    return fail("usage.option", fmt::format("{} is for {}", flag, whose), "leave it out");
  }

  Result<Exit> run_t3(Console& console) {
    CORTADO_ASSIGN_OR_RETURN(const CollectiveRequest common, common_request());
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, open_machine());
    CORTADO_ASSIGN_OR_RETURN(const GemmShape gemm, product_.gemm(options_.has_dtype() ? common.dtype : DType::f16));
    CORTADO_ASSIGN_OR_RETURN(const T3Request request,
                             t3_.request(gemm, product_.collective("reduce-scatter"), common.ranks));
    CORTADO_ASSIGN_OR_RETURN(const T3Plan plan, plan_t3(request, machine));
    return write(plan.program,
                 fmt::format("{} on {} ranks of {}, chunks: {} of {}, pieces of a chunk: {}, {} of memory",
                             plan.program.name, plan.program.ranks, machine.name, plan.chunks, name_of(plan.axis),
                             plan.pieces, format_bytes(plan.footprint)),
                 console);
  }

  Result<Exit> run_ficco(Console& console) {
    CORTADO_ASSIGN_OR_RETURN(const CollectiveRequest common, common_request());
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, open_machine());
    CORTADO_ASSIGN_OR_RETURN(const GemmShape gemm, product_.gemm(options_.has_dtype() ? common.dtype : DType::bf16));
    CORTADO_ASSIGN_OR_RETURN(
        const DependentRequest request,
        ficco_.request(gemm, product_.collective("all-gather"), common.ranks == 0 ? machine.gpus : common.ranks));
    CORTADO_ASSIGN_OR_RETURN(const FiccoSchedule schedule, ficco_.schedule(request, machine, console));
    CORTADO_ASSIGN_OR_RETURN(const FiccoPlan plan, plan_ficco(request, schedule, machine));
    return write(plan.program,
                 fmt::format("{} on {} ranks of {}, {} of memory", plan.program.name, plan.program.ranks, machine.name,
                             format_bytes(plan.footprint)),
                 console);
  }

  Result<Machine> open_machine() const {
    CORTADO_ASSIGN_OR_RETURN(Machine machine, load_machine(machine_));
    if (output_ != "-") CORTADO_RETURN_IF_ERROR(check_output_path(output_, {machine_}));
    return machine;
  }

  Result<Exit> write(const Program& program, const std::string& description, Console& console) const {
    const std::string summary = description + ": " + describe_counts(program);
    if (output_ == "-") {
      console.out(to_json(program));
      console.talk(summary);
    } else {
      CORTADO_RETURN_IF_ERROR(write_file(output_, to_json(program)));
      console.talk(fmt::format("{}; wrote {}", summary, output_));
    }
    return Exit::ok;
  }

  std::string collective_;
  std::string machine_ = kDefaultMachine;
  PlanOptions options_;
  ProductOptions product_;
  FiccoOptions ficco_;
  T3Options t3_;
  std::string output_ = "-";
};

}  // namespace

std::unique_ptr<Subcommand> make_plan() {
  return std::make_unique<PlanCommand>();
}

}  // namespace cortado::cli
