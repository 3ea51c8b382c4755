#include "plan/layer.hpp"

#include <utility>

#include <fmt/format.h>

#include "plan/layer/chain.hpp"
#include "plan/layer/pairs.hpp"

namespace cortado {
namespace plan {
namespace {

Result<PassRequest> check_pass(PassRequest request, const Machine& machine) {
  const LayerShape& shape = request.shape;
  if (request.ranks == 0) request.ranks = machine.gpus;
  if (request.ranks > machine.gpus) {
    return fail(About::machine, "layer.ranks", fmt::format("{} ranks on {} GPUs", request.ranks, machine.gpus),
                fmt::format("{} has {}", machine.name, machine.gpus));
  }
  const auto divides = [](std::uint64_t part, std::uint64_t whole) {
    return part > 0 && whole > 0 && whole % part == 0;
  };
  const std::pair<const char*, std::uint64_t> divided[] = {
      {"KV heads", shape.kv_heads},
      {"heads", shape.heads},
      shape.experts > 0 ? std::pair{"experts", shape.experts}
                        : std::pair{"columns of the feed-forward part", shape.intermediate},
      {"tokens of the vocabulary", shape.vocabulary},
      {"rows of a pass", request.rows}};
  for (const auto& [what, number] : divided) {
    if (divides(request.ranks, number)) continue;
    return fail("layer.shape", fmt::format("{} {} cannot be divided among {} ranks", number, what, request.ranks),
                fmt::format("use a number of ranks that divides {}", number));
  }
  if (!divides(shape.kv_heads, shape.heads) || shape.head_dim == 0 || shape.head_dim % 2 != 0 || shape.hidden == 0 ||
      shape.theta == 0) {
    return fail("layer.shape",
                fmt::format("{} heads of {} columns share {} KV heads", shape.heads, shape.head_dim, shape.kv_heads),
                "KV heads must divide heads, and heads must have an even number of columns");
  }
  if (shape.experts > 0 && (shape.top_k == 0 || shape.top_k > shape.experts || shape.intermediate == 0)) {
    return fail("layer.shape",
                fmt::format("{} of {} experts with {} columns", shape.top_k, shape.experts, shape.intermediate),
                "a token must visit at least one expert, and at most all of them");
  }
  if (!divides(request.sequences, request.rows) || request.capacity == 0) {
    return fail("layer.shape",
                fmt::format("{} rows of {} sequences with room for {} tokens", request.rows, request.sequences,
                            request.capacity),
                "every sequence needs the same number of rows, at least one, and a cache");
  }
  return request;
}

/// A GEMM of the formula.
Gemm product(const Region& a, const Region& b, const Region& c) {
  return {.a = a, .b = b, .c = c, .m = a.rows, .n = c.width.value / size_of(DType::f32).value, .k = b.rows};
}

Kernel sum(std::vector<Region> terms, const Region& result) {
  return {.op = KernelOp::reduce, .sources = std::move(terms), .dst = result, .dtype = DType::f32};
}

/// Commands that program and formula share, on regions of either.
class Functions {
 public:
  explicit Functions(const PassRequest& request) : request_(request), shape_(request.shape) {}

  Call norm(const Region& x, const Region& weight, const Region& y) const {
    return {Function::rms_norm, {x, weight}, y, {shape_.epsilon}};
  }
  Call rope(const Region& x, const Region& positions, const Region& y) const {
    return {Function::rope, {x, positions}, y, {shape_.head_dim, shape_.theta}};
  }
  Call append(const Region& cache, const Region& rows, const Region& positions, const Region& result) const {
    return {Function::append, {cache, rows, positions}, result, {request_.sequences}};
  }
  Call attention(const Region& q, const Region& keys, const Region& values, const Region& positions,
                 const Region& y) const {
    return {Function::attention,
            {q, keys, values, positions},
            y,
            {request_.sequences, shape_.heads / request_.ranks, shape_.kv_heads / request_.ranks}};
  }
  /// With gate and up side by side.
  Call swiglu(const Region& gate_up, const Region& y) const {
    const std::uint64_t columns = gate_up.width.value / kFloat.value / 2;
    return {Function::swiglu, {columns_of(gate_up, 0, columns), columns_of(gate_up, columns, columns)}, y, {}};
  }
  Call route(const Region& logits, const Region& gates) const {
    return {Function::route, {logits}, gates, {shape_.top_k}};
  }
  Call scale(const Region& x, const Region& gates, std::uint64_t expert, const Region& y) const {
    return {Function::scale, {x, gates}, y, {expert}};
  }

  // What a rank multiplies in the feed-forward part: columns of the first matrix, rows of the second.
  std::uint64_t local_experts() const { return shape_.experts / request_.ranks; }
  std::uint64_t first_columns() const { return shape_.experts + 2 * second_rows(); }
  std::uint64_t second_rows() const {
    return shape_.experts > 0 ? local_experts() * shape_.intermediate : shape_.intermediate / request_.ranks;
  }
  /// Gate and up of an expert of the rank.
  Region of_expert(const Region& first, std::uint64_t local) const {
    return columns_of(first, shape_.experts + 2 * local * shape_.intermediate, 2 * shape_.intermediate);
  }
  Region rows_for_down(const Region& second, std::uint64_t local) const {
    return columns_of(second, local * shape_.intermediate, shape_.intermediate);
  }

  // Columns of queries, and of keys or values, of one rank; and the parts of q, k, v side by side.
  std::uint64_t q_columns() const { return shape_.heads / request_.ranks * shape_.head_dim; }
  std::uint64_t kv_columns() const { return shape_.kv_heads / request_.ranks * shape_.head_dim; }
  Region q(const Region& qkv) const { return columns_of(qkv, 0, q_columns()); }
  Region k(const Region& qkv) const { return columns_of(qkv, q_columns(), kv_columns()); }
  Region v(const Region& qkv) const { return columns_of(qkv, q_columns() + kv_columns(), kv_columns()); }

 private:
  const PassRequest& request_;
  const LayerShape& shape_;
};

class LayerPlanner {
 public:
  LayerPlanner(const PassRequest& request, const Machine& machine, const PairPlanner& planner)
      : request_(request),
        shape_(request.shape),
        own_(request.rows / request.ranks),
        f_(request),
        chain_("layer", machine, request.ranks),
        pairs_(chain_, machine, planner),
        ranks_(request.ranks) {}

  Result<LayerProgram> plan() {
    for (std::uint32_t r = 0; r < request_.ranks; ++r) add_rank(r);
    CORTADO_RETURN_IF_ERROR(attention());
    CORTADO_RETURN_IF_ERROR(feed_forward());
    add_formula();
    LayerProgram layer{std::move(chain_).finish(), {}};
    for (Rank& rank : ranks_) layer.ranks.push_back(rank.caller);
    return layer;
  }

 private:
  struct Rank {
    LayerRank caller;
    Region q, k;  // after rotary embedding
    Region x1;
    Region gates;               // of all experts
    std::vector<Region> gated;  // of each expert of the rank
  };

  void add_rank(std::uint32_t r) {
    Rank& rank = ranks_[r];
    const auto matrix = [&](const char* kind, std::uint64_t rows, std::uint64_t columns, BufferRole role) {
      return chain_.matrix(kind, r, rows, columns, role);
    };
    rank.caller.x = matrix("x", own_, shape_.hidden, BufferRole::input);
    rank.caller.y = matrix("y", own_, shape_.hidden, BufferRole::output);
    rank.caller.norm1 = matrix("norm1.", 1, shape_.hidden, BufferRole::input);
    rank.caller.norm2 = matrix("norm2.", 1, shape_.hidden, BufferRole::input);
    rank.caller.positions = matrix("positions", request_.rows, 1, BufferRole::input);
    const std::uint64_t cached = request_.sequences * request_.capacity;
    rank.caller.keys = matrix("keys", cached, f_.kv_columns(), BufferRole::inout);
    rank.caller.values = matrix("values", cached, f_.kv_columns(), BufferRole::inout);
    rank.q = matrix("q", request_.rows, f_.q_columns(), BufferRole::scratch);
    rank.k = matrix("k", request_.rows, f_.kv_columns(), BufferRole::scratch);
    rank.x1 = matrix("x1.", own_, shape_.hidden, BufferRole::scratch);
    if (shape_.experts == 0) return;
    rank.gates = matrix("gates", request_.rows, shape_.experts, BufferRole::scratch);
    for (std::uint64_t e = 0; e < f_.local_experts(); ++e) {
      rank.gated.push_back(
          chain_.matrix(fmt::format("gated.{}.", e), r, request_.rows, shape_.intermediate, BufferRole::scratch));
    }
  }

  Status attention() {
    const std::uint64_t columns = f_.q_columns() + 2 * f_.kv_columns();
    CORTADO_ASSIGN_OR_RETURN(const auto qkv, pairs_.gather_and_multiply("qkv", {request_.rows, columns, shape_.hidden},
                                                                        [&](std::uint32_t r, const Region& a) {
                                                                          const LayerRank& rank = ranks_[r].caller;
                                                                          chain_.kernel(r,
                                                                                        f_.norm(rank.x, rank.norm1, a));
                                                                        }));
    CORTADO_ASSIGN_OR_RETURN(
        const auto o, pairs_.multiply_and_reduce("o", {request_.rows, shape_.hidden, f_.q_columns()},
                                                 [&](std::uint32_t r, const Region& a) { attend(r, qkv[r].c, a); }));
    for (std::uint32_t r = 0; r < request_.ranks; ++r) {
      ranks_[r].caller.qkv = qkv[r].b;
      ranks_[r].caller.o = o[r].b;
      chain_.kernel(r, sum({ranks_[r].caller.x, o[r].c}, ranks_[r].x1));
    }
    return {};
  }

  void attend(std::uint32_t r, const Region& qkv, const Region& result) {
    const Rank& rank = ranks_[r];
    const auto& [keys, values, positions] = std::tie(rank.caller.keys, rank.caller.values, rank.caller.positions);
    chain_.kernel(r, f_.rope(f_.q(qkv), positions, rank.q));
    chain_.kernel(r, f_.rope(f_.k(qkv), positions, rank.k));
    chain_.kernel(r, f_.append(keys, rank.k, positions, keys));
    chain_.kernel(r, f_.append(values, f_.v(qkv), positions, values));
    chain_.kernel(r, f_.attention(rank.q, keys, values, positions, result));
  }

  Status feed_forward() {
    CORTADO_ASSIGN_OR_RETURN(const auto gate_up,
                             pairs_.gather_and_multiply("gate_up", {request_.rows, f_.first_columns(), shape_.hidden},
                                                        [&](std::uint32_t r, const Region& a) {
                                                          const Rank& rank = ranks_[r];
                                                          chain_.kernel(r, f_.norm(rank.x1, rank.caller.norm2, a));
                                                        }));
    CORTADO_ASSIGN_OR_RETURN(const auto down,
                             pairs_.multiply_and_reduce("down", {request_.rows, shape_.hidden, f_.second_rows()},
                                                        [&](std::uint32_t r, const Region& a) {
                                                          const Rank& rank = ranks_[r];
                                                          activate(r, gate_up[r].c, rank.gates, rank.gated, a,
                                                                   [&](const Call& call) { chain_.kernel(r, call); });
                                                        }));
    for (std::uint32_t r = 0; r < request_.ranks; ++r) {
      ranks_[r].caller.gate_up = gate_up[r].b;
      ranks_[r].caller.down = down[r].b;
      chain_.kernel(r, sum({ranks_[r].x1, down[r].c}, ranks_[r].caller.y));
    }
    return {};
  }

  /// What comes between the two GEMMs of the feed-forward part, in both program and formula.
  template <class Add>
  void activate(std::uint32_t r, const Region& first, const Region& gates, const std::vector<Region>& gated,
                const Region& second, Add&& add) const {
    if (shape_.experts == 0) return add(f_.swiglu(first, second));
    add(f_.route(columns_of(first, 0, shape_.experts), gates));
    for (std::uint64_t e = 0; e < f_.local_experts(); ++e) {
      add(f_.swiglu(f_.of_expert(first, e), gated[e]));
      add(f_.scale(gated[e], gates, r * f_.local_experts() + e, f_.rows_for_down(second, e)));
    }
  }

  /// The layer as defined: every line on whole matrices, and rank by rank only where the weights are divided.
  void add_formula() {
    const std::uint64_t rows = request_.rows;
    const Region h1 = chain_.value("h1", rows, shape_.hidden);
    const Region x1 = chain_.value("x1", rows, shape_.hidden);
    const Region h2 = chain_.value("h2", rows, shape_.hidden);
    const Region y = chain_.value("y", rows, shape_.hidden);
    for_ranks([&](std::uint32_t r, const LayerRank& in) { chain_.step(f_.norm(in.x, in.norm1, own(h1, r))); });
    std::vector<Region> heads;
    for_ranks([&](std::uint32_t r, const LayerRank& in) { heads.push_back(formula_of_heads(r, in, h1)); });
    for_ranks([&](std::uint32_t r, const LayerRank& in) { chain_.step(sum(with(in.x, heads, r), own(x1, r))); });
    for_ranks([&](std::uint32_t r, const LayerRank& in) { chain_.step(f_.norm(own(x1, r), in.norm2, own(h2, r))); });
    std::vector<Region> parts;
    for_ranks([&](std::uint32_t r, const LayerRank& in) { parts.push_back(formula_of_columns(r, in, h2)); });
    for_ranks([&](std::uint32_t r, const LayerRank& in) {
      chain_.step(sum(with(own(x1, r), parts, r), own(y, r)));
      chain_.output(in.y, own(y, r));
    });
  }

  Region formula_of_heads(std::uint32_t r, const LayerRank& in, const Region& h) {
    const std::uint64_t rows = request_.rows;
    const Region qkv = value("qkv", r, rows, f_.q_columns() + 2 * f_.kv_columns());
    const Region q = value("q", r, rows, f_.q_columns());
    const Region k = value("k", r, rows, f_.kv_columns());
    const Region keys = value("keys", r, in.keys.rows, f_.kv_columns());
    const Region values = value("values", r, in.keys.rows, f_.kv_columns());
    const Region attended = value("attention", r, rows, f_.q_columns());
    const Region projected = value("o", r, rows, shape_.hidden);
    chain_.step(product(h, in.qkv, qkv));
    chain_.step(f_.rope(f_.q(qkv), in.positions, q));
    chain_.step(f_.rope(f_.k(qkv), in.positions, k));
    chain_.step(f_.append(in.keys, k, in.positions, keys));
    chain_.step(f_.append(in.values, f_.v(qkv), in.positions, values));
    chain_.step(f_.attention(q, keys, values, in.positions, attended));
    chain_.step(product(attended, in.o, projected));
    chain_.output(in.keys, keys);
    chain_.output(in.values, values);
    return projected;
  }

  Region formula_of_columns(std::uint32_t r, const LayerRank& in, const Region& h) {
    const Region gate_up = value("gate_up", r, request_.rows, f_.first_columns());
    const Region activated = value("activated", r, request_.rows, f_.second_rows());
    const Region projected = value("down", r, request_.rows, shape_.hidden);
    const Region gates = shape_.experts > 0 ? value("gates", r, request_.rows, shape_.experts) : Region{};
    std::vector<Region> gated;
    for (std::uint64_t e = 0; e < f_.local_experts(); ++e) {
      gated.push_back(value(fmt::format("gated{}", e).c_str(), r, request_.rows, shape_.intermediate));
    }
    chain_.step(product(h, in.gate_up, gate_up));
    activate(r, gate_up, gates, gated, activated, [&](const Call& call) { chain_.step(call); });
    chain_.step(product(activated, in.down, projected));
    return projected;
  }

  template <class Visitor>
  void for_ranks(Visitor&& visit) {
    for (std::uint32_t r = 0; r < request_.ranks; ++r) visit(r, ranks_[r].caller);
  }
  Region value(const char* name, std::uint32_t r, std::uint64_t rows, std::uint64_t columns) {
    return chain_.value(fmt::format("{}.{}", name, r), rows, columns);
  }
  /// The rows of a rank.
  Region own(const Region& all, std::uint32_t r) const { return rows_of(all, r * own_, own_); }
  std::vector<Region> with(const Region& first, const std::vector<Region>& matrices, std::uint32_t r) const {
    std::vector<Region> terms{first};
    for (const Region& matrix : matrices) terms.push_back(own(matrix, r));
    return terms;
  }

  const PassRequest& request_;
  const LayerShape& shape_;
  const std::uint64_t own_;  // rows of a rank
  const Functions f_;
  Chain chain_;
  Pairs pairs_;
  std::vector<Rank> ranks_;
};

}  // namespace
}  // namespace plan

Result<LayerProgram> plan_layer(const PassRequest& request, const Machine& machine, const PairPlanner& pairs) {
  CORTADO_ASSIGN_OR_RETURN(const PassRequest checked, plan::check_pass(request, machine));
  return plan::LayerPlanner(checked, machine, pairs).plan();
}

Result<EmbeddingProgram> plan_embedding(const PassRequest& request, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const PassRequest checked, plan::check_pass(request, machine));
  const std::uint64_t rows = checked.rows / checked.ranks;
  plan::Chain chain("embedding", machine, checked.ranks);
  EmbeddingProgram embedding;
  for (std::uint32_t r = 0; r < checked.ranks; ++r) {
    const EmbeddingRank rank{
        chain.matrix("tokens", r, rows, 1, BufferRole::input),
        chain.matrix("table", r, checked.shape.vocabulary, checked.shape.hidden, BufferRole::input),
        chain.matrix("x", r, rows, checked.shape.hidden, BufferRole::output)};
    const Region value = chain.value(fmt::format("x.{}", r), rows, checked.shape.hidden);
    chain.kernel(r, Call{Function::embedding, {rank.tokens, rank.table}, rank.x, {}});
    chain.step(Call{Function::embedding, {rank.tokens, rank.table}, value, {}});
    chain.output(rank.x, value);
    embedding.ranks.push_back(rank);
  }
  embedding.program = std::move(chain).finish();
  return embedding;
}

Result<HeadProgram> plan_head(const PassRequest& request, const Machine& machine, const PairPlanner& pairs) {
  CORTADO_ASSIGN_OR_RETURN(const PassRequest checked, plan::check_pass(request, machine));
  const LayerShape& shape = checked.shape;
  const std::uint64_t own = checked.rows / checked.ranks;
  const std::uint64_t columns = shape.vocabulary / checked.ranks;
  const plan::Functions functions(checked);
  plan::Chain chain("head", machine, checked.ranks);
  plan::Pairs stages(chain, machine, pairs);
  HeadProgram head;
  for (std::uint32_t r = 0; r < checked.ranks; ++r) {
    head.ranks.push_back({chain.matrix("x", r, own, shape.hidden, BufferRole::input),
                          chain.matrix("norm", r, 1, shape.hidden, BufferRole::input),
                          {},
                          chain.matrix("logits", r, checked.rows, shape.vocabulary, BufferRole::output),
                          chain.matrix("tokens", r, checked.rows, 1, BufferRole::output)});
  }
  CORTADO_ASSIGN_OR_RETURN(const auto made,
                           stages.gather_and_multiply(
                               "logits", {checked.rows, columns, shape.hidden}, [&](std::uint32_t r, const Region& a) {
                                 chain.kernel(r, functions.norm(head.ranks[r].x, head.ranks[r].norm, a));
                               }));
  CORTADO_ASSIGN_OR_RETURN(const auto gathered,
                           stages.gather("gathered", checked.rows, columns, [&](std::uint32_t r, const Region& block) {
                             chain.kernel(r, Copy{made[r].c, block});
                           }));
  const Region h = chain.value("h", checked.rows, shape.hidden);
  const Region logits = chain.value("logits", checked.rows, shape.vocabulary);
  const Region tokens = chain.value("tokens", checked.rows, 1);
  for (std::uint32_t r = 0; r < checked.ranks; ++r) {
    HeadRank& rank = head.ranks[r];
    rank.weight = made[r].b;
    for (std::uint32_t from = 0; from < checked.ranks; ++from) {
      chain.kernel(r, Copy{plan::rows_of(gathered[r], from * checked.rows, checked.rows),
                           plan::columns_of(rank.logits, from * columns, columns)});
    }
    chain.kernel(r, Call{Function::argmax, {rank.logits}, rank.tokens, {}});
    chain.step(functions.norm(rank.x, rank.norm, plan::rows_of(h, r * own, own)));
  }
  for (std::uint32_t r = 0; r < checked.ranks; ++r) {
    chain.step(plan::product(h, head.ranks[r].weight, plan::columns_of(logits, r * columns, columns)));
  }
  chain.step(Call{Function::argmax, {logits}, tokens, {}});
  for (const HeadRank& rank : head.ranks) {
    chain.output(rank.logits, logits);
    chain.output(rank.tokens, tokens);
  }
  head.program = std::move(chain).finish();
  return head;
}

}  // namespace cortado
