#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "device/executor/executor.hpp"
#include "pipeline/run_model.hpp"
#include "pipeline/run_model/checkpoint.hpp"
#include "pipeline/run_model/pairs.hpp"
#include "plan/layer.hpp"

namespace cortado::pipeline {
namespace {

/// Beyond this, the CPU would take minutes per token.
constexpr std::uint64_t kMostParameters = 50'000'000;

Status check_model(const Model& model) {
  const auto refuse = [&](const std::string& what) {
    return fail("model.run", fmt::format("{} {}", model.name, what),
                "use a Llama or Mixtral model of up to 50 million parameters, such as tiny-llama or tiny-moe");
  };
  const Attention& attention = model.attention;
  if (model.family != "llama" && model.family != "mistral" && model.family != "mixtral") {
    return refuse("belongs to the family " + model.family);
  }
  if (attention.qkv_bias || attention.output_bias || model.mlp_bias) return refuse("has biases");
  if (std::ranges::any_of(model.layers, [](const Layer& layer) { return layer.window.has_value(); })) {
    return refuse("uses sliding-window attention");
  }
  const std::uint64_t parameters = count_parameters(model).total;
  if (parameters > kMostParameters) return refuse(fmt::format("has {} parameters", parameters));
  return {};
}

Status check_run(const ModelRunRequest& request) {
  CORTADO_RETURN_IF_ERROR(check_model(request.model));
  if (request.tp == 0) return fail("model.layout", "--tp is 0", "use --tp 1 or more");
  if (request.sequences == 0 || request.prompt == 0 || request.output == 0) {
    return fail("model.tokens",
                fmt::format("{} sequences of {} prompt tokens and {} output tokens", request.sequences, request.prompt,
                            request.output),
                "each of these must be at least 1");
  }
  if (request.prompt > request.model.context || request.output > request.model.context - request.prompt) {
    return fail("model.tokens",
                fmt::format("{} + {} tokens, but {} has a context of {}", request.prompt, request.output,
                            request.model.name, request.model.context),
                "use fewer tokens");
  }
  return {};
}

LayerShape shape_of(const Model& model) {
  LayerShape shape{.hidden = model.hidden,
                   .heads = model.attention.heads,
                   .kv_heads = model.attention.kv_heads,
                   .head_dim = model.attention.head_dim,
                   .intermediate = model.intermediate,
                   .vocabulary = model.vocabulary};
  if (model.experts) {
    shape.intermediate = model.experts->intermediate;
    shape.experts = model.experts->count;
    shape.top_k = model.experts->per_token;
  }
  return shape;
}

using Bytewise = std::span<std::byte>;
template <class Element>
Bytewise bytes_of(std::vector<Element>& numbers) {
  return std::as_writable_bytes(std::span(numbers));
}

/// What the callers of all ranks hold for a program, by buffer.
class Bindings {
 public:
  void bind(const Region& region, Bytewise bytes) { written_[region.buffer] = read_[region.buffer] = bytes; }
  /// What an inout buffer holds after the iteration, kept separately from what it held before.
  void bind_output(const Region& region, Bytewise bytes) { read_[region.buffer] = bytes; }

  device::CallerData data() const {
    return {[this](BufferId id, Bytewise buffer) { copy(written_.at(id), buffer); },
            [this](BufferId id, std::span<const std::byte> buffer) { copy(buffer, read_.at(id)); }};
  }

 private:
  static void copy(std::span<const std::byte> from, Bytewise to) {
    CORTADO_CHECK(from.size() == to.size(), "a matrix fills its buffer");
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());  // std::ranges::copy would go byte by byte
  }

  std::map<BufferId, Bytewise> written_, read_;
};

/// A program that was proved.
template <class Plan>
struct Proved {
  Plan plan;
  VerifiedProgram program;
  std::size_t row = 0;  // of the report
};

class ModelRunner {
 public:
  ModelRunner(const ModelRunRequest& request, const Machine& machine, Target& target)
      : request_(request),
        machine_(machine),
        target_(target),
        shape_(shape_of(request.model)),
        checkpoint_(random_checkpoint(shape_, request.model.layers.size(), request.model.tied, request.seed)) {
    run_.request = request;
    run_.where = target.where();
    const std::uint64_t cached = request.sequences * capacity() * shape_.kv_heads * shape_.head_dim / request.tp;
    for (const LayerWeights& layer : checkpoint_.layers) {
      LayerState& state = layers_.emplace_back();
      for (std::uint32_t rank = 0; rank < request.tp; ++rank) {
        state.shares.push_back(share_of(layer, rank, request.tp));
        state.keys.emplace_back(cached, 0.0F);
        state.values.emplace_back(cached, 0.0F);
      }
    }
    for (std::uint32_t rank = 0; rank < request.tp; ++rank) {
      head_shares_.push_back(columns_of_rank(checkpoint_.head, rank, request.tp));
    }
  }

  Outcome<ModelRun> run() {
    const auto tokens = random_prompts(shape_.vocabulary, request_.sequences * request_.prompt, request_.seed);
    auto prefill = pass("prefill", request_.prompt);
    if (!prefill) return fail(prefill.error());
    auto head = make_head();
    if (!head) return fail(head.error());
    std::vector<float> hidden;
    if (const auto done = forward(*prefill, tokens, 0, hidden); !done) return fail(done.error());
    run_.hidden = hidden;
    run_.tokens.resize(request_.sequences);
    run_.margins.resize(request_.sequences);
    auto next = choose(*head, last_rows(hidden));
    if (!next) return fail(next.error());
    if (request_.output > 1) {
      auto decode = pass("decode", 1);
      if (!decode) return fail(decode.error());
      for (std::uint64_t i = 1; i < request_.output; ++i) {
        const auto done = forward(*decode, *next, request_.prompt + i - 1, hidden);
        if (!done) return fail(done.error());
        next = choose(*head, hidden);
        if (!next) return fail(next.error());
      }
    }
    run_.notes = notes_.refused;
    return std::move(run_);
  }

 private:
  struct LayerState {
    std::vector<LayerShare> shares;  // of a rank
    std::vector<std::vector<float>> keys, values;
  };
  struct Pass {
    Proved<EmbeddingProgram> embedding;
    Proved<LayerProgram> layer;
    std::uint64_t tokens = 0;  // of a sequence
  };

  std::uint64_t capacity() const { return request_.prompt + request_.output; }
  std::uint64_t per_rank(std::uint64_t all) const { return all / request_.tp; }

  PassRequest pass_request(std::uint64_t tokens) const {
    return {shape_, request_.sequences, request_.sequences * tokens, capacity(), request_.tp};
  }

  template <class Plan>
  Outcome<Proved<Plan>> prove_plan(std::string name, Result<Plan> plan) {
    if (!plan) return fail_at(Stage::plan, plan.error());
    auto verified = prove(plan->program, machine_);
    if (!verified) return fail(verified.error());
    ModelProgram& row = run_.programs.emplace_back();
    row.name = std::move(name);
    row.pairs = notes_.names.empty() ? std::string(request_.tp == 1 ? "none" : kSerialPairs) : join(notes_.names);
    for (const Queue& queue : plan->program.queues) row.commands += queue.commands.size();
    return Proved<Plan>{*std::move(plan), *std::move(verified), run_.programs.size() - 1};
  }

  Outcome<Pass> pass(const std::string& name, std::uint64_t tokens) {
    const PassRequest request = pass_request(tokens);
    notes_.names = {"none"};
    auto embedding = prove_plan(name + " embedding", plan_embedding(request, machine_));
    if (!embedding) return fail(embedding.error());
    notes_.names.clear();
    auto layer = prove_plan(name + " layer",
                            with_pairs([&](const PairPlanner& pairs) { return plan_layer(request, machine_, pairs); }));
    if (!layer) return fail(layer.error());
    return Pass{*std::move(embedding), *std::move(layer), tokens};
  }

  Outcome<Proved<HeadProgram>> make_head() {
    notes_.names.clear();
    return prove_plan(
        "head", with_pairs([&](const PairPlanner& pairs) { return plan_head(pass_request(1), machine_, pairs); }));
  }

  template <class Plan>
  std::invoke_result_t<Plan, const PairPlanner&> with_pairs(Plan plan) {
    CORTADO_ASSIGN_OR_RETURN(const PairPlanner pairs, pair_planner(request_.strategy, machine_, notes_));
    return plan(pairs);
  }

  /// Engines have enough queues for one program of a layer, not for all at once.
  template <class Plan>
  Outcome<bool> prepare(const Proved<Plan>& proved) {
    if (prepared_ && prepared_row_ == proved.row) return true;
    prepared_.reset();
    auto prepared = device::PreparedProgram::prepare(proved.program, *target_.driver());
    if (!prepared) return fail_at(Stage::prepare, prepared.error());
    prepared_.emplace(*std::move(prepared));
    prepared_row_ = proved.row;
    return true;
  }

  template <class Plan>
  Outcome<bool> execute(const Proved<Plan>& proved, const Bindings& bindings) {
    if (auto ready = prepare(proved); !ready) return ready;
    device::RunOptions options{.seed = request_.seed, .data = bindings.data()};
    options.adversarial_seed = request_.adversarial_seed;
    options.timeout = request_.timeout;
    const auto result = prepared_->run(options);
    if (!result) return fail_at(Stage::run, result.error());
    ModelProgram& row = run_.programs[proved.row];
    ++row.runs;
    for (const Nanoseconds time : result->timeline.iteration_times) row.time.value += time.value;
    run_.checked_bytes += result->checked_bytes;
    run_.wrong_bytes += result->wrong_bytes;
    if (!run_.first_wrong) run_.first_wrong = result->first_wrong;
    return true;
  }

  /// A rank's rows of a matrix.
  Bytewise share(std::vector<float>& matrix, std::uint32_t rank) const {
    const std::uint64_t count = per_rank(matrix.size());
    return std::as_writable_bytes(std::span(matrix).subspan(rank * count, count));
  }

  /// `position`: of the first token of every sequence.
  Outcome<bool> forward(Pass& pass, std::vector<std::uint32_t> tokens, std::uint64_t position,
                        std::vector<float>& hidden) {
    const std::uint64_t rows = tokens.size();
    std::vector<float> x(rows * shape_.hidden);
    Bindings embed;
    for (std::uint32_t r = 0; r < request_.tp; ++r) {
      const EmbeddingRank& rank = pass.embedding.plan.ranks[r];
      const std::uint64_t own = per_rank(rows);
      embed.bind(rank.tokens, std::as_writable_bytes(std::span(tokens).subspan(r * own, own)));
      embed.bind(rank.table, bytes_of(checkpoint_.embedding.numbers));
      embed.bind(rank.x, share(x, r));
    }
    if (auto done = execute(pass.embedding, embed); !done) return done;
    std::vector<std::uint32_t> positions(rows);
    for (std::uint64_t i = 0; i < rows; ++i) {
      positions[i] = static_cast<std::uint32_t>(position + i % pass.tokens);
    }
    std::vector<float> y(x.size());
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      Bindings bindings;
      for (std::uint32_t r = 0; r < request_.tp; ++r) {
        bind_layer(pass.layer.plan.ranks[r], l, r, bindings);
        bindings.bind(pass.layer.plan.ranks[r].x, share(x, r));
        bindings.bind(pass.layer.plan.ranks[r].y, share(y, r));
        bindings.bind(pass.layer.plan.ranks[r].positions, bytes_of(positions));
      }
      // The caches are read before an iteration and written after it: what was read must not change in between.
      next_keys_ = layers_[l].keys;
      next_values_ = layers_[l].values;
      auto done = execute(pass.layer, with_outputs(bindings, pass.layer.plan.ranks));
      if (!done) return done;
      std::swap(layers_[l].keys, next_keys_);
      std::swap(layers_[l].values, next_values_);
      std::swap(x, y);
    }
    hidden = std::move(x);
    return true;
  }

  void bind_layer(const LayerRank& rank, std::size_t l, std::uint32_t r, Bindings& bindings) {
    LayerWeights& weights = checkpoint_.layers[l];
    LayerState& state = layers_[l];
    bindings.bind(rank.norm1, bytes_of(weights.norm1));
    bindings.bind(rank.norm2, bytes_of(weights.norm2));
    bindings.bind(rank.qkv, bytes_of(state.shares[r].qkv));
    bindings.bind(rank.o, bytes_of(state.shares[r].o));
    bindings.bind(rank.gate_up, bytes_of(state.shares[r].gate_up));
    bindings.bind(rank.down, bytes_of(state.shares[r].down));
    bindings.bind(rank.keys, bytes_of(state.keys[r]));
    bindings.bind(rank.values, bytes_of(state.values[r]));
  }

  Bindings with_outputs(Bindings bindings, const std::vector<LayerRank>& ranks) {
    for (std::uint32_t r = 0; r < request_.tp; ++r) {
      bindings.bind_output(ranks[r].keys, bytes_of(next_keys_[r]));
      bindings.bind_output(ranks[r].values, bytes_of(next_values_[r]));
    }
    return bindings;
  }

  std::vector<float> last_rows(const std::vector<float>& hidden) const {
    std::vector<float> rows;
    for (std::uint64_t s = 0; s < request_.sequences; ++s) {
      const auto first = hidden.begin() + static_cast<std::ptrdiff_t>(((s + 1) * request_.prompt - 1) * shape_.hidden);
      rows.insert(rows.end(), first, first + static_cast<std::ptrdiff_t>(shape_.hidden));
    }
    return rows;
  }

  /// The next token of every sequence.
  Outcome<std::vector<std::uint32_t>> choose(Proved<HeadProgram>& head, std::vector<float> x) {
    std::vector<std::vector<std::uint32_t>> tokens(request_.tp, std::vector<std::uint32_t>(request_.sequences));
    std::vector<std::vector<float>> logits(request_.tp, std::vector<float>(request_.sequences * shape_.vocabulary));
    Bindings bindings;
    for (std::uint32_t r = 0; r < request_.tp; ++r) {
      const HeadRank& rank = head.plan.ranks[r];
      bindings.bind(rank.x, share(x, r));
      bindings.bind(rank.norm, bytes_of(checkpoint_.norm));
      bindings.bind(rank.weight, bytes_of(head_shares_[r]));
      bindings.bind(rank.logits, bytes_of(logits[r]));
      bindings.bind(rank.tokens, bytes_of(tokens[r]));
    }
    const auto done = execute(head, bindings);
    if (!done) return fail(done.error());
    for (std::uint64_t s = 0; s < request_.sequences; ++s) {
      run_.tokens[s].push_back(tokens[0][s]);
      run_.margins[s].push_back(margin(std::span(logits[0]).subspan(s * shape_.vocabulary, shape_.vocabulary)));
    }
    return tokens.front();
  }

  static double margin(std::span<const float> logits) {
    std::vector<float> sorted(logits.begin(), logits.end());
    std::ranges::nth_element(sorted, sorted.begin() + 1, std::greater<>());
    const double largest =
        std::max(std::abs(*std::ranges::max_element(logits)), std::abs(*std::ranges::min_element(logits)));
    return (double{sorted[0]} - sorted[1]) / largest;
  }

  const ModelRunRequest& request_;
  const Machine& machine_;
  Target& target_;
  const LayerShape shape_;
  Checkpoint checkpoint_;
  std::vector<LayerState> layers_;
  std::vector<std::vector<float>> head_shares_;
  std::vector<std::vector<float>> next_keys_, next_values_;  // of a rank: the results of the current layer
  std::optional<device::PreparedProgram> prepared_;
  std::size_t prepared_row_ = 0;
  PairNotes notes_;
  ModelRun run_;
};

}  // namespace

std::uint64_t ModelRun::close_tokens() const {
  std::uint64_t close = 0;
  for (const std::vector<double>& of_sequence : margins) {
    close += static_cast<std::uint64_t>(
        std::ranges::count_if(of_sequence, [](double margin) { return margin < kCloseLogits; }));
  }
  return close;
}

Outcome<ModelRun> run_model(const ModelRunRequest& request, const Machine& machine, Target& target) {
  if (const Status good = check_run(request); !good) return fail_at(Stage::plan, good.error());
  // Before any weights are made: whether the ranks can share the model at all.
  const PassRequest pass{shape_of(request.model), request.sequences, request.sequences, 1, request.tp};
  if (const auto fits = plan_embedding(pass, machine); !fits) return fail_at(Stage::plan, fits.error());
  if (target.driver() == nullptr) {
    return fail_at(Stage::plan, Diagnostic{"model.target", "the simulator computes no tokens", "use --on soft"});
  }
  return ModelRunner(request, machine, target).run();
}

}  // namespace cortado::pipeline
