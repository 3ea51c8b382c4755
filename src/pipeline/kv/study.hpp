// When fetching KV blocks from host memory beats recomputing them, and by which strategy: one request on an idle
// machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/report.hpp"
#include "cortado/target.hpp"

#include "pipeline/kv/transfer.hpp"

namespace cortado::pipeline {

struct KvStudyRequest {
  Model model;
  KvBlocks blocks{};
  std::uint64_t tokens = 0;               ///< of the cached prefix
  DType dtype = DType::bf16;              ///< of GEMMs, where it is recomputed
  std::vector<std::string> strategies{};  ///< empty: all that apply, with all numbers of engines
  std::uint64_t step_tokens = 8192;       ///< the most that an engine computes in a step

  /// Engines cache complete blocks only: what comes behind the last one is computed with the token after the prefix.
  std::uint64_t loose_tokens() const { return tokens % blocks.tokens; }
};

/// The serving engine that computes prompts (serve/first_token.hpp).
struct KvEngine {
  /// A step with a part of one prompt and nothing else; `last`: the end of the prompt, which yields a token.
  std::function<Outcome<Nanoseconds>(std::uint64_t tokens, std::uint64_t context, bool last)> step{};
  /// Seconds to the first token of a prefix of so many tokens and one more, if its layers are computed while others
  /// arrive; none: the GPUs have no room for it.
  std::function<std::optional<double>(const std::string& strategy, std::uint64_t tokens)> by_layers{};
};

struct KvRow {
  std::string strategy;
  KvTransfer transfer{};
  double gbps = 0;  ///< of the KV of one GPU
  std::uint32_t compute_units = 0;
  std::optional<double> first_layer_seconds{};  ///< released separately
};

struct KvSkipped {
  std::string strategy;
  std::string why;
};

struct KvReport {
  KvStudyRequest request;
  std::string machine;
  plan::KvRequest transfer{};
  double recompute_seconds = 0;   ///< the prefix and one token
  double pass_seconds = 0;        ///< after a fetch: the loose tokens and one
  double token_seconds = 0;       ///< one token alone
  double scheduling_seconds = 0;  ///< of one request in a serving engine, in addition to its steps
  std::vector<KvRow> rows{};
  std::vector<KvSkipped> skipped{};
  std::size_t best = 0;                              ///< of the rows: the fastest for a request alone
  bool fetch = false;                                ///< the first token comes earlier with the best row
  std::optional<std::uint64_t> break_even_tokens{};  ///< shortest prefix with which it does, by its own best row
  double kappa = 0;                                  ///< cached tokens per new token at which fetching takes as long
  std::vector<std::uint32_t> engine_counts{};        ///< that were tried, if no strategy was asked for
  double recompute_ttft_seconds = 0;                 ///< of the prefix and one token
  std::optional<double> fetch_ttft_seconds{};        ///< the same with the best row
  bool room = true;                                  ///< the GPUs have room for the prompt

  std::string choice() const { return fetch ? rows[best].strategy : "recompute"; }
};

/// Refuses what kv_request, plan::find_kv_strategy and the engine refuse.
Outcome<KvReport> study_kv(const KvStudyRequest& request, const Machine& machine, const KvEngine& engine,
                           std::uint32_t threads = 1);

report::Document kv_document(const KvReport& report);

}  // namespace cortado::pipeline
