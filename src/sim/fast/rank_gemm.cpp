// The kernels of one rank: sums, copies and GEMMs one after another, and the tiles of a GEMM that wait or release.
#include <algorithm>
#include <utility>

#include "ir/tiles.hpp"
#include "ir/visit.hpp"
#include "sim/fast/rank_run.hpp"

namespace cortado::sim {

void RankRun::step_kernels() {
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

void RankRun::begin_kernel(const Command& command) {
  if (const auto* gemm = std::get_if<Gemm>(&command)) {
    shape_ = shape_of(*gemm);
    const bool streamed = std::ranges::any_of(
        gemm->outputs, [&](const OutputBlock& block) { return program_.buffer(block.to.buffer).rank != gpu_; });
    stores_.reset();
    if (streamed) stores_.emplace(*gemm, program_, trackers_);
    model_.emplace(shape_, tiling_of(*gemm), machine_, L2Windows::modelled,
                   streamed ? ResultPath::streamed : ResultPath::cached, rows_in_step(*gemm, machine_.compute_units));
    workgroups_ = tile_count(*gemm) * gemm->split_k;
    waiting_ = workgroups_;
    clock_units_ = 0;
    for (const Lane& lane : lanes_) {
      if (lane.moves && lane.on_units() && sharing_ == Sharing::modelled) transfers_.set_cap(lane.flow, speed_of(lane));
    }
    return gemm->waits.empty() && gemm->raises.empty() ? begin_waves() : begin_tiles(*gemm);
  }
  const auto* copy = std::get_if<Copy>(&command);
  UseList& uses = copy != nullptr ? resources_.copy_by_cores(gpu_, *copy)
                                  : resources_.kernel_by_cores(gpu_, std::get<Kernel>(command));
  begin(static_cast<double>(bytes_written(command).value), uses.view(),
        {.cap = resources_.rate_of_units(gpu_, command, gemm_units()), .weight = resources_.weight_of_link()},
        kKernels);
}

/// While copies are in progress, one wave, because what a wave takes depends on the copies at its beginning; otherwise
/// all full waves.
void RankRun::begin_waves() {
  const bool copies = sharing_ == Sharing::modelled && lanes_at_work_ > 0;
  const std::uint64_t width = std::min<std::uint64_t>(waiting_, machine_.compute_units);
  const std::uint64_t waves = copies ? 1 : waiting_ / width;
  waiting_ -= waves * width;
  const bool last = waiting_ == 0 && width < machine_.compute_units && model_->workgroups() > width;
  const WorkgroupDemand demand = this->demand({.count = width, .last = last});
  begin(static_cast<double>(waves) * demand.seconds * kWorkPerSecond, uses_of(demand, width).view(),
        speed_of_workgroups(), kKernels);
}

void RankRun::end_kernel() {
  if (waiting_ > 0) return begin_waves();
  end_command();
}

void RankRun::end_command() {
  gemm_ = nullptr;
  model_.reset();
  for (const Lane& lane : lanes_) {
    if (lane.moves && lane.on_units() && sharing_ == Sharing::modelled) transfers_.set_cap(lane.flow, speed_of(lane));
  }
  ++command_;
  step_kernels();
}

/// What a workgroup takes that starts now.
WorkgroupDemand RankRun::demand(const Tiles& tiles) {
  if (clock_units_ != gemm_units()) {
    clock_units_ = gemm_units();
    clock_ = clocks_.of(*model_, clock_units_);
  }
  GemmSurroundings beside;
  if (sharing_ == Sharing::modelled) {
    const bool mapped = gemm_ != nullptr && !gemm_->outputs.empty();
    beside = {.streams = copy_units_,
              .cache_held = cache_held(streaming_, mapped ? read_bytes(shape_) : operand_bytes(shape_))};
  }
  WorkgroupDemand demand =
      model_->demand({.running = tiles.count, .units = clock_units_, .last = tiles.last}, clock_, beside);
  if (gemm_ != nullptr && !waits_of_tile(*gemm_, tiles.first / gemm_->split_k).empty()) {
    demand.seconds += static_cast<double>(timing_.compute->poll.value) * 1e-9;
  }
  return demand;
}

// --- Tiles that wait or release --------------------------------------------------------------------------------------

void RankRun::begin_tiles(const Gemm& gemm) {
  gemm_ = &gemm;
  gemm_has_groups_ = true;
  tiles_.clear();
  held_.clear();
  units_of_tiles_ = 0;
  drained_ = 0;
  raised_ = 0;
  grant_tiles();
}

bool RankRun::can_begin(std::uint64_t workgroup) const {
  if (!lanes_count_) return true;
  return std::ranges::all_of(waits_of_tile(*gemm_, workgroup / gemm_->split_k),
                             [&](const TileWait& wait) { return visible_[wait.signal.value]; });
}

/// Per unit, one workgroup may be running and one more may not have drained.
std::uint64_t RankRun::room_for_tiles() const {
  const std::uint64_t units = gemm_units();
  const std::uint64_t free = units - std::min(units, units_of_tiles_);
  if (!stores_) return free;
  const std::uint64_t most = 2 * std::uint64_t{machine_.compute_units};
  return std::min(free, most - std::min(most, next_tiles() - drained_));
}

void RankRun::grant_tiles() {
  while (waiting_ > 0) {
    Tiles tiles{next_tiles(), std::min(waiting_, room_for_tiles())};
    if (tiles.count == 0) return;
    const auto next = std::ranges::upper_bound(gemm_->waits, tiles.first / gemm_->split_k, {}, &TileWait::tiles);
    if (next != gemm_->waits.end()) tiles.count = std::min(tiles.count, next->tiles * gemm_->split_k - tiles.first);
    waiting_ -= tiles.count;
    units_of_tiles_ += tiles.count;
    can_begin(tiles.first) ? multiply_tiles(tiles) : held_.push_back(tiles);
  }
}

void RankRun::multiply_tiles(Tiles tiles) {
  const WorkgroupDemand demand = this->demand(tiles);
  const auto owner = kTiles + static_cast<std::uint32_t>(tiles_.size());
  tiles.seconds = demand.seconds;
  tiles.flow =
      begin(demand.seconds * kWorkPerSecond, uses_of(demand, tiles.count).view(), speed_of_workgroups(), owner);
  tiles_.push_back(tiles);
}

void RankRun::release_tiles() {
  for (const Tiles& tiles : std::exchange(held_, {})) {
    can_begin(tiles.first) ? multiply_tiles(tiles) : held_.push_back(tiles);
  }
}

/// The copy kernel has taken units or returned them.
void RankRun::price_tiles_again() {
  if (sharing_ == Sharing::ignored) return;
  for (Tiles& tiles : tiles_) {
    if (tiles.done) continue;
    const WorkgroupDemand now = demand(tiles);
    tiles.flow =
        transfers_.replace(tiles.flow, now.seconds / tiles.seconds, uses_of(now, tiles.count), speed_of_workgroups());
    tiles.seconds = now.seconds;
  }
}

void RankRun::end_tiles(std::uint32_t index) {
  Tiles& tiles = tiles_[index];
  tiles.done = true;
  units_of_tiles_ -= tiles.count;
  if (stores_) {
    stores_->add(tiles.first, tiles.count);
    start_stores();
  }
  tiles_done();
}

/// Like the simulator's stores; what arrives from peers takes this GPU's memory and fabric at the same time.
void RankRun::start_stores() {
  for (std::uint32_t lane = 0; lane < stores_->lanes(); ++lane) {
    const auto next = stores_->start(lane);
    if (!next) continue;
    const ProductStores::Run& run = stores_->run(*next);
    const std::vector<ResourceUse> uses = uses_of_stores(stores_->block(run), stores_->writes(), stores_->reads());
    const bool stays = stores_->to(lane) == gpu_;
    begin(
        static_cast<double>(run.bytes), uses,
        {.weight = stays ? resources_.weight_of(timing_.memory.rate.bytes_per_second()) : resources_.weight_of_link()},
        kStores + lane);
  }
}

void RankRun::end_stores(std::uint32_t lane) {
  drained_ += stores_->drain(lane);
  start_stores();
  tiles_done();
}

/// Some tiles have ended or drained.
void RankRun::tiles_done() {
  const std::uint64_t done = done_in_order();
  for (; raised_ < gemm_->raises.size() && gemm_->raises[raised_].tiles <= done / gemm_->split_k; ++raised_) {
    const SignalId signal = gemm_->raises[raised_].signal;
    raise(signal, program_.signals[signal.value].home == gpu_ ? Nanoseconds{} : timing_.cores.flag);
  }
  grant_tiles();
  if (waiting_ == 0 && done_in_order() == workgroups_) end_command();
}

std::uint64_t RankRun::done_in_order() const {
  if (stores_) return drained_;
  std::uint64_t done = next_tiles();
  for (const Tiles& tiles : tiles_) done = tiles.done ? done : std::min(done, tiles.first);
  for (const Tiles& tiles : held_) done = std::min(done, tiles.first);
  return done;
}

}  // namespace cortado::sim
