#include "sim/power/manager.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cortado::sim {
namespace {

// As shares of a control interval.
constexpr double kBrief = 0.01;
constexpr double kSteady = 0.9;

}  // namespace

PowerManager::PowerManager(const PowerManagement& management, const Power& power, std::uint32_t gpus, PowerMeter& meter,
                           bool keep_clocks)
    : policy_(*management.policy),
      power_(power),
      cap_w_(watts_allowed(management, power)),
      headroom_(management.headroom),
      interval_(to_sim_time(power.control_interval)),
      meter_(meter),
      keep_clocks_(keep_clocks),
      gpus_(gpus) {
  for (const Component component : managed_components(management)) moves_[static_cast<std::size_t>(component)] = true;
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    gpus_[gpu].joules = meter_.joules(gpu, {});
    gpus_[gpu].allowed_xcd = meter_.clocks(gpu).xcd;
    for (std::size_t i = 0; i < kClocked.size(); ++i) {
      gpus_[gpu].clocks[i].name = fmt::format("gpu {} {} clock", gpu, name_of(kClocked[i]));
      gpus_[gpu].clocks[i].unit = "GHz";
      gpus_[gpu].clocks[i].rank = RankId{gpu};
    }
    this->keep_clocks(gpu, {});
  }
}

void PowerManager::pass_time(std::uint32_t index, SimTime now) {
  Gpu& gpu = gpus_[index];
  const double seconds = to_seconds(now - gpu.since);
  gpu.since = now;
  if (seconds <= 0) return;
  for (std::size_t i = 0; i < kClocked.size(); ++i) {
    if (gpu.is_awake[i]) {
      gpu.awake[i] += seconds;
      gpu.clocked[i] += seconds * gpu.at.of(kClocked[i]);
    }
    if (gpu.use[i] < 0) continue;
    gpu.worked[i] += seconds;
    // Very brief use does not count: where many things end together, rates change one after another.
    if (seconds > kBrief * to_seconds(interval_)) gpu.most[i] = std::max(gpu.most[i], gpu.use[i]);
    if (gpu.use[i] >= kBound) gpu.bound[i] += seconds;
  }
  if (gpu.contention.share < 1) {
    gpu.contended += seconds;
    gpu.shares += seconds * gpu.contention.share;
    gpu.of_products += seconds * gpu.contention.of_products;
    gpu.contended_at = gpu.contention.at;
  }
  // Watts above the cap by no more than rounding count as at the cap.
  gpu.above = gpu.watts > cap_w_ * (1 + 1e-9) ? gpu.above + seconds : 0;
  longest_above_ = std::max(longest_above_, gpu.above);
}

bool PowerManager::observe(std::uint32_t index, const Utilisation& use, const Contention& contention, SimTime now) {
  pass_time(index, now);
  Gpu& gpu = gpus_[index];
  gpu.use = use;
  gpu.contention = contention;
  gpu.at = meter_.clocks(index);
  gpu.watts = meter_.watts(index).total();
  for (std::size_t i = 0; i < kClocked.size(); ++i) gpu.is_awake[i] = meter_.awake(index, kClocked[i]);
  Clocks clocks = gpu.at;
  // Kernels that copy use all of their clock only for moments between flags.
  if (contention.products && use[0] >= kBound) clocks.xcd = std::max(clocks.xcd, gpu.allowed_xcd);
  // A GEMM alone waits for the next decision, which takes into account what the other clocks are worth to it.
  if (use[0] >= 0 && !contention.copies) return set_clocks(index, clocks, now);
  for (const Component component : {Component::iod, Component::hbm}) {
    const ComponentPower* described = power_.component(component);
    const auto i = static_cast<std::size_t>(component);
    if (described == nullptr || !moves_[i] || use[i] < kBound) continue;
    clocks.set(component, std::max(clocks.of(component), described->nominal_ghz));
  }
  return set_clocks(index, clocks, now);
}

GpuActivity PowerManager::activity(std::uint32_t index, SimTime now) {
  Gpu& gpu = gpus_[index];
  GpuActivity activity;
  activity.power = &power_;
  activity.clocks = meter_.clocks(index);
  for (std::size_t i = 0; i < kClocked.size(); ++i) {
    if (gpu.worked[i] <= 0 || power_.component(kClocked[i]) == nullptr) continue;
    activity.needed[i] = activity.clocks.of(kClocked[i]) * gpu.most[i];
    activity.bounds[i] = gpu.bound[i] > gpu.worked[i] / 2;
  }
  if (gpu.contended > gpu.worked[0] / 2) {
    activity.contention = {gpu.shares / gpu.contended, gpu.of_products / gpu.contended, gpu.contended_at};
  }
  const double seconds = to_seconds(now - gpu.interval_began);
  activity.steady = gpu.worked[0] > kSteady * seconds;
  const Energy joules = meter_.joules(index, now);
  activity.mean_watts = (joules - gpu.joules) * (1 / seconds);
  activity.watts_now = meter_.watts(index);
  if (gpu.interval_began > SimTime{}) peak_w_ = std::max(peak_w_, activity.mean_watts.total());
  gpu.joules = joules;
  gpu.interval_began = now;
  gpu.worked = gpu.most = gpu.bound = {};
  gpu.contended = gpu.shares = gpu.of_products = 0;
  return activity;
}

bool PowerManager::decide(std::uint32_t gpu, SimTime now) {
  pass_time(gpu, now);
  const Decision& made = decided(activity(gpu, now));
  Clocks clocks = made.clocks;
  if (power_.xcd) {
    double& allowed = gpus_[gpu].allowed_xcd;
    allowed = std::min(std::max(clocks.xcd, made.board_xcd), allowed + power_.raise_ghz);
    clocks.xcd = std::min(clocks.xcd, meter_.clocks(gpu).xcd + power_.raise_ghz);
  }
  return set_clocks(gpu, clocks, now);
}

bool PowerManager::correct(std::uint32_t index, SimTime now) {
  const Gpu& gpu = gpus_[index];
  if (gpu.watts <= cap_w_) return false;
  GpuActivity activity;
  activity.power = &power_;
  activity.clocks = gpu.at;
  for (std::size_t i = 0; i < kClocked.size(); ++i) {
    if (power_.component(kClocked[i]) == nullptr) continue;
    activity.needed[i] = std::max(0.0, gpu.at.of(kClocked[i]) * gpu.use[i]);
    activity.bounds[i] = gpu.use[i] >= kBound;
  }
  activity.contention = gpu.contention;
  activity.mean_watts = activity.watts_now = meter_.watts(index);
  Clocks clocks = gpu.at;
  clocks.xcd = highest_xcd(activity, inputs(), clocks, gpu.at.xcd);
  if (clocks.xcd == 0) clocks = decide_as_board(activity, inputs());
  gpus_[index].allowed_xcd = clocks.xcd;
  return set_clocks(index, clocks, now);
}

const PowerManager::Decision& PowerManager::decided(const GpuActivity& from) {
  if (last_ && last_->first == from) return last_->second;
  const Clocks clocks = sim::decide(policy_, from, inputs());
  const bool trims = !policy_.components.empty();
  const double board = trims ? sim::decide(kNoPowerPolicy, from, inputs()).xcd : clocks.xcd;
  return last_.emplace(from, Decision{clocks, board}).second;
}

PolicyInputs PowerManager::inputs() const {
  return {.power = power_, .cap_w = cap_w_, .headroom = headroom_, .moves = moves_};
}

bool PowerManager::set_clocks(std::uint32_t gpu, const Clocks& clocks, SimTime now) {
  if (clocks == meter_.clocks(gpu)) return false;
  meter_.set_clocks(gpu, clocks, now);
  keep_clocks(gpu, now);
  return true;
}

void PowerManager::keep_clocks(std::uint32_t gpu, SimTime now) {
  if (!keep_clocks_) return;
  for (std::size_t i = 0; i < kClocked.size(); ++i) {
    gpus_[gpu].clocks[i].samples.push_back({to_nanoseconds(now), meter_.clocks(gpu).of(kClocked[i])});
  }
}

ManagedClocks PowerManager::summary(SimTime now) {
  ManagedClocks result;
  std::array<double, 3> awake{};
  for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    pass_time(gpu, now);
    for (std::size_t i = 0; i < kClocked.size(); ++i) {
      awake[i] += gpus_[gpu].awake[i];
      result.mean_ghz[i] += gpus_[gpu].clocked[i];
    }
  }
  for (std::size_t i = 0; i < kClocked.size(); ++i) result.mean_ghz[i] /= awake[i] > 0 ? awake[i] : 1;
  result.peak_w = peak_w_;
  result.longest_above_cap = longest_above_;
  return result;
}

std::vector<Counter> PowerManager::counters() const {
  std::vector<Counter> counters;
  if (!keep_clocks_) return counters;
  for (const Gpu& gpu : gpus_) counters.insert(counters.end(), gpu.clocks.begin(), gpu.clocks.end());
  return counters;
}

}  // namespace cortado::sim
