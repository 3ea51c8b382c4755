#include "pipeline/overlap/step_model.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cortado/base/check.hpp"

#include "pipeline/overlap/gpu_resources.hpp"

namespace cortado::pipeline {
namespace {

double real(Bytes bytes) {
  return static_cast<double>(bytes.value);
}

constexpr double kOver = 1e-12;  // seconds of work that count as done

/// Work under way: seconds of workgroups at full speed, or bytes.
struct Flow {
  double remaining = 0;
  double cap = 0;     // units of work per second
  double weight = 1;  // its speed at level 1
  Demand demand{};
  double speed(double level) const { return std::min(cap, weight * level); }
};

class StepModel {
 public:
  StepModel(const FiccoOutline& outline, const Machine& machine, const TilingOf& tiling_of, Sharing contention)
      : outline_(outline),
        machine_(machine),
        timing_(*machine.timing),
        tiling_of_(tiling_of),
        contention_(contention),
        engine_(timing_.engine.rate.bytes_per_second()),
        // An engine that comes late need not be woken, so the least time is without.
        wake_(contention == Sharing::ignored ? 0 : seconds(timing_.engine.wake)),
        capacity_(capacities(timing_.memory)),
        miss_share_(1 - std::min(1.0, real(timing_.memory.cache_bytes) / real(outline.footprint))),
        lanes_(outline.lanes.size()) {
    set_copies();
    submit();
  }

  double run() {
    double next = 0;
    while (next != kNever) {
      advance(next);
      while (go_on()) {
      }
      contention_ == Sharing::modelled ? share() : run_alone();
      next = next_change();
    }
    CORTADO_CHECK(command_ == outline_.kernels.size(), "an outline can be carried out to its end");
    return end();
  }

 private:
  struct Lane {
    std::size_t send = 0;
    double at = 0;                 // when the engine is ready for the next send
    double moves_at = kNever;      // when the send under way begins to move bytes
    std::optional<double> left{};  // bytes of the send that moves
    std::vector<double> arrivals{};
  };

  // --- What things take ----------------------------------------------------------------------------------------------

  /// A byte of a copy takes what it takes at both ends.
  void set_copies() {
    const double link = timing_.link.rate.bytes_per_second();
    const bool switched = timing_.link.shape == LinkShape::switched;
    std::uint32_t most = 1;  // links to a peer
    std::uint32_t all = 0;
    for (std::uint32_t peer = 0; peer < outline_.ranks; ++peer) {
      most = std::max(most, machine_.link_count({outline_.rank}, {peer}));
      all += machine_.link_count({outline_.rank}, {peer});
    }
    const double both_ways = 2.0 * (switched ? 1 : all) * link;
    port_ = switched ? link : kNever;
    copy_.cap = std::min(engine_, link * (switched ? 1 : most));
    copy_.weight = engine_;
    copy_.demand = {2 * timing_.compute->fabric_links / both_ways, 2 * miss_share_ * timing_.compute->copy_cost, 2};
  }

  /// The host submits one queue after the other.
  void submit() {
    double now = 0;
    const auto launch = [&] {
      now += seconds(timing_.cores.launch);
      kernels_at_ = now + seconds(timing_.cores.start);
    };
    if (outline_.kernels_first) launch();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (outline_.lanes[i].empty()) continue;
      std::size_t packets = 0;
      for (const FiccoOutline::Send& send : outline_.lanes[i]) packets += send.after.size() + send.copies() + 1;
      now += seconds(timing_.host.submit) + static_cast<double>(packets) * seconds(timing_.host.packet);
      lanes_[i].at = now + seconds(timing_.engine.fetch);
    }
    if (!outline_.kernels_first) launch();
  }

  Flow flow_of(const FiccoOutline::Move& move) const {
    const double touched = move.reads_for_free ? 1 : move.regions;
    const double rate = machine_.compute_units * timing_.cores.local_rate.bytes_per_second() / touched;
    return {real(move.written),
            rate,
            engine_,
            {0, move.regions * miss_share_ * timing_.compute->copy_cost, static_cast<double>(move.regions)}};
  }

  /// So many waves of so many workgroups.
  Flow flow_of_waves(std::uint64_t waves, std::uint64_t workgroups) const {
    const auto count = static_cast<double>(workgroups);
    const WorkgroupDemand demand = model_->demand(workgroups, {0, cache_held()});
    return {static_cast<double>(waves) * demand.seconds,
            1,
            1,
            {timing_.compute->fabric_products * count / machine_.compute_units,
             count * demand.memory_bytes / demand.seconds, count * demand.cache_bytes / demand.seconds}};
  }

  /// By copies: their share of what streams through the cache beside the operands.
  Bytes cache_held() const {
    if (contention_ == Sharing::ignored) return {};
    double streaming = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (!lanes_[i].left) continue;
      const FiccoOutline::Send& send = outline_.lanes[i][lanes_[i].send];
      streaming += 2 * std::min(real(send.bytes), timing_.engine.copies_in_flight * real(send.copy));
    }
    if (streaming <= 0) return {};
    const double cache = real(timing_.memory.cache_bytes);
    return {static_cast<std::uint64_t>(cache * streaming / (streaming + operands_))};
  }

  // --- Who goes on ---------------------------------------------------------------------------------------------------

  /// Everybody as far as what is known now allows; whether somebody did.
  bool go_on() {
    bool moved = run_kernels();
    for (std::size_t i = 0; i < lanes_.size(); ++i) moved |= run_lane(i);
    return moved;
  }

  bool run_kernels() {
    bool moved = false;
    while (command_ < outline_.kernels.size() && begins_at_ == kNever && !kernel_) {
      const auto& command = outline_.kernels[command_];
      if (const auto* await = std::get_if<FiccoOutline::Await>(&command)) {
        if (!passes(*await)) return moved;
        behind_ = true;
        ++command_;
      } else if (std::holds_alternative<FiccoOutline::Raise>(command)) {
        raised_.push_back(kernels_at_ + seconds(timing_.cores.flag));
        ++command_;
      } else {
        begins_at_ = kernels_at_ + (behind_ ? seconds(timing_.cores.start) : 0);
        behind_ = true;
      }
      moved = true;
    }
    return moved;
  }

  /// Without contention nobody is waited for who is only alike: the time is to be the least.
  bool passes(const FiccoOutline::Await& await) {
    if (!lanes_count()) return true;
    const auto& arrivals = lanes_[await.lane].arrivals;
    if (await.send >= arrivals.size()) return false;
    kernels_at_ = std::max(kernels_at_, arrivals[await.send]);
    return true;
  }
  bool lanes_count() const { return outline_.closed || contention_ == Sharing::modelled; }

  bool run_lane(std::size_t index) {
    Lane& lane = lanes_[index];
    const auto& sends = outline_.lanes[index];
    if (lane.send == sends.size() || lane.moves_at != kNever || lane.left) return false;
    double begin = lane.at;
    for (const std::uint32_t raise : sends[lane.send].after) {
      if (raise >= raised_.size()) return false;
      if (raised_[raise] > begin) begin = raised_[raise] + wake_;
    }
    lane.moves_at = begin + seconds(timing_.engine.copy_start);
    return true;
  }

  // --- Time ----------------------------------------------------------------------------------------------------------

  /// Who has a resource for itself is limited by it, the others go on; who share one that is full have one level.
  void share() {
    Flow kernel = kernel_.value_or(Flow{});
    Flow copy = copy_;
    double copies = 0;
    for (const Lane& lane : lanes_) copies += lane.left ? 1 : 0;
    copy.cap = std::min(copy.cap, port_ / copies);
    for (std::size_t r = 0; r < kResources; ++r) {
      if (copies * copy.demand[r] == 0) kernel.cap = std::min(kernel.cap, capacity_[r] / kernel.demand[r]);
      if (kernel.demand[r] == 0) copy.cap = std::min(copy.cap, capacity_[r] / (copies * copy.demand[r]));
    }
    double level = kNever;
    for (std::size_t r = 0; r < kResources; ++r) {
      level = std::min(level, level_that_fills(capacity_[r], kernel, kernel.demand[r], copy, copies * copy.demand[r]));
    }
    kernel_speed_ = kernel.speed(level);
    copy_speed_ = copy.speed(level);
  }

  /// The level at which the kernel and the copies fill a resource. Load grows with the level, by less when one of both
  /// is at its cap.
  static double level_that_fills(double capacity, const Flow& kernel, double of_kernel, const Flow& copy,
                                 double of_copies) {
    const auto load = [&](double level) { return of_kernel * kernel.speed(level) + of_copies * copy.speed(level); };
    if (of_kernel == 0 || of_copies == 0 || load(kNever) <= capacity) return kNever;
    const double kernel_full = kernel.cap / kernel.weight;
    const double copy_full = copy.cap / copy.weight;
    if (load(std::min(kernel_full, copy_full)) >= capacity) {
      return capacity / (of_kernel * kernel.weight + of_copies * copy.weight);
    }
    if (kernel_full > copy_full) return (capacity - of_copies * copy.cap) / (of_kernel * kernel.weight);
    return (capacity - of_kernel * kernel.cap) / (of_copies * copy.weight);
  }

  void run_alone() {
    kernel_speed_ = kernel_ ? alone(*kernel_) : 0;
    copy_speed_ = alone(copy_);
  }

  double alone(const Flow& flow) const {
    double speed = flow.cap;
    for (std::size_t r = 0; r < kResources; ++r) speed = std::min(speed, capacity_[r] / flow.demand[r]);
    return speed;
  }

  double next_change() const {
    double next = std::min(begins_at_, kernel_ ? now_ + kernel_->remaining / kernel_speed_ : kNever);
    for (const Lane& lane : lanes_) {
      next = std::min(next, lane.moves_at);
      if (lane.left) next = std::min(next, now_ + *lane.left / copy_speed_);
    }
    return next;
  }

  void advance(double next) {
    const double step = next - now_;
    now_ = next;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      if (lane.left) {
        move(lane, step);
      } else if (lane.moves_at <= now_) {
        begin_send(lane, outline_.lanes[i][lane.send]);
      }
    }
    if (kernel_) {
      kernel_->remaining -= step * kernel_speed_;
      if (kernel_->remaining <= kOver * kernel_speed_) end_kernel();
    } else if (begins_at_ <= now_) {
      begin_kernel();
    }
  }

  static void begin_send(Lane& lane, const FiccoOutline::Send& send) {
    lane.moves_at = kNever;
    lane.left = real(send.bytes);
  }

  void move(Lane& lane, double step) {
    const double over = kOver * copy_speed_;
    *lane.left -= step * copy_speed_;
    if (*lane.left <= over) arrive(lane);
  }

  void arrive(Lane& lane) {
    lane.left.reset();
    lane.at = now_ + seconds(timing_.engine.sync);
    lane.arrivals.push_back(lane.at);
    ++lane.send;
  }

  void begin_kernel() {
    begins_at_ = kNever;
    const auto& command = outline_.kernels[command_];
    if (const auto* move = std::get_if<FiccoOutline::Move>(&command)) {
      waiting_ = 0;
      kernel_ = flow_of(*move);
      return;
    }
    const GemmShape& shape = std::get<FiccoOutline::Multiply>(command).shape;
    model_.emplace(shape, tiling_of_(shape), machine_);
    operands_ = real(operand_bytes(shape));
    waiting_ = model_->workgroups();
    begin_waves();
  }

  /// Where copies come and go, one wave, because what a wave takes depends on the copies at its beginning; else all
  /// that are full.
  void begin_waves() {
    const std::uint64_t width = std::min<std::uint64_t>(waiting_, machine_.compute_units);
    const std::uint64_t waves = copies_go_on() ? 1 : waiting_ / width;
    kernel_ = flow_of_waves(waves, width);
    waiting_ -= waves * width;
  }

  bool copies_go_on() const {
    const auto goes_on = [](const Lane& lane) { return lane.left || lane.moves_at != kNever; };
    return contention_ == Sharing::modelled && std::any_of(lanes_.begin(), lanes_.end(), goes_on);
  }

  void end_kernel() {
    if (waiting_ > 0) return begin_waves();
    kernel_.reset();
    kernels_at_ = now_;
    ++command_;
  }

  /// The host has seen all queues end.
  double end() const {
    double last = kernels_at_ + seconds(timing_.cores.flag);
    for (const Lane& lane : lanes_) last = std::max(last, lanes_count() ? lane.at : 0);
    return last + seconds(timing_.host.poll);
  }

  const FiccoOutline& outline_;
  const Machine& machine_;
  const Timing& timing_;
  const TilingOf& tiling_of_;
  const Sharing contention_;
  const double engine_;  // bytes per second
  const double wake_;    // seconds
  const Demand capacity_;
  const double miss_share_;  // of what passes the last-level cache
  double port_ = kNever;     // that all lanes share
  Flow copy_;                // of one lane
  double now_ = 0;
  double kernel_speed_ = 0;
  double copy_speed_ = 0;  // of each lane that moves bytes

  std::vector<Lane> lanes_;
  std::vector<double> raised_;  // when engines can see it
  std::size_t command_ = 0;     // of the kernels
  double kernels_at_ = 0;       // the latest end of a kernel, or of a wait
  double begins_at_ = kNever;   // the kernel that is next
  bool behind_ = false;         // a kernel or a wait came before
  std::optional<Flow> kernel_;
  std::optional<GemmModel> model_;
  std::uint64_t waiting_ = 0;  // workgroups
  double operands_ = 0;        // bytes
};

}  // namespace

Nanoseconds time_of_steps(const FiccoOutline& outline, const Machine& machine, const TilingOf& tiling_of,
                          Sharing contention) {
  return {static_cast<std::int64_t>(1e9 * StepModel(outline, machine, tiling_of, contention).run())};
}

}  // namespace cortado::pipeline
