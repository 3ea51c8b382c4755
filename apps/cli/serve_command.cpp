// cortado serve-sim: a model behind a serving engine, under load.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"
#include "cortado/report.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "interrupt.hpp"
#include "serve/serve.hpp"
#include "study_progress.hpp"
#include "study_requests.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr Example kServeExamples[] = {
    {"cortado serve-sim --model llama-3.1-8b --requests 2000 --rate 20 --input 1024 --output 256",
     "how long users wait at 20 requests per second on one GPU"},
    {"cortado serve-sim --model llama-3.1-70b --tp 8 --dtype fp8 --kv-dtype fp8 --requests 1000 --rate inf --input 128 "
     "--output 512 --max-seqs 512",
     "the maximum token throughput of a node"},
    {"cortado serve-sim --model llama-3.1-8b --requests 200 --rate 4 --input 8192 --output 64 --turns 4 --think 20 "
     "--kv-tier host:500GB --compare loop,batch,b2b,recompute,hbm-only",
     "conversations that return after their KV cache was evicted: is it worth fetching it from host memory?"},
    {"cortado serve-sim --model llama-3.1-8b --prefill-only --requests 100 --input 8192 --hit-rate 0.5 --kv-tier "
     "host:500GB --compare loop,b2b",
     "prompts per second with half of each prompt in host memory"}};

Result<double> number_of(const Arguments& arguments, const char* flag, const char* hint) {
  const std::string text = arguments.text(flag);
  const auto value = parse_number<double>(text);
  if (value && *value >= 0 && *value <= 1e15) return *value;
  return fail("usage.number", fmt::format("{} {} is not a valid number", flag, text), hint);
}

Result<serve::Length> length_of(const Arguments& arguments, const char* flag) {
  const std::string text = arguments.text(flag);
  const auto colon = text.find(':');
  const auto least = parse_count(text.substr(0, colon));
  const auto most = colon == std::string::npos ? least : parse_count(text.substr(colon + 1));
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (least && most && *least <= kMost && *most <= kMost) {
    return serve::Length{static_cast<std::uint32_t>(*least), static_cast<std::uint32_t>(*most)};
  }
  return fail("usage.tokens", fmt::format("{} {} is not a number of tokens", flag, text),
              "use a number, or a range such as 512:2k");
}

Result<serve::Generated> generated_of(const Arguments& arguments) {
  serve::Generated generated;
  const bool prefill_only = arguments.given("--prefill-only");
  generated.requests = *arguments.number<std::uint64_t>("--requests");
  if (arguments.given("--closed-loop")) {
    generated.users = arguments.number("--closed-loop");
  } else if (!prefill_only && arguments.text("--rate") != "inf") {
    CORTADO_ASSIGN_OR_RETURN(generated.rate,
                             number_of(arguments, "--rate", "use requests per second, at most 1e15, or inf"));
  }
  CORTADO_ASSIGN_OR_RETURN(generated.input, length_of(arguments, "--input"));
  generated.output = {1, 1};
  if (!prefill_only) {
    CORTADO_ASSIGN_OR_RETURN(generated.output, length_of(arguments, "--output"));
  }
  CORTADO_ASSIGN_OR_RETURN(generated.hit_rate, number_of(arguments, "--hit-rate", "use a fraction from 0 to 1"));
  generated.turns = *arguments.number("--turns");
  CORTADO_ASSIGN_OR_RETURN(generated.think_seconds, number_of(arguments, "--think", "use seconds, at most 1e15"));
  generated.seed = *arguments.number<std::uint64_t>("--seed");
  return generated;
}

/// host:500GB
Result<std::optional<Bytes>> tier_of(const Arguments& arguments) {
  const auto text = arguments.find("--kv-tier");
  if (!text) return std::optional<Bytes>{};
  if (!text->starts_with("host:")) {
    return fail("serve.tier", fmt::format("--kv-tier {} is not a tier", *text), "use host:SIZE, such as host:500GB");
  }
  CORTADO_ASSIGN_OR_RETURN(const Bytes bytes, parse_bytes(text->substr(5)));
  return std::optional<Bytes>{bytes};
}

Result<std::optional<double>> limit_of(const Arguments& arguments, const char* flag) {
  if (!arguments.given(flag)) return std::optional<double>{};
  CORTADO_ASSIGN_OR_RETURN(const double ms, number_of(arguments, flag, "use milliseconds, at most 1e15"));
  return std::optional<double>{ms * 1e-3};
}

Result<Exit> run_serve(const Arguments& arguments, Console& console) {
  CORTADO_RETURN_IF_ERROR(arguments.check(serve_modes(arguments)));
  const TableOutput table(arguments);
  const std::string input = arguments.or_empty("--trace");
  const auto trace = arguments.find("--trace-out");
  std::vector<std::string> others{arguments.text("--machine"), arguments.or_empty("--model"), input};
  CORTADO_RETURN_IF_ERROR(table.check(others));
  for (const char* flag : {"--csv", "--html"}) others.push_back(arguments.or_empty(flag));
  if (trace) CORTADO_RETURN_IF_ERROR(check_output_path(*trace, others));
  CORTADO_ASSIGN_OR_RETURN(const serve::ServeRequest request, serve_request(arguments));
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, machine_of(arguments));
  tell_what_is_borrowed(machine, console);
  serve::ServeOptions options{.trace = trace.has_value()};
  options.progress = [&console](std::size_t done, std::size_t of) {
    console.progress(of > 0 ? fmt::format("{} of {} requests", done, of) : fmt::format("{} requests", done));
    return !interrupted();
  };
  const auto report = serve::ServingStudy(machine).run(request, options);
  if (!report) return study_failure(console, report.error());
  console.clear_progress();
  CORTADO_RETURN_IF_ERROR(table.show(console, serve::serve_document(*report)));
  if (trace) CORTADO_RETURN_IF_ERROR(write_file(*trace, report::perfetto_trace(*report->timeline, Program{})));
  if (report->timeline_cut) console.talk("the trace holds only the first 200000 steps and transfers of each replica");
  return Exit::ok;
}

}  // namespace

Result<serve::ServeRequest> serve_request(const Arguments& arguments) {
  serve::ServeRequest request;
  CORTADO_ASSIGN_OR_RETURN(const std::string name, arguments.required("--model"));
  CORTADO_ASSIGN_OR_RETURN(request.model, load_model(name));
  request.layout.tp = *arguments.number("--tp");
  request.layout.ep = *arguments.number("--ep");
  request.replicas = *arguments.number("--replicas");
  const std::string stored(to_string(usual_type(request.model.weights)));
  CORTADO_ASSIGN_OR_RETURN(request.dtype, parse_dtype(arguments.find("--dtype").value_or(stored)));
  CORTADO_ASSIGN_OR_RETURN(request.kv_dtype, parse_dtype(arguments.text("--kv-dtype")));
  request.limits = {.max_tokens = *arguments.number("--max-tokens"), .max_sequences = *arguments.number("--max-seqs")};
  request.page = *arguments.number("--block");
  CORTADO_ASSIGN_OR_RETURN(request.memory_share,
                           number_of(arguments, "--memory-share", "use a fraction of GPU memory, such as 0.9"));
  if (const auto trace = arguments.find("--trace")) {
    request.arrivals = *trace;
  } else {
    CORTADO_ASSIGN_OR_RETURN(request.arrivals, generated_of(arguments));
  }
  CORTADO_ASSIGN_OR_RETURN(request.host_tier, tier_of(arguments));
  request.shared_tier = arguments.given("--share-tier");
  request.ways = {request.host_tier ? arguments.text("--fetch") : serve::kHbmOnly};
  if (arguments.given("--fetch")) request.ways = {arguments.text("--fetch")};
  if (arguments.given("--compare")) request.ways = arguments.names("--compare");
  request.kv_layout = arguments.text("--layout");
  CORTADO_ASSIGN_OR_RETURN(request.slo_ttft, limit_of(arguments, "--slo-ttft"));
  CORTADO_ASSIGN_OR_RETURN(request.slo_tpot, limit_of(arguments, "--slo-tpot"));
  return request;
}

std::vector<std::string_view> serve_modes(const Arguments& arguments) {
  std::vector<std::string_view> modes;
  if (arguments.given("--kv-tier")) modes.push_back("tiered");
  if (!arguments.given("--compare")) modes.push_back("uncompared");
  if (arguments.given("--trace")) {
    modes.push_back("replay");
    return modes;
  }
  modes.push_back("generated");
  if (arguments.given("--prefill-only")) {
    modes.push_back("all at once");
  } else {
    modes.push_back("answers");
    modes.push_back(arguments.given("--closed-loop") ? "users" : "open");
  }
  if (*arguments.number("--turns") > 1) modes.push_back("turns");
  return modes;
}

constinit const Subcommand kServeCommand{"serve-sim", "Predict latency and throughput of a serving engine under load",
                                         kServeExamples, run_serve};

}  // namespace cortado::cli
