#include "reproduce/dma_latte_inference.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "serve/serve.hpp"

namespace cortado::pipeline {
namespace {

/// Dense and sparse, one GPU and eight, many small fragments and few large ones.
struct InferenceModel {
  const char* name;
  std::uint32_t tp;
  DType dtype;
};
constexpr std::array kInferenceModels{
    InferenceModel{"llama-3.1-8b", 1, DType::bf16}, InferenceModel{"qwen3-30b-a3b", 1, DType::bf16},
    InferenceModel{"llama-3.1-70b", 8, DType::bf16}, InferenceModel{"deepseek-v3", 8, DType::f8}};
constexpr std::array kInferenceContexts{4096U, 16384U, 32768U};
constexpr std::array kInferenceHitRates{0.5, 0.9};
constexpr std::uint64_t kRequestsAtOnce = 32;
constexpr Bytes kHostTier{std::uint64_t{2} << 40};  // holds all prompts of a case

const std::vector<std::string>& inference_ways() {
  static const std::vector<std::string> ways{"b2b", "loop", "batch", serve::kRecompute};
  return ways;
}

Outcome<InferenceGain> gain_of(const InferenceModel& of, std::uint32_t context, double hit_rate,
                               serve::ServingStudy& study) {
  serve::ServeRequest request;
  auto model = load_model(of.name);
  if (!model) return fail_at(Stage::plan, model.error());
  request.model = *std::move(model);
  request.layout.tp = of.tp;
  request.dtype = of.dtype;
  request.host_tier = kHostTier;
  request.ways = inference_ways();
  InferenceGain gain{.model = of.name, .tp = of.tp, .context = context, .hit_rate = hit_rate};
  const auto run = [&](std::uint64_t requests) {
    request.arrivals =
        serve::Generated{.requests = requests, .input = {context, context}, .output = {1, 1}, .hit_rate = hit_rate};
    return study.run(request);
  };
  const auto alone = run(1);
  if (!alone) return fail(alone.error());
  const auto latency = [&](std::size_t way) { return alone->rows[way].ttft.mean / alone->rows[0].ttft.mean; };
  gain.loop_latency = latency(1);
  gain.batch_latency = latency(2);
  gain.recompute_latency = latency(3);
  const auto many = run(kRequestsAtOnce);
  if (!many) return fail(many.error());
  const auto throughput = [&](std::size_t way) { return many->rows[way].seconds() / many->rows[0].seconds(); };
  gain.loop_throughput = throughput(1);
  gain.batch_throughput = throughput(2);
  if (request.model.attention.latent) return gain;
  request.kv_layout = "cross-layer";
  request.ways = {"b2b", "loop"};
  const auto whole = run(1);
  if (!whole) return fail(whole.error());
  gain.whole_latency = whole->rows[1].ttft.mean / whole->rows[0].ttft.mean;
  const auto many_whole = run(kRequestsAtOnce);
  if (!many_whole) return fail(many_whole.error());
  gain.whole_throughput = many_whole->rows[1].seconds() / many_whole->rows[0].seconds();
  return gain;
}

struct InferenceColumn {
  const char* figure;
  const char* head;
  std::optional<double> (*value)(const InferenceGain& gain);
};

template <auto Value>
std::optional<double> value_of(const InferenceGain& gain) {
  return gain.*Value;
}

constexpr std::array kInferenceColumns{
    InferenceColumn{"inference latency over loop", "latency over loop", value_of<&InferenceGain::loop_latency>},
    InferenceColumn{"inference latency over batch", "latency over batch", value_of<&InferenceGain::batch_latency>},
    InferenceColumn{"inference throughput over loop", "throughput over loop",
                    value_of<&InferenceGain::loop_throughput>},
    InferenceColumn{"inference throughput over batch", "throughput over batch",
                    value_of<&InferenceGain::batch_throughput>},
    InferenceColumn{"", "latency over recomputing", value_of<&InferenceGain::recompute_latency>},
    InferenceColumn{"", "one piece: latency over loop", value_of<&InferenceGain::whole_latency>},
    InferenceColumn{"", "one piece: throughput over loop", value_of<&InferenceGain::whole_throughput>}};

std::vector<double> sorted(const std::vector<InferenceGain>& gains, const InferenceColumn& column) {
  std::vector<double> values;
  for (const InferenceGain& gain : gains) {
    if (const auto value = column.value(gain)) values.push_back(*value);
  }
  std::ranges::sort(values);
  return values;
}

}  // namespace

Outcome<std::vector<InferenceGain>> inference_gains(const Machine& machine) {
  std::vector<InferenceGain> gains;
  serve::ServingStudy study(machine);
  for (const InferenceModel& model : kInferenceModels) {
    for (const std::uint32_t context : kInferenceContexts) {
      for (const double hit_rate : kInferenceHitRates) {
        auto gain = gain_of(model, context, hit_rate, study);
        if (!gain) return fail(gain.error());
        gains.push_back(*std::move(gain));
      }
    }
  }
  return gains;
}

double inference_figure(const std::string& name, const std::vector<InferenceGain>& gains) {
  const auto* const column =
      std::ranges::find_if(kInferenceColumns, [&](const InferenceColumn& one) { return name == one.figure; });
  CORTADO_CHECK(column != kInferenceColumns.end(), "every inference figure of dma-latte.toml is computed here");
  return sorted(gains, *column).back();
}

report::Table inference_table(const std::vector<InferenceGain>& gains) {
  std::vector<report::OwnColumn> columns{{"model"}, {"tp"}, {"prompt"}, {"stored before, %"}};
  for (const InferenceColumn& column : kInferenceColumns) columns.push_back({column.head, 2});
  report::Table table = report::own_table(
      "inference",
      "Fetching KV blocks with b2b: gains over one call per fragment, over batch calls, and over recomputing", columns);
  for (const InferenceGain& gain : gains) {
    report::Row row{gain.model, gain.tp, gain.context, 100 * gain.hit_rate};
    for (const InferenceColumn& column : kInferenceColumns) row.emplace_back(column.value(gain));
    table.add(std::move(row));
  }
  const auto add = [&](const char* name, auto of) {
    report::Row row{name, {}, {}, {}};
    for (const InferenceColumn& column : kInferenceColumns) row.emplace_back(of(sorted(gains, column)));
    table.add(std::move(row));
  };
  add("least", [](const std::vector<double>& values) { return values.front(); });
  add("median", [](const std::vector<double>& values) { return values[values.size() / 2]; });
  add("most", [](const std::vector<double>& values) { return values.back(); });
  return table;
}

}  // namespace cortado::pipeline
