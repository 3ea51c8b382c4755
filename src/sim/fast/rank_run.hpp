// The run of one rank's program: what rank_program.cpp (host, copies) and rank_gemm.cpp (kernels, tiles) share.
#pragma once

#include <optional>
#include <vector>

#include "cortado/result.hpp"

#include "sim/fast/one_gpu.hpp"
#include "sim/gpu/compute_units.hpp"
#include "sim/gpu/stores.hpp"
#include "sim/gpu/trackers.hpp"

namespace cortado::sim {

class RankRun : OneGpu {
 public:
  RankRun(const Program& program, bool closed, const Machine& machine, Sharing sharing);

  Result<Nanoseconds> run();

 private:
  // Owner numbers of flows. Smaller numbers are indices of lanes.
  static constexpr std::uint32_t kStores = std::uint32_t{1} << 30;  ///< the first lane of stores
  static constexpr std::uint32_t kTiles = std::uint32_t{1} << 31;   ///< the first batch of tiles
  static constexpr std::uint32_t kKernels = ~std::uint32_t{0};      ///< also as an index of events

  /// A queue that copies: on an engine, or a part of the copy kernel.
  struct Lane {
    const Queue* queue = nullptr;
    std::vector<ResourceUse> uses{};  // of all its copies
    double full_speed = kUnlimited;   // limit of its compute units
    FlowId flow{};                    // the copy in progress, on compute units
    bool moves = false;
    bool begun = false;
    std::size_t command = 0;
    bool waits = false;    // waiting for a signal
    double streaming = 0;  // bytes of its current copies that pass through the cache
    SimTime end{};         // when its last command so far ended

    bool on_units() const { return queue->kind == QueueKind::compute; }
  };

  /// Workgroups that hold units, starting at `first` in production order.
  struct Tiles {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    FlowId flow{};
    double seconds = 0;  // of each at full speed, as last computed
    bool last = false;   // runs behind others, with nothing left to start
    bool done = false;
  };

  static RankId rank_of(const Program& program);

  void submit();
  SimTime launch(const Queue& queue, SimTime now);
  SimTime launch_kernels(const Queue& queue, SimTime now);
  SimTime launch_copies(const Queue& queue, SimTime now);
  void handle(const Event& event);
  void step_at(std::uint32_t index, SimTime at) { events_.post(at, EventClass::begin, {EventKind::step, index}); }
  void raise(SignalId signal, Nanoseconds later);
  void show(SignalId signal);

  void step_lane(std::uint32_t index);
  void move_bytes(std::uint32_t index);
  void end_bytes(std::uint32_t index);
  double speed_of(const Lane& lane) const;
  void change_copy_units(std::uint32_t units);

  // rank_gemm.cpp
  void step_kernels();
  void begin_kernel(const Command& command);
  void begin_waves();
  void end_kernel();
  void begin_tiles(const Gemm& gemm);
  void end_command();
  std::uint64_t next_tiles() const { return workgroups_ - waiting_; }
  bool can_begin(std::uint64_t workgroup) const;
  void grant_tiles();
  std::uint64_t room_for_tiles() const;
  WorkgroupDemand demand(const Tiles& tiles);
  void multiply_tiles(Tiles tiles);
  void release_tiles();
  void price_tiles_again();
  void end_tiles(std::uint32_t index);
  void start_stores();
  void end_stores(std::uint32_t lane);
  void tiles_done();
  std::uint64_t done_in_order() const;
  std::uint32_t gemm_units() const { return machine_.compute_units - copy_units_; }

  const Program& program_;
  const Nanoseconds wake_;
  const bool lanes_count_;
  const ComputeUnits units_;
  const Trackers trackers_;
  std::vector<bool> visible_;  // by signal
  std::vector<Lane> lanes_;
  std::uint32_t lanes_at_work_ = 0;  // lanes with a copy in progress
  double streaming_ = 0;             // bytes of theirs in the cache
  std::uint32_t parts_at_work_ = 0;  // parts of the copy kernel in progress
  std::uint32_t copy_units_ = 0;     // units that the copy kernel holds
  SimTime copies_begin_{};           // when its last part begins; kernels begin in launch order

  const Queue* kernels_ = nullptr;
  std::size_t command_ = 0;
  bool kernels_wait_ = false;  // waiting for a signal
  bool behind_ = false;        // a kernel or a wait came before
  bool started_ = false;       // the next kernel has been started
  SimTime kernels_end_{};
  GemmShape shape_;  // of the GEMM in progress
  std::optional<GemmModel> model_;
  GemmClocks clocks_{machine_};
  bool gemm_has_groups_ = false;  // some GEMM had tiles that wait or release
  double clock_ = 0;              // GHz, of the GEMM in progress, with this many units:
  std::uint32_t clock_units_ = 0;
  std::uint64_t workgroups_ = 0;         // of the GEMM in progress
  std::uint64_t waiting_ = 0;            // of these, not started yet
  const Gemm* gemm_ = nullptr;           // in progress, with tiles that wait or release
  std::vector<Tiles> tiles_;             // those that have begun
  std::vector<Tiles> held_;              // those that hold units and wait
  std::uint64_t units_of_tiles_ = 0;     // of both, as long as they are not finished
  std::uint64_t drained_ = 0;            // workgroups, where stores are separate flows
  std::optional<ProductStores> stores_;  // where stores are separate flows
  std::size_t raised_ = 0;               // number of its tile signals raised
};

}  // namespace cortado::sim
