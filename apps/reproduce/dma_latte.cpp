// DMA-Latte (arXiv 2511.06605): phases of one copy, speed-ups of the all-gather and all-to-all variants over pcpy, and
// DMA against GPU cores; inference (dma_latte_inference.hpp).
//
// Programs as the published measurements ran them: one host thread, all-gather in place, all-to-all without the block
// of a rank for itself, one trigger word per queue. The GPU-core library takes the faster of its two protocols for
// all-gather; its all-to-all consists of sends and receives, which shake hands first (protocol simple). Averages are
// geometric, those of power arithmetic.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "base/check.hpp"
#include "pipeline/breakdown.hpp"
#include "pipeline/choose.hpp"
#include "reproduce/dma_latte_inference.hpp"
#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

constexpr Bytes kLatencyBound = 32_MiB;  // "small" in the paper is below
constexpr std::string_view kInference = "inference";
constexpr std::string_view kPower = "power";  // figures of machines that describe power
/// On as many compute units as libraries use: the units they hold draw power, whether needed or not.
constexpr std::string_view kLibrary = "library";
constexpr std::string_view kPrelaunched = "+PL";
constexpr Collective kDmaLatteCollectives[] = {"all-gather", "all-to-all"};

/// "b2b+PL" is variant b2b, prelaunched.
CollectiveRequest request_for(Collective collective, std::string column, Bytes bytes) {
  CollectiveRequest request;
  request.collective = collective;
  request.bytes = bytes;
  request.prelaunch = column.ends_with(kPrelaunched);
  if (request.prelaunch) column.resize(column.size() - kPrelaunched.size());
  request.variant = column;
  request.trigger_words = request.prelaunch ? TriggerWords::per_queue : TriggerWords::shared;
  request.in_place = collective == "all-gather" || column == "swap";
  request.own_block = collective == "all-gather";
  return request;
}

std::vector<std::string> dma_columns(Collective collective) {
  const std::string other = collective == "all-gather" ? "bcst" : "swap";
  return {"pcpy", "pcpy+PL", other, other + "+PL", "b2b", "b2b+PL"};
}

/// The direct kernels that RCCL had for small messages when this was measured (MSCCL); for large ones it has rings
/// (kLibrary).
std::vector<std::string> core_columns(Collective collective) {
  if (collective == "all-to-all") return {"cores-simple"};
  return {"cores-ll", "cores-simple"};
}

/// Simulated times, and mean watts of a GPU on machines with power, by (collective, column, size).
class Times {
 public:
  using Key = std::tuple<Collective, std::string, Bytes>;
  struct Point {
    double microseconds = 0;
    double watts = 0;
  };

  void want(Collective collective, const std::string& column, Bytes size) {
    points_.try_emplace({collective, column, size});
  }
  std::vector<Key> wanted() const {
    std::vector<Key> keys;
    for (const auto& [key, point] : points_) keys.push_back(key);
    return keys;
  }
  void set(const Key& key, const Point& point) { points_.at(key) = point; }

  double of(Collective collective, const std::string& column, Bytes size) const {
    return points_.at({collective, column, size}).microseconds;
  }
  double watts(Collective collective, const std::string& column, Bytes size) const {
    return points_.at({collective, column, size}).watts;
  }
  double best_dma(Collective collective, Bytes size) const {
    double best = INFINITY;
    for (const std::string& column : dma_columns(collective)) best = std::min(best, of(collective, column, size));
    return best;
  }
  double cores(Collective collective, Bytes size) const {
    double best = INFINITY;
    for (const std::string& column : core_columns(collective)) best = std::min(best, of(collective, column, size));
    return best;
  }

 private:
  std::map<Key, Point> points_;
};

/// Geometric mean of ratio(size) over the sizes that `chosen` accepts.
double geomean(const std::vector<Bytes>& sizes, const std::function<bool(Bytes)>& chosen,
               const std::function<double(Bytes)>& ratio) {
  double sum = 0;
  double count = 0;
  for (const Bytes size : sizes) {
    if (!chosen(size)) continue;
    sum += std::log(ratio(size));
    count += 1;
  }
  return std::exp(sum / count);
}

/// Beyond what is latency-bound on GPU cores in either collective (ConCCL: below 32 MB all-gather, 64 MB all-to-all).
bool large_on_cores(Bytes size) {
  return size >= 64_MiB;
}
/// Sizes at which power was compared: large for GPU cores, up to the largest common ones.
bool large_for_power(Bytes size) {
  return large_on_cores(size) && size <= 1_GiB;
}
bool small(Bytes size) {
  return size < kLatencyBound;
}
bool large(Bytes size) {
  return size >= kLatencyBound;
}

std::size_t argmax(const std::vector<std::optional<double>>& values, std::size_t count) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (values[i].value_or(0) > values[best].value_or(0)) best = i;
  }
  return best;
}

/// Percent of the sizes at which the fastest column ("best" is last) is the published one.
double winners(const report::ReproducedTable& table) {
  const std::size_t columns = table.published.columns.size() - 1;
  double right = 0;
  for (std::size_t i = 0; i < table.published.sizes.size(); ++i) {
    const std::vector<std::optional<double>> ours(table.ours[i].begin(), table.ours[i].end());
    right += argmax(table.published.values[i], columns) == argmax(ours, columns) ? 1 : 0;
  }
  return 100 * right / static_cast<double>(table.published.sizes.size());
}

class DmaLatte {
 public:
  DmaLatte(const published::Publication& publication, const Machine& machine)
      : publication_(publication),
        machine_(machine),
        phases_(table("copy-phases")),
        all_gather_(table("all-gather")),
        all_to_all_(table("all-to-all")),
        cost_(simulated_cost(machine)) {}

  Outcome<report::Reproduction> compute(const ReproduceOptions& options) {
    if (const auto status = simulate_all(options); !status) return fail(status.error());
    report::Reproduction ours{publication_.name, publication_.title, publication_.source, machine_.name, {}, {}};
    ours.tables.push_back({phases_, phase_shares_});
    ours.tables.push_back(speed_ups(all_gather_));
    ours.tables.push_back(speed_ups(all_to_all_));
    std::vector<InferenceGain> gains;
    if (!options.collectives_only && machine_.timing->host_link) {
      auto computed = inference_gains(machine_);
      if (!computed) return fail(computed.error());
      gains = *std::move(computed);
      ours.own.push_back(inference_table(gains));
    }
    for (const published::Figure& figure : publication_.figures) {
      if (figure.name.starts_with(kPower) && !machine_.power) continue;
      if (figure.name.starts_with(kInference)) {
        if (!gains.empty()) ours.figures.push_back({figure, inference_figure(figure.name, gains)});
        continue;
      }
      ours.figures.push_back({figure, figure_value(figure.name, ours.tables[1])});
    }
    return ours;
  }

 private:
  const published::Table& table(std::string_view name) const {
    const published::Table* found = publication_.table(name);
    CORTADO_CHECK(found != nullptr, "dma-latte.toml has this table");
    return *found;
  }

  Outcome<void> simulate_all(const ReproduceOptions& options) {
    for (const Collective collective : kDmaLatteCollectives) {
      for (const Bytes size : table(collective.name()).sizes) {
        for (const std::string& column : dma_columns(collective)) times_.want(collective, column, size);
        for (const std::string& protocol : core_columns(collective)) times_.want(collective, protocol, size);
        if (large_on_cores(size)) times_.want(collective, std::string(kLibrary), size);
      }
    }
    const auto wanted = times_.wanted();
    phase_shares_.resize(phases_.sizes.size());
    const std::size_t phases = phases_.sizes.size();
    return run_all(phases + wanted.size(), options, [&](std::size_t i) {
      return i < phases ? simulate_phases(i) : simulate_collective_time(wanted[i - phases]);
    });
  }

  Outcome<void> simulate_phases(std::size_t size) {
    CORTADO_ASSIGN_OR_RETURN(const CopyReport phases, copy_phases(phases_.sizes[size], machine_, *simulator()));
    const auto total = static_cast<double>(phases.total().value);
    for (const Nanoseconds phase : phases.in_order()) {
      phase_shares_[size].push_back(100 * static_cast<double>(phase.value) / total);
    }
    return {};
  }

  Outcome<void> simulate_collective_time(const Times::Key& key) {
    const auto& [collective, column, size] = key;
    CollectiveRequest request = request_for(collective, column, size);
    if (column == kLibrary) {
      const auto library = library_collective(request, machine_, *cost_);
      if (!library) return fail_at(Stage::plan, library.error());
      request = *library;
    }
    const auto report = predict(plan_collective(request, machine_), machine_);
    if (!report) return fail(report.error());
    const auto use = energy_of_iteration(report->timeline);
    // Every key already exists and is set by one thread.
    times_.set(key, {microseconds(report->time), use ? use->watts() : 0});
    return {};
  }

  report::ReproducedTable speed_ups(const published::Table& table) const {
    report::ReproducedTable result{table, {}};
    const Collective collective = find_collective(table.name).value();
    for (const Bytes size : table.sizes) {
      auto& row = result.ours.emplace_back();
      const double baseline = times_.of(collective, "pcpy", size);
      for (const std::string& column : table.columns) {
        row.push_back(column == "best" ? *std::max_element(row.begin(), row.end())
                                       : baseline / times_.of(collective, column, size));
      }
    }
    return result;
  }

  double figure_value(const std::string& name, const report::ReproducedTable& all_gather) const {
    const std::vector<Bytes>& sizes = all_gather_.sizes;
    const auto pcpy = [&](Collective collective, Bytes size) { return times_.of(collective, "pcpy", size); };
    const auto best = [&](Collective collective, Bytes size) { return times_.best_dma(collective, size); };
    const auto cores = [&](Collective collective, Bytes size) { return times_.cores(collective, size); };
    const auto library = [&](Collective collective, Bytes size) {
      return times_.of(collective, std::string(kLibrary), size);
    };
    const auto gather = kDmaLatteCollectives[0];
    const auto exchange = kDmaLatteCollectives[1];
    const std::map<std::string, std::function<double()>> figures{
        {"winner", [&] { return winners(all_gather); }},
        {"geomean",
         [&] {
           return geomean(
               sizes, [](Bytes s) { return s <= kLatencyBound; },
               [&](Bytes s) { return pcpy(gather, s) / best(gather, s); });
         }},
        {"large-best",
         [&] { return geomean(sizes, large, [&](Bytes s) { return pcpy(gather, s) / best(gather, s); }); }},
        {"large-vs-cores",
         [&] { return geomean(sizes, large_on_cores, [&](Bytes s) { return library(gather, s) / pcpy(gather, s); }); }},
        {"small-all-gather",
         [&] { return geomean(sizes, small, [&](Bytes s) { return pcpy(gather, s) / cores(gather, s); }); }},
        {"small-all-to-all",
         [&] {
           return geomean(all_to_all_.sizes, small, [&](Bytes s) { return pcpy(exchange, s) / cores(exchange, s); });
         }},
        {"small-all-gather-best",
         [&] { return geomean(sizes, small, [&](Bytes s) { return best(gather, s) / cores(gather, s); }); }},
        {"small-all-to-all-best",
         [&] {
           return geomean(all_to_all_.sizes, small, [&](Bytes s) { return cores(exchange, s) / best(exchange, s); });
         }},
        {"power",
         [&] {
           const std::string from(kLibrary);
           return (power_change(gather, "pcpy", from) + power_change(exchange, "pcpy", from)) / 2;
         }},
        {"power bcst", [&] { return power_change(gather, "bcst", "pcpy"); }},
        {"power swap", [&] { return power_change(exchange, "swap", "pcpy"); }},
    };
    const auto found = figures.find(name);
    CORTADO_CHECK(found != figures.end(), "every figure of dma-latte.toml is computed here");
    return found->second();
  }

  /// Mean power of one column relative to another: percent, averaged over large sizes.
  double power_change(Collective collective, const std::string& column, const std::string& from) const {
    double sum = 0;
    double count = 0;
    for (const Bytes size : table(collective.name()).sizes) {
      if (!large_for_power(size)) continue;
      sum += times_.watts(collective, column, size) / times_.watts(collective, from, size) - 1;
      count += 1;
    }
    return 100 * sum / count;
  }

  const published::Publication& publication_;
  const Machine& machine_;
  const published::Table& phases_;
  const published::Table& all_gather_;
  const published::Table& all_to_all_;
  std::unique_ptr<CostModel> cost_;
  Times times_;
  std::vector<std::vector<double>> phase_shares_;
};

}  // namespace

Outcome<report::Reproduction> reproduce_dma_latte(const published::Publication& publication, const Machine& machine,
                                                  const ReproduceOptions& options) {
  return DmaLatte(publication, machine).compute(options);
}

}  // namespace cortado::pipeline
