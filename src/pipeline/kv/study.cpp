#include "pipeline/kv/study.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "cortado/study.hpp"

namespace cortado::pipeline {
namespace {

/// Strategies that need features which machines of today lack are no news if they do not apply.
bool lacks_feature(const Diagnostic& why) {
  return why.code == "kv.feature";
}

/// Powers of two, and all engines.
std::vector<std::uint32_t> engine_counts(const Machine& machine) {
  const auto all = static_cast<std::uint32_t>(plan::kv_engines(machine, plan::KvDirection::fetch).size());
  std::vector<std::uint32_t> counts;
  for (std::uint32_t count = 1; count < all; count *= 2) counts.push_back(count);
  if (all > 0) counts.push_back(all);
  return counts;
}

/// Prompts that serving engines compute: every collective by itself.
const std::vector<std::string> kServingSystem{"serial"};

class KvStudy {
 public:
  KvStudy(const KvStudyRequest& request, const Machine& machine, std::uint32_t threads)
      : request_(request), machine_(machine), threads_(threads), models_(machine) {}

  Outcome<KvReport> run() {
    auto transfer = kv_request(request_.model, request_.blocks, machine_);
    if (!transfer) return fail_at(Stage::plan, transfer.error());
    report_.request = request_;
    report_.machine = machine_.name;
    report_.transfer = *transfer;
    report_.transfer.blocks = request_.tokens / request_.blocks.tokens;
    for (auto [seconds, found] : {std::pair(&report_.recompute_seconds, prefill_seconds(request_.tokens + 1)),
                                  {&report_.pass_seconds, pass_seconds(request_.tokens)},
                                  {&report_.token_seconds, last_token_seconds(request_.tokens)}}) {
      if (!found) return fail(found.error());
      *seconds = *found;
    }
    if (machine_.timing->serving) report_.scheduling_seconds = to_seconds(machine_.timing->serving->request);
    if (auto rows = add_rows(); !rows) return fail(rows.error());
    if (auto even = find_break_even(); !even) return fail(even.error());
    return std::move(report_);
  }

 private:
  Outcome<double> seconds_of(Phase phase) {
    phase.dtype = request_.dtype;
    phase.kv_dtype = request_.blocks.dtype;
    const auto report = models_.run({request_.model, {.tp = request_.blocks.tp}, phase},
                                    {.systems = kServingSystem, .threads = threads_});
    if (!report) return fail(report.error());
    return report->rows.front().seconds;
  }

  /// In steps of an engine.
  Outcome<double> prefill_seconds(std::uint64_t tokens) {
    double seconds = 0;
    for (std::uint64_t done = 0; done < tokens; done += request_.step_tokens) {
      const auto step = chunk_seconds(std::min(request_.step_tokens, tokens - done), done);
      if (!step) return fail(step.error());
      seconds += *step;
    }
    return seconds;
  }

  Outcome<double> chunk_seconds(std::uint64_t tokens, std::uint64_t context) {
    const std::pair key(tokens, context);
    if (const auto known = chunks_.find(key); known != chunks_.end()) return known->second;
    auto seconds = seconds_of({.kind = PhaseKind::prefill, .tokens = tokens, .context = context});
    if (seconds) chunks_[key] = *seconds;
    return seconds;
  }

  Outcome<double> last_token_seconds(std::uint64_t tokens) {
    return seconds_of({.kind = PhaseKind::decode, .context = tokens});
  }

  /// What is not in a complete block, and the token after the prefix.
  Outcome<double> pass_seconds(std::uint64_t tokens) {
    const std::uint64_t loose = tokens % request_.blocks.tokens;
    return loose == 0 ? last_token_seconds(tokens) : chunk_seconds(loose + 1, tokens - loose);
  }

  /// How much earlier the first token comes if the prefix is fetched: recomputing takes the last token along.
  Outcome<double> gain_of(double fetch_seconds, std::uint64_t tokens) {
    const auto recompute = prefill_seconds(tokens + 1);
    if (!recompute) return fail(recompute.error());
    const auto pass = pass_seconds(tokens);
    if (!pass) return fail(pass.error());
    return *recompute - fetch_seconds - *pass;
  }

  Outcome<void> add_row(const std::string& name) {
    const auto strategy = plan::find_kv_strategy(name);
    if (!strategy) return fail_at(Stage::plan, strategy.error());
    const auto line = kv_line(*strategy, report_.transfer, machine_);
    if (!line) return fail(line.error());
    const auto transfer = kv_transfer(*strategy, report_.transfer, machine_, *line);
    if (!transfer) return fail(transfer.error());
    const plan::KvRequest& asked = report_.transfer;
    const double bytes = static_cast<double>(asked.fragment.value) * static_cast<double>(asked.fragments) *
                         static_cast<double>(asked.blocks);
    KvRow row{name, *transfer, bytes / transfer->seconds * 1e-9, kv_compute_units(*strategy, machine_), {}};
    if (strategy->strategy->name == "b2b-layers") {
      row.first_layer_seconds =
          line->fixed.seconds + (transfer->seconds - line->fixed.seconds) / static_cast<double>(asked.layers);
    }
    report_.rows.push_back(std::move(row));
    lines_.push_back(*line);
    return {};
  }

  /// Of a strategy that takes a number of engines, one engine and the fastest number are shown. What does not apply is
  /// left out.
  void add_all() {
    report_.engine_counts = engine_counts(machine_);
    for (const plan::KvStrategy& strategy : plan::kv_strategies()) {
      const std::string name(strategy.name);
      if (const auto added = add_row(name); !added) {
        const Diagnostic& why = added.error().errors.front();
        if (!lacks_feature(why)) report_.skipped.push_back({name, why.message});
        continue;
      }
      if (!strategy.engines) continue;
      const std::size_t one = report_.rows.size() - 1;
      for (const std::uint32_t count : report_.engine_counts) {
        if (count > 1) static_cast<void>(add_row(fmt::format("{}/{}", name, count)));
      }
      keep_fastest_after(one);
    }
  }

  void keep_fastest_after(std::size_t one) {
    const auto first = report_.rows.begin() + static_cast<std::ptrdiff_t>(one);
    const auto fastest =
        std::ranges::min_element(first, report_.rows.end(), {}, [](const KvRow& row) { return row.transfer.seconds; }) -
        report_.rows.begin();
    const auto at = static_cast<std::size_t>(fastest);
    if (at > one) {
      std::swap(report_.rows[one + 1], report_.rows[at]);
      std::swap(lines_[one + 1], lines_[at]);
    }
    const std::size_t kept = at > one ? one + 2 : one + 1;
    report_.rows.erase(report_.rows.begin() + static_cast<std::ptrdiff_t>(kept), report_.rows.end());
    lines_.resize(kept);
  }

  Outcome<void> add_rows() {
    if (report_.transfer.blocks == 0) {
      for (const std::string& name : request_.strategies) {
        if (const auto known = plan::find_kv_strategy(name); !known) return fail_at(Stage::plan, known.error());
      }
      return {};
    }
    if (request_.strategies.empty()) add_all();
    for (const std::string& name : request_.strategies) {
      if (const auto added = add_row(name); !added) return fail(added.error());
    }
    if (report_.rows.empty()) return {};
    const auto best = std::ranges::min_element(report_.rows, {}, [](const KvRow& row) { return row.transfer.seconds; });
    report_.best = static_cast<std::size_t>(best - report_.rows.begin());
    const auto gain = gain_of(best->transfer.seconds, request_.tokens);
    if (!gain) return fail(gain.error());
    report_.fetch = *gain > 0;
    return {};
  }

  /// Prefixes four times as long each; between two of them the gain is taken as a line.
  Outcome<void> find_break_even() {
    if (report_.rows.empty()) return {};
    const KvLine& line = lines_[report_.best];
    const std::uint64_t block = request_.blocks.tokens;
    report_.kappa = report_.recompute_seconds / static_cast<double>(request_.tokens + 1) /
                    (line.per_block.seconds / static_cast<double>(block));
    constexpr std::uint64_t kStep = 4;
    double before = 0;
    std::uint64_t shorter = 0;
    for (std::uint64_t tokens = block; tokens <= request_.tokens; tokens *= kStep) {
      const auto gain = gain_of(line.at(tokens / block).seconds, tokens);
      if (!gain) return fail(gain.error());
      if (*gain > 0) {
        const double share = shorter == 0 ? 1 : -before / (*gain - before);
        report_.break_even_tokens =
            shorter + static_cast<std::uint64_t>(std::llround(share * static_cast<double>(tokens - shorter)));
        return {};
      }
      before = *gain;
      shorter = tokens;
    }
    if (report_.fetch) report_.break_even_tokens = request_.tokens;
    return {};
  }

  const KvStudyRequest& request_;
  const Machine& machine_;
  std::uint32_t threads_;
  ModelStudy models_;
  KvReport report_;
  std::vector<KvLine> lines_;                                         // of the rows
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> chunks_;  // by tokens and context
};

}  // namespace

Outcome<KvReport> study_kv(const KvStudyRequest& request, const Machine& machine, std::uint32_t threads) {
  if (request.tokens == 0) {
    return fail_at(Stage::plan, Diagnostic{"kv.tokens", "a prefix of 0 tokens", "use --tokens 1 or more"});
  }
  if (request.tokens >= request.model.context) {
    return fail_at(Stage::plan, Diagnostic{"kv.tokens",
                                           fmt::format("a prefix of {} tokens and the token that follows it are more "
                                                       "than the context of {}, {}",
                                                       request.tokens, request.model.name, request.model.context),
                                           fmt::format("use --tokens {} or fewer", request.model.context - 1)});
  }
  return KvStudy(request, machine, threads).run();
}

}  // namespace cortado::pipeline
