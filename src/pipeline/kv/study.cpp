#include "pipeline/kv/study.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "cortado/study.hpp"

namespace cortado::pipeline {
namespace {

/// Compared by default: different numbers of engines.
constexpr std::string_view kUsualStrategies[] = {"loop",          "batch",      "b2b",  "b2b/2",        "b2b/4",
                                                 "b2b-prelaunch", "b2b-layers", "bcst", "shard+gather", "kernel"};

/// The same for features that today's machines lack.
std::vector<std::string> codesign_strategies(const Features& features) {
  std::vector<std::string> names;
  if (features.indirect) names.insert(names.end(), {"b2b-list", "b2b-list/4"});
  if (features.device_initiated) names.insert(names.end(), {"b2b-device", "b2b-device/4"});
  if (features.multicast) names.emplace_back("mcast");
  return names;
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
    report_.transfer.blocks = blocks_of(request_.tokens);
    const auto recompute = prefill_seconds(request_.tokens);
    if (!recompute) return fail(recompute.error());
    report_.recompute_seconds = *recompute;
    const auto last = seconds_of({.kind = PhaseKind::decode, .context = request_.tokens});
    if (!last) return fail(last.error());
    report_.last_token_seconds = *last;
    if (machine_.timing->serving) report_.scheduling_seconds = to_seconds(machine_.timing->serving->request);
    if (auto rows = add_rows(); !rows) return fail(rows.error());
    if (auto even = find_break_even(); !even) return fail(even.error());
    return std::move(report_);
  }

 private:
  std::uint64_t blocks_of(std::uint64_t tokens) const {
    return (tokens + request_.blocks.tokens - 1) / request_.blocks.tokens;
  }

  Outcome<double> seconds_of(Phase phase) {
    phase.dtype = request_.dtype;
    phase.kv_dtype = request_.blocks.dtype;
    const auto report = models_.run({request_.model, {.tp = request_.blocks.tp}, phase},
                                    {.systems = kServingSystem, .threads = threads_});
    if (!report) return fail(report.error());
    return report->rows.front().seconds;
  }

  Outcome<double> prefill_seconds(std::uint64_t tokens) {
    if (const auto known = prefills_.find(tokens); known != prefills_.end()) return known->second;
    auto seconds = seconds_of({.kind = PhaseKind::prefill, .tokens = tokens});
    if (seconds) prefills_[tokens] = *seconds;
    return seconds;
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

  /// Strategies that do not apply are left out, unless they were requested.
  Outcome<void> add_rows() {
    const bool asked = !request_.strategies.empty();
    std::vector<std::string> names = request_.strategies;
    if (!asked) {
      names.assign(std::begin(kUsualStrategies), std::end(kUsualStrategies));
      std::ranges::move(codesign_strategies(machine_.features), std::back_inserter(names));
    }
    for (const std::string& name : names) {
      const auto added = add_row(name);
      if (added) continue;
      if (asked) return fail(added.error());
      report_.skipped.push_back({name, added.error().errors.front().message});
    }
    if (report_.rows.empty()) return {};
    const auto best = std::ranges::min_element(report_.rows, {}, [](const KvRow& row) { return row.transfer.seconds; });
    report_.best = static_cast<std::size_t>(best - report_.rows.begin());
    report_.fetch = best->transfer.seconds < report_.recompute_seconds;
    return {};
  }

  /// Each prefix is four times as long as the previous one; between two of them, the difference is interpolated.
  Outcome<void> find_break_even() {
    if (report_.rows.empty()) return {};
    const KvLine& line = lines_[report_.best];
    const auto tokens_of_block = static_cast<double>(request_.blocks.tokens);
    report_.kappa =
        report_.recompute_seconds / static_cast<double>(request_.tokens) / (line.per_block.seconds / tokens_of_block);
    constexpr std::uint64_t kShortest = 16;
    constexpr std::uint64_t kStep = 4;
    double before = 0;
    std::uint64_t shorter = 0;
    for (std::uint64_t tokens = kShortest; tokens <= std::max(request_.tokens, kShortest); tokens *= kStep) {
      const auto recompute = prefill_seconds(tokens);
      if (!recompute) return fail(recompute.error());
      const double gain = *recompute - line.at(blocks_of(tokens)).seconds;
      if (gain > 0) {
        const double share = shorter == 0 ? 1 : -before / (gain - before);
        report_.break_even_tokens =
            shorter + static_cast<std::uint64_t>(std::llround(share * static_cast<double>(tokens - shorter)));
        return {};
      }
      before = gain;
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
  std::vector<KvLine> lines_;  // of the rows
  std::map<std::uint64_t, double> prefills_;
};

}  // namespace

Outcome<KvReport> study_kv(const KvStudyRequest& request, const Machine& machine, std::uint32_t threads) {
  if (request.tokens == 0) {
    return fail_at(Stage::plan, Diagnostic{"kv.tokens", "a prefix of 0 tokens", "use --tokens 1 or more"});
  }
  return KvStudy(request, machine, threads).run();
}

}  // namespace cortado::pipeline
