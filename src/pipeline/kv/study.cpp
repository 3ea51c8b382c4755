#include "pipeline/kv/study.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "pipeline/kv/fetch_times.hpp"

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

class KvStudy {
 public:
  KvStudy(const KvStudyRequest& request, const Machine& machine, const KvEngine& engine, std::uint32_t threads)
      : request_(request), machine_(machine), engine_(engine), threads_(threads) {}

  Outcome<KvReport> run() {
    const auto transfer = kv_request(request_.model, request_.blocks, machine_);
    if (!transfer) return fail_at(Stage::plan, transfer.error());
    report_.request = request_;
    report_.machine = machine_.name;
    report_.transfer = *transfer;
    report_.transfer.blocks = request_.tokens / request_.blocks.tokens;
    times_.emplace(*transfer, machine_);
    if (machine_.timing->serving) report_.scheduling_seconds = to_seconds(machine_.timing->serving->request);
    for (auto [seconds, found] : {std::pair(&report_.recompute_seconds, recompute_seconds(request_.tokens)),
                                  {&report_.pass_seconds, pass_seconds(request_.tokens)},
                                  {&report_.token_seconds, seconds_of(1, request_.tokens, true)}}) {
      if (!found) return fail(found.error());
      *seconds = *found;
    }
    report_.recompute_ttft_seconds = report_.scheduling_seconds + report_.recompute_seconds;
    if (auto rows = add_rows(); !rows) return fail(rows.error());
    if (report_.rows.empty()) return std::move(report_);
    if (auto compared = compare(); !compared) return fail(compared.error());
    if (auto even = find_break_even(); !even) return fail(even.error());
    return std::move(report_);
  }

 private:
  // --- Steps ---

  Outcome<double> seconds_of(std::uint64_t tokens, std::uint64_t context, bool last) const {
    const auto step = engine_.step(tokens, context, last);
    if (!step) return fail(step.error());
    return to_seconds(*step);
  }

  /// The prefix and the token after it, in steps of an engine.
  Outcome<double> recompute_seconds(std::uint64_t tokens) {
    const std::uint64_t full = tokens / request_.step_tokens;  // all steps but the last
    while (full_steps_.size() <= full) {
      const std::uint64_t done = (full_steps_.size() - 1) * request_.step_tokens;
      const auto step = engine_.step(request_.step_tokens, done, false);
      if (!step) return fail(step.error());
      full_steps_.push_back(full_steps_.back() + *step);
    }
    const std::uint64_t done = full * request_.step_tokens;
    const auto last = engine_.step(tokens + 1 - done, done, true);
    if (!last) return fail(last.error());
    return to_seconds(full_steps_[full] + *last);
  }

  /// What is not in a complete block, and the token after the prefix.
  Outcome<double> pass_seconds(std::uint64_t tokens) const {
    const std::uint64_t loose = tokens % request_.blocks.tokens;
    return seconds_of(loose + 1, tokens - loose, true);
  }

  // --- Rows ---

  KvRow row_of(std::size_t way, const KvTransfer& transfer) const {
    const plan::KvRequest& asked = report_.transfer;
    const double bytes = static_cast<double>(asked.fragment.value) * static_cast<double>(asked.fragments) *
                         static_cast<double>(asked.blocks);
    KvRow row{times_->name(way),
              transfer,
              bytes / transfer.seconds * 1e-9,
              kv_compute_units(times_->strategy(way), machine_),
              {}};
    if (by_layers(way)) {
      const double start = times_->line(way).fixed.seconds;
      row.first_layer_seconds = start + (transfer.seconds - start) / static_cast<double>(asked.layers);
    }
    return row;
  }

  bool by_layers(std::size_t way) const { return times_->strategy(way).strategy->name == "b2b-layers"; }

  /// What does not apply is left out, without a reason for numbers of engines.
  void try_all() {
    report_.engine_counts = engine_counts(machine_);
    std::vector<std::string> names;
    for (const plan::KvStrategy& strategy : plan::kv_strategies()) {
      names.emplace_back(strategy.name);
      if (!strategy.engines) continue;
      for (const std::uint32_t count : report_.engine_counts) {
        if (count > 1) names.push_back(fmt::format("{}/{}", strategy.name, count));
      }
    }
    const auto added = times_->add(names, report_.transfer.blocks, threads_);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (added[i] || names[i].find('/') != std::string::npos) continue;
      const Diagnostic& why = added[i].error().errors.front();
      if (!lacks_feature(why)) report_.skipped.push_back({names[i], why.message});
    }
  }

  Outcome<void> add_rows() {
    if (report_.transfer.blocks == 0) {
      for (const std::string& name : request_.strategies) {
        if (const auto known = plan::find_kv_strategy(name); !known) return fail_at(Stage::plan, known.error());
      }
      return {};
    }
    if (request_.strategies.empty()) try_all();
    for (const auto& added : times_->add(request_.strategies, report_.transfer.blocks, threads_)) {
      if (!added) return fail(added.error());
    }
    for (std::size_t way = 0; way < times_->size(); ++way) {
      const auto transfer = times_->at(way, report_.transfer.blocks);
      if (!transfer) return fail(transfer.error());
      add_row(row_of(way, *transfer));
    }
    return {};
  }

  /// Of a strategy that was tried with several numbers of engines, one engine and the fastest number are shown.
  void add_row(KvRow row) {
    const auto rows = report_.rows.size();
    const auto family = [](const KvRow& of) { return of.strategy.substr(0, of.strategy.find('/')); };
    const bool tried = request_.strategies.empty() && rows > 0 && family(report_.rows[rows - 1]) == family(row);
    if (!tried) {
      report_.rows.push_back(std::move(row));
      return;
    }
    KvRow& last = report_.rows[rows - 1];
    if (row.transfer.alone_seconds() >= last.transfer.alone_seconds()) return;
    if (last.strategy.find('/') == std::string::npos) {
      report_.rows.push_back(std::move(row));
    } else {
      last = std::move(row);
    }
  }

  // --- Fetch or recompute ---

  /// Time to the first token with a fetch.
  Outcome<double> fetch_ttft(const FetchTimes::Fastest& fetch, std::uint64_t tokens) const {
    if (by_layers(fetch.way)) {
      if (const auto seconds = engine_.by_layers(times_->name(fetch.way), tokens)) return *seconds;
    }
    const auto pass = pass_seconds(tokens);
    if (!pass) return fail(pass.error());
    return report_.scheduling_seconds + fetch.transfer.alone_seconds() + *pass;
  }

  Outcome<void> compare() {
    const auto fetch = times_->fastest(report_.transfer.blocks);
    if (!fetch) return fail(fetch.error());
    const auto best = std::ranges::find(report_.rows, times_->name(fetch->way), &KvRow::strategy);
    report_.best = static_cast<std::size_t>(best - report_.rows.begin());
    const auto seconds = fetch_ttft(*fetch, request_.tokens);
    if (!seconds) return fail(seconds.error());
    report_.fetch_ttft_seconds = *seconds;
    report_.fetch = *seconds < report_.recompute_ttft_seconds;
    report_.kappa = report_.recompute_seconds / static_cast<double>(request_.tokens + 1) /
                    (times_->line(fetch->way).per_block.seconds / static_cast<double>(request_.blocks.tokens));
    return {};
  }

  /// Tries all lengths, the shortest first. Transfers are simulated only where the times of fewer blocks leave it open
  /// who wins.
  Outcome<void> find_break_even() {
    std::optional<std::size_t> layered;
    for (std::size_t way = 0; way < times_->size(); ++way) {
      if (by_layers(way)) layered = way;
    }
    for (std::uint64_t tokens = request_.blocks.tokens; tokens <= request_.tokens; ++tokens) {
      const std::uint64_t blocks = tokens / request_.blocks.tokens;
      const auto recompute = recompute_seconds(tokens);
      if (!recompute) return fail(recompute.error());
      const auto pass = pass_seconds(tokens);
      if (!pass) return fail(pass.error());
      // The pass of the last layer, at least, follows a fetch.
      const double most = *recompute - *pass;
      const bool possible =
          times_->at_least(blocks) < most || (layered && times_->at_least(*layered, blocks) < *recompute);
      if (!possible) continue;
      const auto fetch = times_->fastest(blocks);
      if (!fetch) return fail(fetch.error());
      const auto seconds = fetch_ttft(*fetch, tokens);
      if (!seconds) return fail(seconds.error());
      if (*seconds < report_.scheduling_seconds + *recompute) {
        report_.break_even_tokens = tokens;
        return {};
      }
    }
    return {};
  }

  const KvStudyRequest& request_;
  const Machine& machine_;
  const KvEngine& engine_;
  std::uint32_t threads_;
  KvReport report_;
  std::optional<FetchTimes> times_;
  std::vector<Nanoseconds> full_steps_{Nanoseconds{}};  // of so many full steps of a prompt together
};

}  // namespace

Outcome<KvReport> study_kv(const KvStudyRequest& request, const Machine& machine, const KvEngine& engine,
                           std::uint32_t threads) {
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
  return KvStudy(request, machine, engine, threads).run();
}

}  // namespace cortado::pipeline
