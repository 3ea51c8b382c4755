// One replica of a model behind a serving engine: continuous batching with chunked prefill over a paged KV cache.
//
// A step has one token of every sequence that decodes, then parts of prompts as far as max_tokens allows. A request is
// admitted first come, first served, when there are pages for the part of its prompt that fits the step; what it will
// answer is not reserved. When decoding needs a page and there is none, the sequence that was admitted last loses all
// its pages and waits in front of the others, to be computed again (preempted).
//
// A prompt whose beginning is in host memory is parked while its blocks come over the link, with pages for them. Blocks
// of prompts are written to host memory when they are computed.
//
// Steps in which nothing but decoding happens are not simulated one by one: all up to the next arrival, end, arriving
// block or missing page are done at once, at the mean of the first and the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cortado/result.hpp"

#include "serve/fetch_cost.hpp"
#include "serve/metrics.hpp"
#include "serve/source.hpp"
#include "serve/step_costs.hpp"

namespace cortado::serve {

/// Which prefixes are found.
enum class Reuse { none, hbm, host };

struct ReplicaConfig {
  StepLimits limits{};
  std::uint64_t pages = 0;    ///< of the pool
  std::uint32_t page = 16;    ///< tokens
  std::uint32_t block = 16;   ///< tokens of a block of the prefix cache, a multiple of the page
  std::uint64_t context = 0;  ///< longest sequence
  Reuse reuse = Reuse::hbm;
  std::uint64_t host_blocks = 0;  ///< capacity of the tier
  std::optional<FetchCost> fetch{};
  std::optional<double> slo_ttft{};  ///< seconds
  std::optional<double> slo_tpot{};
};

/// What happened, for traces.
struct ReplicaSpan {
  enum class Kind : std::uint8_t { step, decodes, load, store } kind = Kind::step;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t sequences = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t count = 0;  ///< steps, or blocks
};

struct ReplicaObserver {
  /// Called now and then with the requests that ended; false stops.
  std::function<bool(std::uint64_t)> progress{};
  std::vector<ReplicaSpan>* spans = nullptr;  ///< the first max_spans of them
  std::size_t max_spans = 0;
};

/// Until all requests have ended. Fails as the source does, or with serve.interrupted.
Result<Tally> serve_all(Source& source, const StepCosts& costs, const ReplicaConfig& config,
                        const ReplicaObserver& observer = {});

}  // namespace cortado::serve
