#include "pipeline/kv/transfer.hpp"

#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::pipeline {
namespace {

/// From this many copies of one GPU on, the time grows linearly with the blocks, despite pipelining.
constexpr std::uint64_t kManyCopies = 512;

/// From this many blocks on, the time of a list grows linearly with its entries: the cost of its packet is in the fixed
/// part.
constexpr std::uint64_t kManyEntries = 64;

/// Ranks whose transfers contend with those of others.
std::uint32_t simulated_ranks(const plan::KvStrategy& strategy, const plan::KvRequest& request,
                              const Machine& machine) {
  const HostLinkTiming& link = *machine.timing->host_link;
  const double of_node = link.to_gpu.value * std::max(1U, machine.gpus / link.numa_nodes);
  if (link.gpus_per_port > 1 || of_node > link.memory.value) return request.ranks;
  return strategy.replicated ? request.group : 1;
}

/// Commands of a queue before the clock starts.
std::size_t commands_ahead(const Queue& queue) {
  const auto begin = std::ranges::find_if(
      queue.commands, [](const Command& command) { return std::holds_alternative<Timestamp>(command); });
  return begin == queue.commands.end() ? 0 : static_cast<std::size_t>(begin - queue.commands.begin());
}

/// Of the busiest host thread; of the commands before `until` of each queue only.
double host_seconds(const Timeline& timeline, const std::vector<std::size_t>& until) {
  std::vector<double> busy(timeline.tracks.size(), 0);
  for (const Span& span : timeline.spans) {
    if (!timeline.tracks[span.track].host || span.kind == SpanKind::wait) continue;
    if (span.command >= until[span.track]) continue;
    busy[span.track] += static_cast<double>((span.end - span.start).value) * 1e-9;
  }
  return busy.empty() ? 0 : *std::ranges::max_element(busy);
}

Status check_host_link(const Machine& machine) {
  if (!machine.timing || !machine.timing->host_link || !machine.timing->runtime) {
    return fail("kv.machine", fmt::format("machine {} does not describe its links to host memory", machine.name),
                "add the sections host_link and runtime to the machine file (machines/README.md)");
  }
  return {};
}

}  // namespace

const std::vector<KvLayoutInfo>& kv_layouts() {
  static const std::vector<KvLayoutInfo> layouts{{"per-layer", "keys and values of each layer apart"},
                                                 {"layer", "keys and values of a layer together"},
                                                 {"cross-layer", "a block is one piece"}};
  return layouts;
}

Result<plan::KvRequest> kv_request(const Model& model, const KvBlocks& blocks, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_host_link(machine));
  const Attention& attention = model.attention;
  if (blocks.tp == 0 || blocks.tp > machine.gpus || attention.heads % blocks.tp != 0) {
    return fail("kv.tp",
                fmt::format("{} GPUs cannot share the {} attention heads of {}; {} has {} GPUs", blocks.tp,
                            attention.heads, model.name, machine.name, machine.gpus),
                "use a --tp that divides the number of heads and does not exceed the number of GPUs");
  }
  constexpr std::uint64_t kMostTokens = 1 << 20;
  if (blocks.tokens == 0 || blocks.tokens > kMostTokens) {
    return fail("kv.block", fmt::format("blocks of {} tokens", blocks.tokens), "use 1 to 1048576 tokens per block");
  }
  if (blocks.tokens > model.context) {
    return fail(
        "kv.block",
        fmt::format("blocks of {} tokens, but {} has a context of {}", blocks.tokens, model.name, model.context),
        "use a smaller --block, such as 16");
  }
  const auto& known = kv_layouts();
  if (std::ranges::find(known, blocks.layout, &KvLayoutInfo::name) == known.end()) {
    return fail("kv.layout", fmt::format("unknown layout '{}'", blocks.layout), "known: per-layer, layer, cross-layer");
  }
  const bool latent = attention.latent.has_value();
  if (latent && blocks.layout == "cross-layer") {
    return fail("kv.layout", fmt::format("{} caches latents, which serving engines store layer by layer", model.name),
                "use --layout layer");
  }
  const std::uint64_t layers = model.layers.size();
  const std::uint64_t kv_heads = latent ? 1 : attention.kv_heads;
  plan::KvRequest request{.ranks = blocks.tp, .layers = layers};
  request.group = static_cast<std::uint32_t>(std::max<std::uint64_t>(blocks.tp / kv_heads, 1));
  if (request.ranks % request.group != 0) {
    return fail("kv.tp",
                fmt::format("{} KV heads of {} cannot be spread over {} GPUs", kv_heads, model.name, blocks.tp),
                "use a --tp that divides the number of KV heads, or is a multiple of it");
  }
  const std::uint64_t heads_of_gpu = std::max<std::uint64_t>(kv_heads / blocks.tp, 1);
  const std::uint64_t values =
      latent ? attention.cached_values() : 2 * heads_of_gpu * attention.head_dim;  // of a token and layer
  const Bytes of_layer = size_of(blocks.dtype) * (values * blocks.tokens);
  if (blocks.layout == "cross-layer") {
    request.layers = 1;
    request.fragments = 1;
    request.fragment = of_layer * layers;
  } else if (blocks.layout == "per-layer" && !latent) {
    request.fragments = 2 * layers;
    request.fragment = of_layer / 2;
  } else {
    request.fragments = layers;
    request.fragment = of_layer;
  }
  return request;
}

Outcome<KvTransfer> simulate_kv(const plan::NamedKvStrategy& strategy, const plan::KvRequest& request,
                                const Machine& machine) {
  plan::KvRequest asked = request;
  asked.engines = strategy.engines;
  asked.ranks = simulated_ranks(*strategy.strategy, request, machine);
  asked.group = std::min(request.group, asked.ranks);
  auto program = strategy.strategy->plan(asked, machine);
  if (!program) return fail_at(Stage::plan, program.error());
  std::vector<std::size_t> ahead;
  std::vector<std::size_t> all;
  for (const Queue& queue : program->queues) {
    ahead.push_back(commands_ahead(queue));
    all.push_back(queue.commands.size());
  }
  const auto run =
      simulate_checked(unproved(*std::move(program), machine), {.trace = true, .sim = {.span_names = false}});
  if (!run) return fail(run.error());
  KvTransfer transfer{.seconds = static_cast<double>(run->time.value) * 1e-9,
                      .host_seconds = host_seconds(run->timeline, all),
                      .ahead_seconds = host_seconds(run->timeline, ahead)};
  if (run->energy) transfer.joules = run->energy->joules() * request.ranks / asked.ranks;
  return transfer;
}

KvTransfer KvLine::at(std::uint64_t blocks) const {
  const auto n = static_cast<double>(blocks);
  return {fixed.seconds + n * per_block.seconds, fixed.host_seconds + n * per_block.host_seconds,
          fixed.joules + n * per_block.joules, fixed.ahead_seconds + n * per_block.ahead_seconds};
}

Outcome<KvLine> kv_line(const plan::NamedKvStrategy& strategy, const plan::KvRequest& request, const Machine& machine) {
  const bool batches = strategy.strategy->name == "batch";
  const std::uint64_t copies = std::max(kManyCopies, batches ? 2 * std::uint64_t{machine.timing->runtime->batch} : 0);
  const std::uint64_t whole = request.fragment.value * request.fragments;
  const std::uint64_t room = machine.memory_bytes.value / whole / 2;  // pools have half as many places again
  const std::uint64_t wanted = std::max<std::uint64_t>((copies + request.fragments - 1) / request.fragments,
                                                       kv_lists(strategy) ? kManyEntries : 2);
  const std::uint64_t few = std::max<std::uint64_t>(std::min(wanted, room / 2), 1);
  plan::KvRequest asked = request;
  asked.blocks = few;
  const auto first = simulate_kv(strategy, asked, machine);
  if (!first) return fail(first.error());
  asked.blocks = 2 * few;
  const auto second = simulate_kv(strategy, asked, machine);
  if (!second) return fail(second.error());
  const auto n = static_cast<double>(few);
  KvLine line{.from_blocks = few};
  line.per_block = {(second->seconds - first->seconds) / n, (second->host_seconds - first->host_seconds) / n,
                    (second->joules - first->joules) / n, (second->ahead_seconds - first->ahead_seconds) / n};
  line.fixed = {2 * first->seconds - second->seconds, 2 * first->host_seconds - second->host_seconds,
                2 * first->joules - second->joules, 2 * first->ahead_seconds - second->ahead_seconds};
  return line;
}

Outcome<KvTransfer> kv_transfer(const plan::NamedKvStrategy& strategy, const plan::KvRequest& request,
                                const Machine& machine, const KvLine& line) {
  if (request.blocks >= line.from_blocks) return line.at(request.blocks);
  return simulate_kv(strategy, request, machine);
}

bool kv_lists(const plan::NamedKvStrategy& strategy) {
  return strategy.strategy->name == "b2b-list";
}

std::uint32_t kv_compute_units(const plan::NamedKvStrategy& strategy, const Machine& machine) {
  return strategy.strategy->compute_units ? machine.timing->host_link->units : 0;
}

double kv_link_bytes(const plan::NamedKvStrategy& strategy, const plan::KvRequest& request) {
  const double all = static_cast<double>(request.fragment.value) * static_cast<double>(request.fragments) *
                     static_cast<double>(request.blocks);
  return strategy.strategy->name == "shard+gather" ? all / request.group : all;
}

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
  cost.ahead_seconds_fixed = line->fixed.ahead_seconds;
  cost.ahead_seconds_per_block = line->per_block.ahead_seconds;
  cost.link_bytes_per_block = kv_link_bytes(*strategy, *request);
  cost.energy_j_per_block = line->per_block.joules;
  cost.compute_units = kv_compute_units(*strategy, machine);
  cost.fragments_per_block = request->fragments;
  for (request->blocks = 1; request->blocks < line->from_blocks; request->blocks *= 2) {
    const auto few = simulate_kv(*strategy, *request, machine);
    if (!few) return fail(few.error());
    cost.few.push_back({request->blocks, few->seconds, few->host_seconds, few->ahead_seconds});
  }
  const KvTransfer first = line->at(line->from_blocks);
  cost.few.push_back({line->from_blocks, first.seconds, first.host_seconds, first.ahead_seconds});
  return cost;
}

}  // namespace cortado::pipeline
