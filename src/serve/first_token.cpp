#include "serve/first_token.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "serve/serve.hpp"

namespace cortado::serve {
namespace {

ServeRequest engine_of(const pipeline::KvStudyRequest& asked) {
  ServeRequest request{.model = asked.model,
                       .layout = {.tp = asked.blocks.tp},
                       .dtype = asked.dtype,
                       .kv_dtype = asked.blocks.dtype,
                       .page = static_cast<std::uint32_t>(asked.blocks.tokens),
                       .kv_layout = asked.blocks.layout};
  request.limits = {.max_tokens = static_cast<std::uint32_t>(asked.step_tokens), .max_sequences = 1};
  return request;
}

/// One request for the token after a prefix, with one of the ways of fetching, or none. Capacity of host memory is not
/// the question here.
ServeRequest lone_request(const pipeline::KvStudyRequest& asked, std::uint64_t tokens, const std::string& way) {
  const bool fetch = way != kRecompute;
  ServeRequest request = engine_of(asked);
  const auto prompt = static_cast<std::uint32_t>(tokens + 1);
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
  ServingStudy study(machine);
  // Even for a model that leaves no room for a KV cache, the times of steps and of a fetch can be reported.
  const auto alone = [&](std::uint64_t tokens, const std::string& way) -> std::optional<double> {
    const auto served = study.run(lone_request(request, tokens, way));
    if (!served || served->rows.front().tally.finished != 1) return std::nullopt;
    return served->rows.front().ttft.mean;
  };
  const ServeRequest engine = engine_of(request);
  const StepCosts* costs = nullptr;
  const auto step = [&](std::uint64_t tokens, std::uint64_t context, bool last) -> Outcome<Nanoseconds> {
    if (costs == nullptr) {
      const auto found = study.steps(engine, request.tokens + 1);
      if (!found) return fail(found.error());
      costs = *found;
    }
    const Chunk chunk{static_cast<std::uint32_t>(tokens), static_cast<std::uint32_t>(context)};
    return Nanoseconds{std::llround(1e9 * costs->step(0, 0, {chunk}, last ? 1 : 0))};
  };
  const auto by_layers = [&](const std::string& way, std::uint64_t tokens) { return alone(tokens, way); };
  auto report = pipeline::study_kv(request, machine, {step, by_layers}, threads);
  if (report) report->room = alone(request.tokens, kRecompute).has_value();
  return report;
}

}  // namespace cortado::serve
