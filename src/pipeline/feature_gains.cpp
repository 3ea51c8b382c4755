#include "pipeline/feature_gains.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cortado/model.hpp"
#include "cortado/plan.hpp"
#include "cortado/study.hpp"
#include "cortado/target.hpp"

#include "base/text.hpp"
#include "pipeline/kv/transfer.hpp"

namespace cortado::pipeline {
namespace {

/// A variant or strategy, and its time.
struct FastestWay {
  std::string name;
  double seconds = 0;
};

/// A KV fetch of the table.
struct FetchQuestion {
  std::string_view model;
  std::uint32_t tp;
  std::uint64_t tokens;
  std::string_view layout;
};

constexpr FetchQuestion kAskedFetches[] = {{"llama-3.1-8b", 1, 8192, "per-layer"},
                                           {"llama-3.1-70b", 8, 8192, "per-layer"},
                                           {"llama-3.1-70b", 8, 8192, "cross-layer"},
                                           {"deepseek-v3", 8, 8192, "layer"}};
constexpr std::string_view kFetchedBy[] = {"b2b",        "b2b/4",        "b2b-prelaunch", "b2b-prelaunch/4",
                                           "bcst",       "shard+gather", "b2b-list",      "b2b-list/4",
                                           "b2b-device", "b2b-device/4", "mcast"};
constexpr std::string_view kAskedCollectives[] = {"all-gather", "all-reduce"};
constexpr Bytes kAskedSizes[] = {64_KiB, 64_MiB};

/// A kernel or a library call precedes the copies: who rings the doorbell?
constexpr std::string_view kRinging = "device-initiated";

Outcome<std::optional<double>> collective_seconds(const CollectiveRequest& request, const Machine& machine) {
  auto program = plan_collective(request, machine);
  if (!program) {  // not applicable: no candidate
    if (program.error().about == About::machine || program.error().about == About::strategy) {
      return std::optional<double>{};
    }
    return fail_at(Stage::plan, program.error());
  }
  const auto run = simulate_checked(unproved(*std::move(program), machine), {.sim = {.span_names = false}});
  if (!run) return fail(run.error());
  return std::optional(static_cast<double>(run->time.value) * 1e-9);
}

/// The fastest variant on DMA engines, submitted when it starts or before.
Outcome<FastestWay> fastest_collective(Collective collective, Bytes bytes, const Machine& machine) {
  FastestWay best;
  for (const VariantInfo& variant : list_variants(collective)) {
    if (variant.on_cores || variant.of_library) continue;
    for (const bool prelaunch : {false, true}) {
      CollectiveRequest request{.collective = collective, .variant = variant.variant, .bytes = bytes};
      request.prelaunch = prelaunch;
      request.in_place = default_in_place(collective, variant.variant);
      const auto seconds = collective_seconds(request, machine);
      if (!seconds) return fail(seconds.error());
      if (!*seconds || (!best.name.empty() && best.seconds <= **seconds)) continue;
      best = {variant.variant + (prelaunch ? " prelaunch" : ""), **seconds};
    }
  }
  return best;
}

/// As a library does it: after a barrier, by calls of the host or, if kernels can ring doorbells, by a kernel.
Outcome<FastestWay> fastest_of_library(Collective collective, Bytes bytes, const Machine& machine) {
  const bool rings = machine.features.device_initiated.has_value();
  FastestWay best;
  for (const std::string_view variant : {"pcpy", "b2b", "bcst"}) {
    CollectiveRequest request{.collective = collective, .variant = std::string(variant), .bytes = bytes};
    request.runtime = rings ? RuntimeMode::device : RuntimeMode::library;
    request.in_place = default_in_place(collective, request.variant);
    const auto seconds = collective_seconds(request, machine);
    if (!seconds) return fail(seconds.error());
    if (!*seconds || (!best.name.empty() && best.seconds <= **seconds)) continue;
    best = {fmt::format("{} by {}", variant, rings ? "a kernel" : "calls"), **seconds};
  }
  return best;
}

Outcome<FastestWay> fastest_fetch(const FetchQuestion& question, const Machine& machine) {
  const auto model = load_model(std::string(question.model));
  if (!model) return fail_at(Stage::plan, model.error());
  auto request = kv_request(*model, {.tp = question.tp, .layout = std::string(question.layout)}, machine);
  if (!request) return fail_at(Stage::plan, request.error());
  request->blocks = question.tokens / KvBlocks{}.tokens;
  FastestWay best;
  for (const std::string_view name : kFetchedBy) {
    const auto strategy = plan::find_kv_strategy(name);
    if (!strategy) return fail_at(Stage::plan, strategy.error());
    const auto line = kv_line(*strategy, *request, machine);
    if (!line) continue;  // does not apply
    const auto transfer = kv_transfer(*strategy, *request, machine, *line);
    if (!transfer) return fail(transfer.error());
    if (best.name.empty() || transfer->seconds < best.seconds) best = {std::string(name), transfer->seconds};
  }
  return best;
}

class GainStudy {
 public:
  explicit GainStudy(const Machine& machine) : machine_(machine) {}

  Outcome<FeatureGains> run(const std::vector<std::string>& features) {
    gains_.machine = machine_.name;
    for (const std::string& feature : features) {
      const auto changed = with_features(machine_, {feature});
      if (!changed) return fail_at(Stage::plan, changed.error());
      for (const std::string_view name : kAskedCollectives) {
        const Collective collective = find_collective(name).value();
        const bool library = feature == kRinging;
        if (library && collective != "all-gather") continue;  // libraries have no other on copy engines
        for (const Bytes bytes : kAskedSizes) {
          auto added = add(feature, fmt::format("{} {}{}", name, format_bytes(bytes), library ? ", library" : ""),
                           *changed, [&](const Machine& machine) {
                             return library ? fastest_of_library(collective, bytes, machine)
                                            : fastest_collective(collective, bytes, machine);
                           });
          if (!added) return fail(added.error());
        }
      }
      for (const FetchQuestion& question : kAskedFetches) {
        const std::string text = fmt::format("KV {} tp {} {}", question.model, question.tp, question.layout);
        auto added =
            add(feature, text, *changed, [&](const Machine& machine) { return fastest_fetch(question, machine); });
        if (!added) return fail(added.error());
      }
    }
    return std::move(gains_);
  }

 private:
  /// A machine may leave a feature unused.
  template <class Fastest>
  Outcome<void> add(const std::string& feature, const std::string& question, const Machine& changed,
                    Fastest&& fastest) {
    auto known = today_.find(question);
    if (known == today_.end()) {
      const auto timed = fastest(machine_);
      if (!timed) return fail(timed.error());
      known = today_.emplace(question, *timed).first;
    }
    const auto tomorrow = fastest(changed);
    if (!tomorrow) return fail(tomorrow.error());
    const FastestWay& better = tomorrow->seconds < known->second.seconds ? *tomorrow : known->second;
    gains_.rows.push_back({feature, question, known->second.name, known->second.seconds, better.name, better.seconds});
    return {};
  }

  const Machine& machine_;
  std::map<std::string, FastestWay> today_;  // by question
  FeatureGains gains_;
};

}  // namespace

std::vector<std::string_view> engine_features() {
  return {"multicast", "fused-packets", "indirect", "engine-add", "device-initiated"};
}

std::vector<std::string> lacking_features(const Machine& machine) {
  std::vector<std::string> lacking;
  for (const std::string_view name : engine_features()) {
    if (with_features(machine, {std::string(name)})) lacking.emplace_back(name);
  }
  return lacking;
}

Outcome<FeatureGains> feature_gains(const Machine& machine, const std::vector<std::string>& features) {
  return GainStudy(machine).run(features);
}

report::Document feature_gains_document(const FeatureGains& gains) {
  using report::Cell;
  const std::vector<report::Field<FeatureGain>> fields{
      {{.key = "feature", .head = "feature", .meaning = "feature that the machine lacks"},
       [](const FeatureGain& row) { return Cell(row.feature); }},
      {{.key = "question", .head = "question", .meaning = "collective and size, or KV fetch"},
       [](const FeatureGain& row) { return Cell(row.question); }},
      {{.key = "today", .head = "today", .meaning = "fastest without the feature"},
       [](const FeatureGain& row) { return Cell(row.today); }},
      {{.key = "today_us", .head = "time", .unit = "us", .digits = 1, .meaning = "its time"},
       [](const FeatureGain& row) { return Cell(row.today_seconds * 1e6); }},
      {{.key = "tomorrow", .head = "with it", .meaning = "fastest with the feature, or without if that is faster"},
       [](const FeatureGain& row) { return Cell(row.tomorrow); }},
      {{.key = "tomorrow_us", .head = "time", .unit = "us", .digits = 1, .meaning = "its time"},
       [](const FeatureGain& row) { return Cell(row.tomorrow_seconds * 1e6); }},
      {{.key = "gain", .head = "gain", .digits = 2, .meaning = "time today over time with the feature"},
       [](const FeatureGain& row) { return Cell(row.today_seconds / row.tomorrow_seconds); }}};
  report::Document document{.schema = "cortado.feature_gains"};
  document.title = fmt::format("what future features of DMA engines would gain on {}", gains.machine);
  document.about = {"predicted by the simulator; the costs of the features are assumptions from mi300x-8+codesign",
                    "KV: 8192 tokens from host memory to every GPU, in blocks of 16"};
  document.facts = {{"machine", gains.machine, "machine that lacks the features", true}};
  document.tables.push_back(report::table_of<FeatureGain>("rows", "one per feature and question", fields, gains.rows));
  document.tables.back().charts = {{.kind = report::Chart::Kind::beside,
                                    .title = "Gain by feature",
                                    .values = {"gain"},
                                    .labels = {"feature", "question"},
                                    .about = "Time today over time with the feature; 1: no gain."}};
  return document;
}

}  // namespace cortado::pipeline
