#include "serve/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace cortado::serve {
namespace {

void add_scaled(Activity& to, const Activity& from, double tokens, double others) {
  to.tokens += from.tokens * tokens;
  to.prompt_tokens += from.prompt_tokens * tokens;
  to.arrived += from.arrived * tokens;
  to.waited += from.waited * tokens;
  to.running += from.running * others;
  to.pool += from.pool * others;
  to.load += from.load * others;
  to.store += from.store * others;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  Spread spread{.values = values.size()};
  std::ranges::sort(values);
  spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  const auto rank = [&](double share) {
    const auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    return values[std::max<std::size_t>(at, 1) - 1];
  };
  spread.p50 = rank(0.5);
  spread.p90 = rank(0.9);
  spread.p99 = rank(0.99);
  return spread;
}

void OverTime::halve() {
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const Activity bin = bins_[i];
    if (i % 2 == 0) {
      bins_[i / 2] = bin;
    } else {
      add_scaled(bins_[i / 2], bin, 1, 1);
    }
  }
  bins_.resize((bins_.size() + 1) / 2);
  bin_ns_ *= 2;
}

void OverTime::add(std::int64_t begin_ns, std::int64_t end_ns, const Activity& activity) {
  if (end_ns <= begin_ns) return;
  while (end_ns > bin_ns_ * static_cast<std::int64_t>(kBins)) halve();
  const auto last = static_cast<std::size_t>((end_ns - 1) / bin_ns_);
  if (bins_.size() <= last) bins_.resize(last + 1);
  const auto whole = static_cast<double>(end_ns - begin_ns);
  for (auto bin = static_cast<std::size_t>(begin_ns / bin_ns_); bin <= last; ++bin) {
    const auto from = static_cast<std::int64_t>(bin) * bin_ns_;
    const auto part = static_cast<double>(std::min(end_ns, from + bin_ns_) - std::max(begin_ns, from));
    add_scaled(bins_[bin], activity, part / whole, part * 1e-9);
  }
}

void OverTime::merge(OverTime other, std::uint32_t replicas) {
  while (bin_ns_ < other.bin_ns_) halve();
  while (other.bin_ns_ < bin_ns_) other.halve();
  if (bins_.size() < other.bins_.size()) bins_.resize(other.bins_.size());
  for (std::size_t i = 0; i < other.bins_.size(); ++i) {
    // Sequences add up over replicas; fractions are averaged.
    const double running = other.bins_[i].running;
    add_scaled(bins_[i], other.bins_[i], 1, 1.0 / replicas);
    bins_[i].running += running * (1 - 1.0 / replicas);
  }
}

std::vector<Activity> OverTime::rates(std::int64_t end_ns) const {
  std::vector<Activity> rates = bins_;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const auto from = static_cast<std::int64_t>(i) * bin_ns_;
    const double seconds = static_cast<double>(std::clamp<std::int64_t>(end_ns - from, 1, bin_ns_)) * 1e-9;
    const Activity sums = std::exchange(rates[i], {});
    add_scaled(rates[i], sums, 1 / seconds, 1 / seconds);
  }
  return rates;
}

std::optional<Overload> OverTime::overload() const {
  constexpr double kGrowth = 0.05;
  constexpr double kQueue = 16;
  std::size_t end = bins_.size();
  while (end > 0 && bins_[end - 1].arrived == 0) --end;
  if (end > 0) --end;  // the last one has arrivals for only a part of its time
  constexpr std::size_t kQuarters = 4;
  if (end < 2 * kQuarters) return std::nullopt;
  const auto sum_of = [&](std::size_t from, std::size_t to) {
    Activity sum;
    for (std::size_t i = from; i < to; ++i) add_scaled(sum, bins_[i], 1, 1);
    return sum;
  };
  const std::size_t quarter = end / kQuarters;
  const Activity before = sum_of(end - 2 * quarter, end - quarter);
  const Activity last = sum_of(end - quarter, end);
  if (before.arrived == 0) return std::nullopt;
  const double seconds = static_cast<double>(quarter) * static_cast<double>(bin_ns_) * 1e-9;
  const double wait = last.waited / last.arrived;
  const double growth = (wait - before.waited / before.arrived) / seconds;
  const double rate = (before.arrived + last.arrived) / (2 * seconds);
  if (growth <= kGrowth || rate * wait < kQueue) return std::nullopt;
  return Overload{rate, rate / (1 + growth)};
}

void Tally::merge(Tally&& other, std::uint32_t replicas) {
  arrived += other.arrived;
  finished += other.finished;
  refused_length += other.refused_length;
  refused_pool += other.refused_pool;
  refused_empty += other.refused_empty;
  preempted += other.preempted;
  recomputed += other.recomputed;
  deadlocks += other.deadlocks;
  prompt_tokens += other.prompt_tokens;
  hbm_tokens += other.hbm_tokens;
  host_tokens += other.host_tokens;
  output_tokens += other.output_tokens;
  steps += other.steps;
  fetches += other.fetches;
  stores += other.stores;
  good += other.good;
  good_tokens += other.good_tokens;
  end_ns = std::max(end_ns, other.end_ns);
  host_s += other.host_s;
  step_s += other.step_s;
  load_s += other.load_s;
  store_s += other.store_s;
  load_bytes += other.load_bytes;
  store_bytes += other.store_bytes;
  pool_s += other.pool_s;
  pool_peak = std::max(pool_peak, other.pool_peak);
  for (auto [to, from] : {std::pair(&ttft, &other.ttft), {&tpot, &other.tpot}, {&latency, &other.latency}}) {
    to->insert(to->end(), from->begin(), from->end());
  }
  over_time.merge(std::move(other.over_time), replicas);
}

}  // namespace cortado::serve
