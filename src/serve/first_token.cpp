#include "serve/first_token.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "serve/serve.hpp"

namespace cortado::serve {
namespace {

/// One request, with one of the ways of fetching, or none. Capacity of host memory is not the question here.
ServeRequest lone_request(const pipeline::KvStudyRequest& asked, const std::string& way) {
  const bool fetch = way != kRecompute;
  ServeRequest request{.model = asked.model,
                       .layout = {.tp = asked.blocks.tp},
                       .dtype = asked.dtype,
                       .kv_dtype = asked.blocks.dtype,
                       .page = static_cast<std::uint32_t>(asked.blocks.tokens),
                       .kv_layout = asked.blocks.layout};
  request.limits = {.max_tokens = static_cast<std::uint32_t>(asked.step_tokens), .max_sequences = 1};
  const auto prompt = static_cast<std::uint32_t>(asked.tokens + 1);
  request.model.context = std::max<std::uint64_t>(request.model.context, std::uint64_t{prompt} + 1);
  request.arrivals =
      Generated{.requests = 1, .input = {prompt, prompt}, .output = {1, 1}, .hit_rate = fetch ? 1.0 : 0.0};
  constexpr Bytes kPlenty{std::uint64_t{1} << 50};
  if (fetch) request.host_tier = kPlenty;
  request.ways = {way};
  return request;
}

}  // namespace

Outcome<pipeline::KvReport> study_kv_request(const pipeline::KvStudyRequest& request, const Machine& machine,
                                             std::uint32_t threads) {
  auto report = pipeline::study_kv(request, machine, threads);
  if (!report) return report;
  ServingStudy engine(machine);
  // Even for a model that leaves no room for a KV cache, the time of a fetch can be reported.
  const auto first_token = [&](const std::string& way) -> std::optional<double> {
    const auto served = engine.run(lone_request(request, way));
    if (!served || served->rows.front().tally.finished != 1) return std::nullopt;
    return served->rows.front().ttft.mean;
  };
  report->recompute_ttft_seconds = first_token(kRecompute);
  if (report->recompute_ttft_seconds) {
    const double seconds = *report->recompute_ttft_seconds - report->scheduling_seconds;
    report->kappa *= seconds / report->recompute_seconds;
    report->recompute_seconds = seconds;
    const ServeRequest alone = lone_request(request, kRecompute);
    const auto loose = static_cast<std::uint32_t>(request.loose_tokens());
    const auto tokens = static_cast<std::uint32_t>(request.tokens);
    if (const auto pass = engine.step_seconds(alone, {loose + 1, tokens - loose})) report->pass_seconds = *pass;
    if (const auto token = engine.step_seconds(alone, {1, tokens})) report->token_seconds = *token;
  }
  if (report->rows.empty()) return report;
  report->fetch_ttft_seconds = first_token(report->rows[report->best].strategy);
  if (!report->recompute_ttft_seconds || !report->fetch_ttft_seconds) return report;
  // The engine reads fetches of few blocks from lines; here they were simulated. Layers that are computed while others
  // arrive make a real difference.
  if (!report->rows[report->best].first_layer_seconds) report->fetch_ttft_seconds = report->fetch_sum_seconds();
  // The engine's steps are read from a table: what is said of both times must agree with them.
  report->fetch = *report->fetch_ttft_seconds < *report->recompute_ttft_seconds;
  if (!report->fetch) report->break_even_tokens.reset();
  return report;
}

}  // namespace cortado::serve
