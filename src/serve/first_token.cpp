#include "serve/first_token.hpp"

#include <algorithm>

#include "serve/serve.hpp"

namespace cortado::serve {
namespace {

/// One request, with the way that the study chose. Capacity of host memory is not the question here.
ServeRequest lone_request(const pipeline::KvReport& report) {
  const pipeline::KvStudyRequest& asked = report.request;
  ServeRequest request{.model = asked.model,
                       .layout = {.tp = asked.blocks.tp},
                       .dtype = asked.dtype,
                       .kv_dtype = asked.blocks.dtype,
                       .page = static_cast<std::uint32_t>(asked.blocks.tokens),
                       .kv_layout = asked.blocks.layout};
  request.limits.max_sequences = 1;
  const auto prompt = static_cast<std::uint32_t>(asked.tokens + 1);
  request.model.context = std::max<std::uint64_t>(request.model.context, std::uint64_t{prompt} + 1);
  request.arrivals =
      Generated{.requests = 1, .input = {prompt, prompt}, .output = {1, 1}, .hit_rate = report.fetch ? 1.0 : 0.0};
  constexpr Bytes kPlenty{std::uint64_t{1} << 50};
  if (report.fetch) request.host_tier = kPlenty;
  request.ways = {report.fetch ? report.choice() : kRecompute};
  return request;
}

}  // namespace

Outcome<pipeline::KvReport> study_kv_request(const pipeline::KvStudyRequest& request, const Machine& machine,
                                             std::uint32_t threads) {
  auto report = pipeline::study_kv(request, machine, threads);
  if (!report) return report;
  const auto served = ServingStudy(machine).run(lone_request(*report));
  // Even for a model that leaves no room for a KV cache, the time of a fetch can be reported.
  if (served && served->rows.front().tally.finished == 1) report->ttft_seconds = served->rows.front().ttft.mean;
  return report;
}

}  // namespace cortado::serve
