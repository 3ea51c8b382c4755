#include "pipeline/overlap/fast_model.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "pipeline/overlap/gpu_resources.hpp"

namespace cortado::pipeline {
namespace {

struct Batch {
  std::uint64_t count = 0;
  double remaining = 0;  // seconds at full speed
  Demand demand{};
};

class OneGpu {
 public:
  OneGpu(const GemmShape& shape, const OverlapWay& way, const CollectiveProfile& profile, const Machine& machine)
      : timing_(*machine.timing),
        way_(way),
        units_(machine.compute_units),
        gemm_units_(way.gemm_units == 0 ? units_ : way.gemm_units),
        model_(shape, tiling_on(way.product_units(), shape, machine), machine),
        waiting_(model_.workgroups()),
        free_(units_),
        capacity_(capacities(timing_.memory)) {
    set_collective(profile, operand_bytes(shape));
    set_starts();
  }

  double run() {
    double now = 0;
    while (product_remains() || !collective_done_) {
      begin(now);
      const double level = shared_level();
      const double step = time_to_next(now, level);
      for (Batch& batch : batches_) batch.remaining -= step * level;
      if (collective_runs_) collective_remaining_ -= step * collective_speed(level);
      now += step;
      end();
    }
    return now;
  }

 private:
  bool product_remains() const { return waiting_ > 0 || !batches_.empty(); }

  void set_collective(const CollectiveProfile& profile, Bytes operands) {
    const bool cores = way_.on_cores();
    const double time = std::max(seconds(profile.time), 1e-9);
    const double wire = cores ? timing_.cores.wire_efficiency : 1;
    const double link = timing_.link.rate.bytes_per_second();
    const bool switched = timing_.link.shape == LinkShape::switched;
    const double links = 2 * link * (switched ? 1 : std::max(1U, profile.peers));
    const double crossing = profile.bytes_out * (cores ? timing_.compute->fabric_cores : 1) + profile.bytes_in;
    const double bytes = profile.bytes_out + profile.bytes_in;
    const auto cached = static_cast<double>(timing_.memory.cache_bytes.value);
    const double footprint = profile.footprint + static_cast<double>(operands.value);
    const double missed = 1 - std::min(1.0, cached / footprint);
    collective_demand_[kFabric] = timing_.compute->fabric_links * crossing / wire / links / time;
    collective_demand_[kMemory] = timing_.compute->copy_cost * missed * bytes / time;
    collective_demand_[kCache] = bytes / time;
    const double rate = profile.bytes_out / std::max(1U, profile.peers) / time;
    slack_ = rate > 0 ? std::max(1.0, timing_.engine.rate.bytes_per_second() / rate) : kNever;
    collective_units_ = !cores ? 0 : way_.collective.compute_units == 0 ? units_ : way_.collective.compute_units;
    collective_remaining_ = time;
    streaming_ = profile.footprint;
    operands_ = static_cast<double>(operands.value);
  }

  /// When the host has launched both. The time of the collective alone has its own launch in it.
  void set_starts() {
    const double launch = seconds(timing_.cores.launch);
    const double first_instruction = launch + seconds(timing_.cores.start);  // of a kernel
    const bool collective_first = way_.order == LaunchOrder::collective_first;
    gemm_start_ = first_instruction + (collective_first && collective_units_ > 0 ? launch : 0);
    collective_start_ = collective_first ? 0 : launch;
    if (collective_units_ > 0) {  // before that it needs no units
      collective_start_ += first_instruction;
      collective_remaining_ = std::max(0.0, collective_remaining_ - first_instruction);
    }
  }

  /// Who is launched takes free units, the one that goes first before the other.
  void begin(double now) {
    if (way_.order == LaunchOrder::collective_first) begin_collective(now);
    begin_workgroups(now);
    begin_collective(now);
  }

  void begin_collective(double now) {
    if (collective_done_ || now < collective_start_) return;
    const std::uint32_t more = std::min(free_, collective_units_ - collective_held_);
    if (collective_units_ > 0 && collective_held_ + more == 0) return;
    free_ -= more;
    collective_held_ += more;
    if (collective_runs_ && more == 0) return;
    collective_runs_ = true;
    settle_batches();
  }

  void begin_workgroups(double now) {
    if (now < gemm_start_) return;
    const auto room = static_cast<std::uint64_t>(std::min(free_, gemm_units_ - gemm_held_));
    const std::uint64_t count = std::min(room, waiting_);
    if (count == 0) return;
    waiting_ -= count;
    free_ -= static_cast<std::uint32_t>(count);
    gemm_held_ += static_cast<std::uint32_t>(count);
    batches_.push_back({count, 0, {}});
    price(batches_.back(), 0);
  }

  /// `done`: share of the work that is behind it.
  void price(Batch& batch, double done) {
    GemmSurroundings beside;
    beside.streams = collective_runs_ ? collective_held_ : 0;
    if (collective_runs_) {
      const auto cache = static_cast<double>(timing_.memory.cache_bytes.value);
      beside.cache_held = {static_cast<std::uint64_t>(cache * streaming_ / (streaming_ + operands_))};
    }
    const WorkgroupDemand demand = model_.demand(gemm_held_, beside);
    const auto count = static_cast<double>(batch.count);
    batch.remaining = demand.seconds * (1 - done);
    batch.demand[kFabric] = timing_.compute->fabric_products * count / units_;
    batch.demand[kMemory] = count * demand.memory_bytes / demand.seconds;
    batch.demand[kCache] = count * demand.cache_bytes / demand.seconds;
    full_time_ = demand.seconds;
  }

  void settle_batches() {
    for (Batch& batch : batches_) price(batch, full_time_ > 0 ? 1 - batch.remaining / full_time_ : 0);
  }

  double collective_speed(double level) const {
    const double held = collective_units_ == 0 ? 1 : static_cast<double>(collective_held_) / collective_units_;
    return std::min(held, level * slack_);
  }

  /// The share of full speed that everybody gets.
  double shared_level() const {
    double level = 1;
    for (std::size_t r = 0; r < kResources; ++r) {
      double products = 0;
      for (const Batch& batch : batches_) products += batch.demand[r];
      const double collective = collective_runs_ ? collective_demand_[r] : 0;
      if (products + collective <= capacity_[r] || products <= 0) continue;
      const double beside = (capacity_[r] - collective) / products;  // the collective at full speed
      level = std::min(level, beside * slack_ >= 1 ? beside : capacity_[r] / (products + slack_ * collective));
    }
    return level;
  }

  double time_to_next(double now, double level) const {
    double step = kNever;
    const auto consider = [&](double time) { step = std::min(step, std::max(time, 0.0)); };
    if (waiting_ > 0 && now < gemm_start_) consider(gemm_start_ - now);
    if (!collective_done_ && now < collective_start_) consider(collective_start_ - now);
    for (const Batch& batch : batches_) consider(batch.remaining / level);
    if (collective_runs_) consider(collective_remaining_ / collective_speed(level));
    return step;
  }

  void end() {
    constexpr double kOver = 1e-12;
    std::erase_if(batches_, [&](const Batch& batch) {
      if (batch.remaining > kOver) return false;
      free_ += static_cast<std::uint32_t>(batch.count);
      gemm_held_ -= static_cast<std::uint32_t>(batch.count);
      return true;
    });
    if (!collective_runs_ || collective_remaining_ > kOver) return;
    collective_runs_ = false;
    collective_done_ = true;
    free_ += collective_held_;
    collective_held_ = 0;
    settle_batches();
  }

  const Timing& timing_;
  const OverlapWay& way_;
  std::uint32_t units_;
  std::uint32_t gemm_units_;
  GemmModel model_;
  std::uint64_t waiting_;  // workgroups
  std::uint32_t free_;     // compute units
  std::uint32_t gemm_held_ = 0;
  std::vector<Batch> batches_;
  double full_time_ = 0;  // of a workgroup, as priced last
  double gemm_start_ = 0;
  Demand capacity_;
  Demand collective_demand_{};
  double slack_ = 1;  // how far everybody may slow down before the collective does
  std::uint32_t collective_units_ = 0;
  std::uint32_t collective_held_ = 0;
  double collective_start_ = 0;
  double collective_remaining_ = 0;
  double streaming_ = 0;  // bytes of the collective's buffers, which pass through the last-level cache
  double operands_ = 0;   // bytes of A, B and C
  bool collective_runs_ = false;
  bool collective_done_ = false;
};

}  // namespace

Nanoseconds estimate_overlap(const GemmShape& shape, const OverlapWay& way, const CollectiveProfile& profile,
                             const Machine& machine) {
  return {std::llround(OneGpu(shape, way, profile, machine).run() * 1e9)};
}

}  // namespace cortado::pipeline
