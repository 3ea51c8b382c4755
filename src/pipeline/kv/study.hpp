// When fetching KV blocks from host memory beats recomputing them, and by which strategy: one request on an idle
// machine.
#pragma once

#include <cstdint>
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
  std::size_t best = 0;                              ///< of the rows
  bool fetch = false;                                ///< the first token comes earlier with the best row
  std::optional<std::uint64_t> break_even_tokens{};  ///< shortest prefix with which it does
  double kappa = 0;                                  ///< cached tokens per new token at which fetching takes as long
  std::vector<std::uint32_t> engine_counts{};        ///< that were tried, if no strategy was asked for
  /// Of the prefix and one token. serve/first_token.hpp fills both in, and replaces the times of steps above by those
  /// of an engine's table, of which they consist.
  std::optional<double> fetch_ttft_seconds{};
  std::optional<double> recompute_ttft_seconds{};

  std::string choice() const { return fetch ? rows[best].strategy : "recompute"; }
  /// Scheduling, the fastest fetch and the pass after it; needs a row.
  double fetch_sum_seconds() const { return scheduling_seconds + rows[best].transfer.seconds + pass_seconds; }
  std::optional<double> ttft_seconds() const { return fetch ? fetch_ttft_seconds : recompute_ttft_seconds; }
};

/// Refuses what kv_request, plan::find_kv_strategy and ModelStudy refuse.
Outcome<KvReport> study_kv(const KvStudyRequest& request, const Machine& machine, std::uint32_t threads = 1);

report::Document kv_document(const KvReport& report);

}  // namespace cortado::pipeline
