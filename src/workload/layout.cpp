#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cortado/model.hpp"

#include "base/text.hpp"

namespace cortado {
namespace {

constexpr std::array<std::pair<std::string_view, PhaseKind>, 4> kPhases{{{"train", PhaseKind::train},
                                                                         {"prefill", PhaseKind::prefill},
                                                                         {"decode", PhaseKind::decode},
                                                                         {"generate", PhaseKind::generate}}};
constexpr std::array<std::pair<std::string_view, Recompute>, 4> kRecomputes{{{"none", Recompute::none},
                                                                             {"selective", Recompute::selective},
                                                                             {"ops", Recompute::ops},
                                                                             {"full", Recompute::full}}};

Unexpected<Diagnostic> bad_layout(std::string_view message, std::string_view hint) {
  return fail("model.layout", message, hint);
}

/// The divisors of `all` that are powers of two, as a hint.
std::string usable_degrees(std::uint64_t all) {
  std::vector<std::string> degrees;
  for (std::uint64_t degree = 1; degree <= all && degree <= 1024; degree *= 2) {
    if (all % degree == 0) degrees.push_back(fmt::format("{}", degree));
  }
  return join(degrees, ", ");
}

/// A width of a feed-forward matrix that --tp does not divide; 0: it divides all that are split.
std::uint64_t odd_width(const Model& model, std::uint64_t tp, std::uint32_t ep) {
  if (model.intermediate % tp != 0) return model.intermediate;
  if (model.experts && ep == 1 && model.experts->intermediate % tp != 0) return model.experts->intermediate;
  return 0;
}

/// Heads of keys and values are split, or copied to several GPUs if there are fewer of them.
bool splits_kv_heads(const Model& model, std::uint64_t tp) {
  const std::uint64_t kv = model.attention.kv_heads;
  return model.attention.latent || tp >= kv || kv % tp == 0;
}

/// A hint with the degrees that pass every check of --tp below.
std::string use_tp(const Model& model, const Layout& layout, const Machine& machine) {
  std::vector<std::string> degrees;
  for (std::uint64_t tp = 1; tp <= machine.gpus; tp *= 2) {
    if (model.attention.heads % tp == 0 && odd_width(model, tp, layout.ep) == 0 && splits_kv_heads(model, tp) &&
        machine.gpus % tp == 0) {
      degrees.push_back(fmt::format("{}", tp));
    }
  }
  return fmt::format("use --tp {}", join(degrees, ", "));
}

Status check_degrees(const Model& model, const Layout& layout, const Machine& machine) {
  for (const auto& [name, value] : {std::pair("--tp", layout.tp),
                                    {"--ep", layout.ep},
                                    {"--fsdp", layout.fsdp},
                                    {"--dp", layout.dp},
                                    {"--pp", layout.pp},
                                    {"--micro-batches", layout.micro_batches},
                                    {"--stages", layout.stages_per_gpu}}) {
    if (value == 0) return bad_layout(fmt::format("{} is 0", name), "use 1 or more");
  }
  const std::uint64_t heads = model.attention.heads;
  if (heads % layout.tp != 0) {
    return bad_layout(
        fmt::format("{} attention heads of {} cannot be divided by --tp {}", heads, model.name, layout.tp),
        use_tp(model, layout, machine));
  }
  if (const std::uint64_t width = odd_width(model, layout.tp, layout.ep)) {
    return bad_layout(fmt::format("the {} columns of a feed-forward matrix of {} cannot be divided by --tp {}", width,
                                  model.name, layout.tp),
                      use_tp(model, layout, machine));
  }
  if (!splits_kv_heads(model, layout.tp)) {
    return bad_layout(
        fmt::format("{} heads of keys and values cannot be divided by --tp {}", model.attention.kv_heads, layout.tp),
        use_tp(model, layout, machine));
  }
  if (layout.tp > machine.gpus || machine.gpus % layout.tp != 0) {
    return bad_layout(fmt::format("--tp {} does not divide the {} GPUs of {}", layout.tp, machine.gpus, machine.name),
                      use_tp(model, layout, machine));
  }
  if (layout.sp && layout.tp == 1) return bad_layout("--sp needs --tp 2 or more", "pass --tp, or drop --sp");
  if (layout.pp > model.layers.size()) {
    return bad_layout(
        fmt::format("--pp {} is more than the {} layers of {}", layout.pp, model.layers.size(), model.name),
        fmt::format("use --pp {} or fewer", model.layers.size()));
  }
  if (layout.gpus() > machine.gpus && !machine.timing->network) {
    return bad_layout(fmt::format("{} GPUs are more than the {} of {}, which does not describe a network",
                                  layout.gpus(), machine.gpus, machine.name),
                      "use smaller degrees of parallelism, or a machine whose file has [network]");
  }
  return {};
}

Status check_experts(const Model& model, const Layout& layout) {
  if (layout.ep == 1) return {};
  if (!model.experts) {
    return bad_layout(fmt::format("{} has no experts to split by --ep {}", model.name, layout.ep), "drop --ep");
  }
  if (model.experts->count % layout.ep != 0) {
    return bad_layout(
        fmt::format("{} experts of {} cannot be divided by --ep {}", model.experts->count, model.name, layout.ep),
        fmt::format("use --ep {}", usable_degrees(model.experts->count)));
  }
  const std::uint32_t stage = layout.tp * layout.replicas();
  const bool in_group = layout.tp > 1 ? layout.ep == layout.tp : stage % layout.ep == 0;
  if (!in_group) {
    return bad_layout(fmt::format("--ep {} does not fit with --tp {} --fsdp {} --dp {}", layout.ep, layout.tp,
                                  layout.fsdp, layout.dp),
                      layout.tp > 1
                          ? fmt::format("with --tp, experts are split over the same GPUs: use --ep {}", layout.tp)
                          : "experts are split over replicas: make --fsdp or --dp a multiple of --ep");
  }
  return {};
}

Status check_tokens(const Model& model, const Phase& phase) {
  const bool decodes = phase.kind == PhaseKind::decode;
  if (phase.batch == 0) return fail("model.tokens", "a batch of 0 sequences", "use --batch 1 or more");
  if (!decodes && phase.tokens == 0) {
    return fail("model.tokens", fmt::format("{} of 0 tokens", name_of(phase.kind)), "use --tokens 1 or more");
  }
  if (phase.kind == PhaseKind::generate && phase.output == 0) {
    return fail("model.tokens", "generate 0 tokens", "use --output 1 or more");
  }
  const std::uint64_t longest = phase.context + (decodes ? 1 : phase.tokens) + phase.output;
  if (longest <= model.context) return {};
  return fail("model.tokens",
              fmt::format("{} tokens are more than the context of {}, {}", longest, model.name, model.context),
              "use fewer --tokens, --context or --output");
}

double gib(Bytes bytes) {
  return static_cast<double>(bytes.value) / (1ULL << 30);
}

}  // namespace

double Layout::bubble() const {
  const double idle = pp - 1;
  return schedule == PipelineSchedule::interleaved ? idle / stages_per_gpu : idle;
}

std::string_view name_of(PhaseKind kind) {
  return kPhases[static_cast<std::size_t>(kind)].first;
}

Result<PhaseKind> parse_phase(std::string_view name) {
  for (const auto& [known, kind] : kPhases) {
    if (name == known) return kind;
  }
  return fail("usage.phase", fmt::format("unknown phase {}", name), "use train, prefill, decode or generate");
}

std::string_view name_of(Recompute recompute) {
  return kRecomputes[static_cast<std::size_t>(recompute)].first;
}

Result<Recompute> parse_recompute(std::string_view name) {
  for (const auto& [known, recompute] : kRecomputes) {
    if (name == known) return recompute;
  }
  return fail("usage.recompute", fmt::format("--recompute {} is not a known value", name),
              "use none, selective, ops or full");
}

double expert_imbalance(const Experts& experts, std::uint32_t ep, double skew) {
  if (ep <= 1 || skew <= 0) return 1;
  // Popular experts are distributed to the GPUs in turn.
  std::vector<double> load(ep);
  double all = 0;
  for (std::uint64_t expert = 0; expert < experts.count; ++expert) {
    const double share = std::pow(static_cast<double>(expert + 1), -skew);
    load[expert % ep] += share;
    all += share;
  }
  return *std::ranges::max_element(load) * ep / all;
}

Status check_layout(const Model& model, const Layout& layout, const Phase& phase, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_degrees(model, layout, machine));
  CORTADO_RETURN_IF_ERROR(check_experts(model, layout));
  CORTADO_RETURN_IF_ERROR(check_tokens(model, phase));
  const MemoryNeed need = memory_need(model, layout, phase);
  if (need.total() <= machine.memory_bytes) return {};
  return fail("model.memory",
              fmt::format("a GPU needs {:.1f} GiB (weights {:.1f}, gradients {:.1f}, optimizer {:.1f}, activations "
                          "{:.1f}, KV cache {:.1f}), but a GPU of {} has {:.1f}",
                          gib(need.total()), gib(need.weights), gib(need.gradients), gib(need.optimizer),
                          gib(need.activations), gib(need.cache), machine.name, gib(machine.memory_bytes)),
              phase.trains() ? "use more GPUs with --fsdp, --tp or --pp, use --recompute full, or use a smaller --batch"
              : phase.batch > 1 ? "use more GPUs with --tp, use --dtype f8 or --kv-dtype f8, or use a smaller --batch"
                                : "use more GPUs with --tp, or use --dtype f8 or --kv-dtype f8");
}

}  // namespace cortado
