#include "pipeline/kv/fetch_cost.hpp"

#include "pipeline/kv/transfer.hpp"

namespace cortado::pipeline {

Outcome<KvFetchCost> kv_fetch_cost(const KvFetchQuestion& question, const Machine& machine) {
  auto request = kv_request(
      question.model,
      {.tp = question.tp, .dtype = question.kv_dtype, .tokens = question.block_tokens, .layout = question.layout},
      machine);
  if (!request) return fail_at(Stage::plan, request.error());
  if (question.store) request->direction = plan::KvDirection::store;
  const auto strategy = plan::find_kv_strategy(question.strategy);
  if (!strategy) return fail_at(Stage::plan, strategy.error());
  const auto line = kv_line(*strategy, *request, machine);
  if (!line) return fail(line.error());
  KvFetchCost cost;
  cost.seconds_fixed = line->fixed.seconds;
  cost.seconds_per_block = line->per_block.seconds;
  cost.host_seconds_fixed = line->fixed.host_seconds;
  cost.host_seconds_per_block = line->per_block.host_seconds;
  cost.link_bytes_per_block = kv_link_bytes(*strategy, *request);
  cost.energy_j_per_block = line->per_block.joules;
  cost.compute_units = kv_compute_units(*strategy, machine);
  cost.fragments_per_block = request->fragments;
  return cost;
}

}  // namespace cortado::pipeline
