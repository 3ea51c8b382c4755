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
  to.steps += from.steps * others;
  to.host += from.host * others;
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

void OverTime::add(const Stretch& stretch) {
  const auto& [begin_ns, end_ns, activity] = stretch;
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
    // Sums of many parts of the time may be rounded up.
    for (double Activity::*share : {&Activity::pool, &Activity::load, &Activity::store}) {
      rates[i].*share = std::min(rates[i].*share, 1.0);
    }
  }
  return rates;
}

void Tally::add(const Stretch& stretch) {
  const double seconds = static_cast<double>(stretch.end_ns - stretch.begin_ns) * 1e-9;
  step_s += stretch.activity.steps * seconds;
  host_s += stretch.activity.host * seconds;
  load_s += stretch.activity.load * seconds;
  store_s += stretch.activity.store * seconds;
  pool_s += stretch.activity.pool * seconds;
  over_time.add(stretch);
}

void Tally::close(std::int64_t last_ns) {
  for (Stretch stretch : std::exchange(tail, {})) {
    stretch.end_ns = std::min(stretch.end_ns, last_ns);
    if (stretch.begin_ns < stretch.end_ns) add(stretch);
  }
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
  arrivals.insert(arrivals.end(), other.arrivals.begin(), other.arrivals.end());
  for (auto [to, from] : {std::pair(&ttft, &other.ttft), {&tpot, &other.tpot}, {&latency, &other.latency}}) {
    to->insert(to->end(), from->begin(), from->end());
  }
  over_time.merge(std::move(other.over_time), replicas);
}

std::optional<Overload> overload_of(const Tally& tally) {
  constexpr double kGrowth = 0.02;
  constexpr double kQueue = 16;
  constexpr double kDeviations = 2;
  if (tally.arrivals.empty()) return std::nullopt;
  const auto [first, last] = std::ranges::minmax(tally.arrivals);
  if (first == last) return std::nullopt;
  const std::int64_t middle = first + (last - first) / 2;
  double late = 0;   // requests that arrive after the middle
  double begun = 0;  // first tokens between the middle and the last arrival
  for (std::size_t i = 0; i < tally.arrivals.size(); ++i) {
    if (tally.arrivals[i] > middle) ++late;
    const double token_ns = static_cast<double>(tally.arrivals[i]) + 1e9 * tally.ttft[i];
    if (token_ns > static_cast<double>(middle) && token_ns <= static_cast<double>(last)) ++begun;
  }
  if (late - begun <= std::max({kGrowth * late, kDeviations * std::sqrt(late), kQueue})) return std::nullopt;
  const double seconds = static_cast<double>(last - first) * 1e-9;
  const Overload overload{static_cast<double>(tally.arrivals.size() - 1) / seconds,
                          static_cast<double>(tally.finished) / (static_cast<double>(tally.end_ns) * 1e-9)};
  return overload.served < (1 - kGrowth) * overload.arriving ? std::optional(overload) : std::nullopt;
}

bool ends_early(const Tally& tally) {
  if (tally.arrivals.empty()) return false;
  const auto [first, last] = std::ranges::minmax(tally.arrivals);
  if (first == last) return false;
  std::size_t answered = 0;
  for (std::size_t i = 0; i < tally.arrivals.size(); ++i) {
    const double answer_ns = static_cast<double>(tally.arrivals[i]) + 1e9 * tally.latency[i];
    if (answer_ns <= static_cast<double>(last)) ++answered;
  }
  return 2 * answered < tally.arrivals.size();
}

}  // namespace cortado::serve
