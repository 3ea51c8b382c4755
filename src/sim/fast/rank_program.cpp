// The program of one rank: its kernels one after another, and its queues of engines.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "ir/tiles.hpp"
#include "ir/visit.hpp"
#include "sim/fast/one_gpu.hpp"

namespace cortado::sim {
namespace {

class RankRun : OneGpu {
 public:
  RankRun(const Program& program, bool closed, const Machine& machine, Sharing sharing)
      : OneGpu(program, rank_of(program), machine, sharing),
        program_(program),
        // An engine that comes late need not be woken, so the least time is without.
        wake_(sharing == Sharing::ignored ? Nanoseconds{} : timing_.engine.wake),
        // The least time waits for nobody who is only about alike.
        lanes_count_(closed || sharing == Sharing::modelled),
        visible_(program.signals.size(), false) {
    submit();
  }

  Nanoseconds run() {
    events_.run([this](const Event& event) { handle(event); });
    CORTADO_CHECK(kernels_ == nullptr || command_ == kernels_->commands.size(), "a rank comes to its end");
    SimTime last = kernels_end_ + to_sim_time(timing_.cores.flag);
    for (const Lane& lane : lanes_) {
      if (lanes_count_) last = std::max(last, lane.end);
    }
    return to_nanoseconds(last + to_sim_time(timing_.host.poll));
  }

 private:
  static constexpr std::uint32_t kKernels = ~std::uint32_t{0};     // as an owner, and as an index of events
  static constexpr std::uint32_t kTiles = std::uint32_t{1} << 31;  // as an owner: the first batch of tiles

  /// A queue of an engine.
  struct Lane {
    const Queue* queue = nullptr;
    std::vector<ResourceUse> uses{};  // of all its copies
    std::size_t command = 0;
    bool waits = false;    // for a signal
    double streaming = 0;  // bytes in the cache, of the copies that move
    SimTime end{};         // of its last command so far
  };

  static RankId rank_of(const Program& program) {
    for (const Queue& queue : program.queues) {
      if (queue.kind == QueueKind::host) return *queue.rank;
    }
    CORTADO_CHECK(false, "the program of a rank has a host");
    return {};
  }

  // --- The host submits one queue after the other
  // ---------------------------------------------------------------------

  void submit() {
    SimTime now{};
    for (const Queue& host : program_.queues) {
      if (host.kind != QueueKind::host) continue;
      for (const Command& command : host.commands) {
        if (const auto* submit = std::get_if<Submit>(&command)) now = launch(program_.queue(submit->queue), now);
      }
    }
  }

  SimTime launch(const Queue& queue, SimTime now) {
    if (queue.kind == QueueKind::compute) {
      kernels_ = &queue;
      now = now + to_sim_time(timing_.cores.launch);
      step_at(kKernels, now + to_sim_time(first_start(queue, machine_)));
      return now;
    }
    const auto packets = static_cast<std::int64_t>(queue.commands.size());
    now = now + to_sim_time(timing_.host.submit) + to_sim_time({packets * timing_.host.packet.value});
    step_at(static_cast<std::uint32_t>(lanes_.size()), now + to_sim_time(timing_.engine.fetch));
    Lane& lane = lanes_.emplace_back(Lane{&queue});
    for (const Command& command : queue.commands) {
      if (const auto* copy = std::get_if<Copy>(&command)) {
        lane.uses = uses_of(queue, *copy);
        break;
      }
    }
    return now;
  }

  // --- Events --------------------------------------------------------------------------------------------------------

  void handle(const Event& event) {
    switch (event.kind) {
      case EventKind::step:
        return event.index == kKernels ? step_kernels() : step_lane(event.index);
      case EventKind::copy_ready:
        return move_bytes(event.index);
      case EventKind::signal_visible:
        return show({event.index});
      case EventKind::transfer_end: {
        const std::uint32_t owner = end(event);
        if (owner >= kTiles) return owner == kKernels ? end_kernel() : end_tiles(owner - kTiles);
        return end_bytes(owner);
      }
      case EventKind::settle:
        return transfers_.settle();
      default:
        CORTADO_CHECK(false, "a rank has no such events");
    }
  }

  void step_at(std::uint32_t index, SimTime at) { events_.schedule(at, EventClass::begin, {EventKind::step, index}); }

  void raise(SignalId signal, Nanoseconds later) {
    events_.schedule(events_.now() + to_sim_time(later), EventClass::end, {EventKind::signal_visible, signal.value});
  }

  void show(SignalId signal) {
    visible_[signal.value] = true;
    if (kernels_wait_) step_kernels();
    release_tiles();
    for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      if (!lane.waits || std::get<Wait>(lane.queue->commands[lane.command]).signal != signal) continue;
      lane.waits = false;
      ++lane.command;
      step_at(i, events_.now() + to_sim_time(wake_));
    }
  }

  // --- Engines -------------------------------------------------------------------------------------------------------

  void step_lane(std::uint32_t index) {
    Lane& lane = lanes_[index];
    lane.end = events_.now();
    while (lane.command < lane.queue->commands.size()) {
      const auto* wait = std::get_if<Wait>(&lane.queue->commands[lane.command]);
      if (wait == nullptr) {
        ++lanes_at_work_;
        events_.schedule(events_.now() + to_sim_time(timing_.engine.copy_start), EventClass::begin,
                         {EventKind::copy_ready, index});
        return;
      }
      if (!visible_[wait->signal.value]) {
        lane.waits = true;
        return;
      }
      ++lane.command;
    }
  }

  /// The copies up to the next signal.
  void move_bytes(std::uint32_t index) {
    Lane& lane = lanes_[index];
    double bytes = 0;
    double first = 0;
    for (; const auto* copy = std::get_if<Copy>(&lane.queue->commands[lane.command]); ++lane.command) {
      bytes += static_cast<double>(copy->dst.bytes().value);
      if (first == 0) first = bytes;
    }
    lane.streaming = 2 * std::min(bytes, timing_.engine.copies_in_flight * first);
    streaming_ += lane.streaming;
    begin(bytes, lane.uses, {}, index);
  }

  void end_bytes(std::uint32_t index) {
    Lane& lane = lanes_[index];
    streaming_ -= lane.streaming;
    --lanes_at_work_;
    raise(std::get<Signal>(lane.queue->commands[lane.command++]).signal, timing_.engine.sync);
    step_at(index, events_.now() + to_sim_time(timing_.engine.sync));
  }

  // --- Kernels -------------------------------------------------------------------------------------------------------

  void step_kernels() {
    kernels_wait_ = false;
    for (; command_ < kernels_->commands.size(); ++command_) {
      const Command& command = kernels_->commands[command_];
      if (const auto* wait = std::get_if<Wait>(&command)) {
        behind_ = true;
        kernels_wait_ = lanes_count_ && !visible_[wait->signal.value];
        if (kernels_wait_) return;
      } else if (const auto* signal = std::get_if<Signal>(&command)) {
        raise(signal->signal, timing_.cores.flag);
      } else if (!behind_ || started_) {
        behind_ = true;
        started_ = false;
        return begin_kernel(command);
      } else {
        started_ = true;
        return step_at(kKernels, events_.now() + to_sim_time(start_of(command, machine_)));
      }
    }
    kernels_end_ = events_.now();
  }

  void begin_kernel(const Command& command) {
    if (const auto* gemm = std::get_if<Gemm>(&command)) {
      shape_ = shape_of(*gemm);
      model_.emplace(shape_, tiling_of(*gemm), machine_, L2Windows::modelled, ResultPath::cached, rows_in_step(*gemm));
      waiting_ = tile_count(*gemm) * gemm->split_k;
      clock_ = clocks_.of(*model_, machine_.compute_units);
      return gemm->waits.empty() && gemm->raises.empty() ? begin_waves() : begin_tiles(*gemm);
    }
    const auto* copy = std::get_if<Copy>(&command);
    UseList& uses = copy != nullptr ? resources_.copy_by_cores(gpu_, *copy)
                                    : resources_.kernel_by_cores(gpu_, std::get<Kernel>(command));
    begin(static_cast<double>(bytes_written(command).value), uses.view(),
          {.cap = resources_.rate_of_units(gpu_, command, machine_.compute_units)}, kKernels);
  }

  /// Where copies come and go, one wave, because what a wave takes depends on the copies at its beginning; else all
  /// that are full.
  void begin_waves() {
    const bool copies = sharing_ == Sharing::modelled && lanes_at_work_ > 0;
    const std::uint64_t width = std::min<std::uint64_t>(waiting_, machine_.compute_units);
    const std::uint64_t waves = copies ? 1 : waiting_ / width;
    waiting_ -= waves * width;
    const Bytes held = sharing_ == Sharing::modelled ? cache_held(streaming_, shape_) : Bytes{};
    const bool last = waiting_ == 0 && width < machine_.compute_units && model_->workgroups() > width;
    const GemmWave wave{.running = width, .units = machine_.compute_units, .last = last};
    const WorkgroupDemand demand = model_->demand(wave, clock_, {0, held});
    begin(static_cast<double>(waves) * demand.seconds * kWorkPerSecond, uses_of(demand, width).view(),
          speed_of_workgroups(), kKernels);
  }

  // --- Tiles that wait or release ------------------------------------------------------------------------------------

  /// Workgroups that hold units, from the first on in the order of production.
  struct Tiles {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    bool done = false;
  };

  void begin_tiles(const Gemm& gemm) {
    gemm_ = &gemm;
    tiles_.clear();
    held_.clear();
    free_units_ = machine_.compute_units;
    raised_ = 0;
    grant_tiles();
  }

  std::uint64_t next_tiles() const { return tile_count(*gemm_) * gemm_->split_k - waiting_; }

  bool can_begin(std::uint64_t workgroup) const {
    if (!lanes_count_) return true;
    return std::ranges::all_of(waits_of_tile(*gemm_, workgroup / gemm_->split_k),
                               [&](const TileWait& wait) { return visible_[wait.signal.value]; });
  }

  void grant_tiles() {
    while (waiting_ > 0 && free_units_ > 0) {
      Tiles tiles{next_tiles(), std::min<std::uint64_t>(waiting_, free_units_)};
      const auto next = std::ranges::upper_bound(gemm_->waits, tiles.first / gemm_->split_k, {}, &TileWait::tiles);
      if (next != gemm_->waits.end()) tiles.count = std::min(tiles.count, next->tiles * gemm_->split_k - tiles.first);
      waiting_ -= tiles.count;
      free_units_ -= static_cast<std::uint32_t>(tiles.count);
      can_begin(tiles.first) ? multiply_tiles(tiles) : held_.push_back(tiles);
    }
  }

  void multiply_tiles(const Tiles& tiles) {
    const Bytes held = sharing_ == Sharing::modelled ? cache_held(streaming_, shape_) : Bytes{};
    const bool last = gemm_->waits.empty() && waiting_ == 0 && tiles.first >= machine_.compute_units;
    const GemmWave wave{.running = tiles.count, .units = machine_.compute_units, .last = last};
    WorkgroupDemand demand = model_->demand(wave, clock_, {0, held});
    if (!waits_of_tile(*gemm_, tiles.first / gemm_->split_k).empty()) {
      demand.seconds += static_cast<double>(timing_.compute->poll.value) * 1e-9;
    }
    const auto owner = kTiles + static_cast<std::uint32_t>(tiles_.size());
    tiles_.push_back(tiles);
    begin(demand.seconds * kWorkPerSecond, uses_of(demand, tiles.count).view(), speed_of_workgroups(), owner);
  }

  void release_tiles() {
    for (const Tiles& tiles : std::exchange(held_, {})) {
      can_begin(tiles.first) ? multiply_tiles(tiles) : held_.push_back(tiles);
    }
  }

  void end_tiles(std::uint32_t index) {
    tiles_[index].done = true;
    free_units_ += static_cast<std::uint32_t>(tiles_[index].count);
    std::uint64_t done = next_tiles();
    for (const Tiles& tiles : tiles_) done = tiles.done ? done : std::min(done, tiles.first);
    for (const Tiles& tiles : held_) done = std::min(done, tiles.first);
    for (; raised_ < gemm_->raises.size() && gemm_->raises[raised_].tiles <= done / gemm_->split_k; ++raised_) {
      const SignalId signal = gemm_->raises[raised_].signal;
      raise(signal, program_.signals[signal.value].home == gpu_ ? Nanoseconds{} : timing_.cores.flag);
    }
    grant_tiles();
    if (waiting_ > 0 || free_units_ < machine_.compute_units) return;
    ++command_;
    step_kernels();
  }

  void end_kernel() {
    if (waiting_ > 0) return begin_waves();
    ++command_;
    step_kernels();
  }

  const Program& program_;
  const Nanoseconds wake_;
  const bool lanes_count_;
  std::vector<bool> visible_;  // by signal
  std::vector<Lane> lanes_;
  std::uint32_t lanes_at_work_ = 0;  // with a copy
  double streaming_ = 0;             // bytes of theirs in the cache

  const Queue* kernels_ = nullptr;
  std::size_t command_ = 0;
  bool kernels_wait_ = false;  // for a signal
  bool behind_ = false;        // a kernel or a wait came before
  bool started_ = false;       // the kernel that is next
  SimTime kernels_end_{};
  GemmShape shape_;  // under way
  std::optional<GemmModel> model_;
  GemmClocks clocks_{machine_};
  double clock_ = 0;            // GHz, of the product under way
  std::uint64_t waiting_ = 0;   // workgroups
  const Gemm* gemm_ = nullptr;  // the last one with tiles that wait or release
  std::vector<Tiles> tiles_;    // that have begun
  std::vector<Tiles> held_;     // that hold units and wait
  std::uint32_t free_units_ = 0;
  std::size_t raised_ = 0;  // of its tile signals
};

}  // namespace

Nanoseconds time_of_rank(const Program& program, bool closed, const Machine& machine, Sharing sharing) {
  return RankRun(program, closed, machine, sharing).run();
}

}  // namespace cortado::sim
