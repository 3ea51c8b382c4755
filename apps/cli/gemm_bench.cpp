// cortado bench gemm: times of GEMMs alone.
#include "pipeline/gemm_bench.hpp"

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/target.hpp"

#include "command.hpp"
#include "device/soft/soft.hpp"
#include "gemm/gemm.hpp"
#include "pipeline/bench.hpp"
#include "software_products.hpp"
#include "study_progress.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr std::string_view kDtypeOfGemms = "bf16";

}  // namespace

Result<Exit> bench_gemm(const Arguments& arguments, Console& console) {
  if (!arguments.given("--shapes")) {
    return fail("usage.shapes", "no GEMM shapes given", "pass --shapes 4096x4096x4096 or --shapes FILE.csv");
  }
  const TableOutput table(arguments);
  const std::string on = arguments.find("--on").value_or(std::string(kSimulator));
  pipeline::GemmDefaults defaults;
  CORTADO_ASSIGN_OR_RETURN(defaults.dtype, parse_dtype(arguments.find("--dtype").value_or(std::string(kDtypeOfGemms))));
  if (on != kSimulator) defaults.result = defaults.dtype;  // programs have one type
  if (const auto result = arguments.find("--out-dtype")) {
    CORTADO_ASSIGN_OR_RETURN(defaults.result, parse_dtype(*result));
  }
  defaults.batch = arguments.number("--batch").value_or(1);
  defaults.scale_block = arguments.number("--scale-block").value_or(0);
  CORTADO_ASSIGN_OR_RETURN(const auto shapes, pipeline::parse_gemm_shapes(arguments.text("--shapes"), defaults));
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, machine_of(arguments));
  CORTADO_RETURN_IF_ERROR(table.check({arguments.text("--machine"), arguments.text("--shapes")}));
  const std::uint32_t units = arguments.number("--cus").value_or(0);
  if (on == kSimulator) {
    tell_what_is_borrowed(machine, console);
    CORTADO_ASSIGN_OR_RETURN(const auto report, pipeline::predict_gemms(shapes, machine, units));
    CORTADO_RETURN_IF_ERROR(table.show(console, pipeline::gemm_bench_document(report)));
    return Exit::ok;
  }
  CORTADO_ASSIGN_OR_RETURN(const auto request, target_request(arguments, on, 1, machine));
  CORTADO_ASSIGN_OR_RETURN(const auto target, open_target(request, machine));
  const RunOptions options{.iterations = arguments.number("--iters").value_or(pipeline::BenchRequest{}.iterations),
                           .warmup = *arguments.number("--warmup"),
                           .device = device_run_options(arguments)};
  if (on == "soft") {
    double all = 0;
    for (const GemmShape& shape : shapes) all += flops(shape) * (options.iterations + options.warmup);
    const auto rate = [&](DType dtype) { return device::soft_gemm_rate(dtype, request.soft); };
    const auto warning = software_products_warning(all, defaults.dtype, options.iterations > 1, rate);
    if (warning) console.talk(*warning);
  }
  console.stage("measuring");
  const auto report = pipeline::measure_gemms(shapes, machine, units, *target, options);
  if (!report) return console.failure(report.error());
  CORTADO_RETURN_IF_ERROR(table.show(console, pipeline::gemm_bench_document(*report)));
  return Exit::ok;
}

}  // namespace cortado::cli
