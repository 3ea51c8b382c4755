// cortado overlap: a product and an independent collective at the same time, by every policy.
#include <charconv>

#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/base/file.hpp"
#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/pipeline/overlap.hpp"
#include "cortado/pipeline/simulate.hpp"
#include "cortado/report/trace.hpp"

#include "auto_options.hpp"
#include "device_options.hpp"
#include "interrupt.hpp"
#include "output_file.hpp"
#include "plan_options.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

/// "MxNxK". Whether a machine can do it is not asked here.
Result<GemmShape> parse_shape(const std::string& text, DType dtype) {
  GemmShape shape;
  shape.dtype = dtype;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint64_t* extent : {&shape.m, &shape.n, &shape.k}) {
    const auto [next, error] = std::from_chars(at, end, *extent);
    const bool last = extent == &shape.k;
    if (error == std::errc() && (last ? next == end : next != end && (*next == 'x' || *next == 'X'))) {
      at = next + 1;
      continue;
    }
    return fail("usage.gemm", fmt::format("--gemm {} is not a product", text),
                "give MxNxK: A is M x K, B is K x N, for example --gemm 8192x57344x8192");
  }
  return shape;
}

class Overlap : public Subcommand {
 public:
  std::string_view name() const override { return "overlap"; }
  std::string_view description() const override {
    return "Compare ways to run a product and an independent collective at the same time";
  }
  std::vector<Example> examples() const override {
    return {
        {"cortado overlap --gemm 8192x57344x8192 --dtype bf16 --collective all-gather --bytes 896MiB --independent",
         "every policy on eight MI300X, predicted, and which to use"},
        {"cortado overlap --gemm 64x8192x28672 --collective all-to-all --bytes 64MiB --independent --policy "
         "c3-sp,conccl-rp --json",
         "two policies, for a script"},
        {"cortado overlap --gemm 256x256x256 --dtype fp32 --collective all-gather --bytes 1MiB --independent --on "
         "soft --ranks 4",
         "really run, with every byte and every product checked"},
        {"cortado overlap --gemm 4096x4096x4096 --collective all-gather --bytes 64MiB --independent --policy conccl "
         "-o conccl.json --trace t.json",
         "the program, for cortado verify and run, and its predicted trace"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("--gemm", gemm_, "The product of every GPU, C = A B: rows of A x columns of B x columns of A")
        ->required()
        ->type_name("MxNxK");
    app.add_option("--dtype", dtype_, "Its element type: fp32, fp16, bf16, fp8")
        ->type_name("TYPE")
        ->capture_default_str();
    app.add_option("--collective", collective_, "Which one (cortado list collectives)")->required()->type_name("NAME");
    app.add_option("--bytes", bytes_, "Size of its whole buffer, as nccl-tests count it: 64KiB, 896MiB")
        ->required()
        ->type_name("SIZE");
    app.add_flag("--independent", independent_,
                 "Neither needs what the other makes; required, as nothing else is known yet");
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    app.add_option("--ranks", ranks_, "GPUs that take part (default: all of the machine)")->type_name("N");
    app.add_flag("--leave-own-block", leave_own_block_, "all-to-all: a rank's block for itself stays where it is");
    app.add_option("--policy", policies_, "Policies separated by commas (cortado list policies), or all")
        ->type_name("NAMES")
        ->capture_default_str();
    app.add_option("--cus-gemm", options_.gemm_units, "Compute units of the product, whatever the policy says")
        ->type_name("N");
    app.add_option("--cus-comm", options_.comm_units,
                   "Compute units of a collective that runs on them, whatever the policy says")
        ->type_name("N");
    place_.add_to(app);
    iterations_option_ =
        app.add_option("--iters,--iterations", iterations_, "Measured iterations of each policy, in three rounds")
            ->type_name("N")
            ->capture_default_str();
    app.add_option("--trace", trace_, "Write a Perfetto trace of the policy to use")->type_name("FILE");
    app.add_option("-o,--output", output_, "Write the program of the policy to use")->type_name("FILE");
    app.add_flag("--json", json_, "JSON instead of the table");
  }

  Result<Exit> run(Console& console) override {
    CORTADO_ASSIGN_OR_RETURN(const OverlapRequest request, this->request());
    if (trace_) CORTADO_RETURN_IF_ERROR(check_output_path(*trace_, {machine_, output_.value_or("")}));
    if (output_) CORTADO_RETURN_IF_ERROR(check_output_path(*output_, {machine_}));
    if (iterations_ == 0) return fail("usage.iters", "--iters 0 measures nothing", "give 1 or more");
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
    if (policies_ != kAllPolicies) options_.policies = split_names(policies_);
    options_.threads = available_cores();
    options_.progress = [&console](std::size_t done, std::size_t of) {
      console.progress(fmt::format("{} of {}", done, of));
      return !interrupted();
    };
    std::unique_ptr<device::Driver> driver;
    if (place_.simulated()) {
      CORTADO_RETURN_IF_ERROR(place_.check_for_simulator());
      if (iterations_option_->count() > 0) {
        return fail("usage.option", "--iters is for devices: a simulated run is the same every time", "leave it out");
      }
    } else {
      const std::uint32_t gpus = request.collective.ranks == 0 ? machine.gpus : request.collective.ranks;
      CORTADO_ASSIGN_OR_RETURN(const auto device, place_.request(gpus, machine));
      CORTADO_ASSIGN_OR_RETURN(driver, pipeline::open_device(device, machine));
    }
    watch_for_interrupt();
    const auto report = driver ? pipeline::run_overlap(request, machine, *driver, settings(), options_)
                               : pipeline::simulate_overlap(request, machine, options_);
    console.clear_progress();
    if (!report && interrupted()) return Exit::interrupted;
    if (!report) return console.failure(report.error());
    console.out(json_ ? report::overlap_json(*report) : report::overlap_text(*report));
    if (trace_ || output_) {
      const auto written = write_program(*report, machine, driver.get());
      if (!written) return console.failure(written.error());
    }
    for (const report::OverlapRow& row : report->rows) {
      if (row.wrong.value_or(0) > 0) return Exit::failed;
    }
    return Exit::ok;
  }

 private:
  static constexpr std::uint32_t kWarmup = 2;

  Result<OverlapRequest> request() const {
    CORTADO_ASSIGN_OR_RETURN(const DType dtype, parse_dtype(dtype_));
    OverlapRequest request;
    CORTADO_ASSIGN_OR_RETURN(request.gemm, parse_shape(gemm_, dtype));
    request.collective.collective = collective_;
    CORTADO_ASSIGN_OR_RETURN(request.collective.bytes, parse_bytes(bytes_));
    if (ranks_ && *ranks_ == 0) {
      return fail("usage.ranks", "0 ranks asked for", "give --ranks 2 or more, or leave it out");
    }
    request.collective.ranks = ranks_.value_or(0);
    request.collective.in_place = default_in_place(collective_, request.collective.variant);
    request.collective.own_block = !leave_own_block_;
    if (!independent_) {
      return fail("usage.independent", "a collective that waits for the product, or feeds it, cannot be planned yet",
                  "give --independent if neither needs what the other makes");
    }
    return request;
  }

  pipeline::RunSettings settings() const {
    pipeline::RunSettings settings;
    settings.run = place_.run_options();
    settings.run.iterations = iterations_;
    settings.run.check = device::CheckOutputs::last;
    settings.warmup = kWarmup;
    return settings;
  }

  /// The program of the choice, and its trace, predicted or measured.
  pipeline::Outcome<void> write_program(const pipeline::OverlapReport& report, const Machine& machine,
                                        device::Driver* driver) const {
    using pipeline::fail_at;
    using pipeline::Stage;
    auto program = plan_overlap(report.request, report.chosen(), machine);
    if (!program) return fail_at(Stage::plan, program.error());
    if (output_) {
      if (const Status written = write_file(*output_, to_json(*program)); !written) {
        return fail_at(Stage::prepare, written.error());
      }
    }
    if (!trace_) return {};
    const auto trace = driver != nullptr ? measured_trace(*std::move(program), machine, *driver)
                                         : predicted_trace(*std::move(program), machine);
    if (!trace) return tl::unexpected(trace.error());
    if (const Status written = write_file(*trace_, *trace); !written) return fail_at(Stage::prepare, written.error());
    return {};
  }

  static pipeline::Outcome<std::string> predicted_trace(Program program, const Machine& machine) {
    sim::SimulateOptions options;
    options.trace = true;
    const auto simulated = pipeline::simulate_program(std::move(program), machine, options);
    if (!simulated) return tl::unexpected(simulated.error());
    return report::perfetto_trace(simulated->simulated.timeline, simulated->program.program());
  }

  pipeline::Outcome<std::string> measured_trace(Program program, const Machine& machine, device::Driver& driver) const {
    pipeline::RunSettings traced = settings();
    traced.prepare.trace = true;
    const auto run = pipeline::run_program(std::move(program), machine, driver, traced);
    if (!run) return tl::unexpected(run.error());
    return report::perfetto_trace(run->result.timeline, run->program.program());
  }

  std::string gemm_;
  std::string dtype_ = "bf16";
  std::string collective_;
  std::string bytes_;
  bool independent_ = false;
  bool leave_own_block_ = false;
  std::string machine_ = kDefaultMachine;
  std::optional<std::uint32_t> ranks_;
  std::string policies_ = kAllPolicies;
  DeviceOptions place_{Places::devices_and_simulator, pipeline::kSimulator.name};
  const CLI::Option* iterations_option_ = nullptr;
  std::uint32_t iterations_ = 10;
  std::optional<std::string> trace_;
  std::optional<std::string> output_;
  bool json_ = false;
  pipeline::OverlapOptions options_;
};

}  // namespace

std::unique_ptr<Subcommand> make_overlap() {
  return std::make_unique<Overlap>();
}

}  // namespace cortado::cli
