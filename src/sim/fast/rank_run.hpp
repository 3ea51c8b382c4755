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
  // Owners of flows. Below: lanes, by index.
  static constexpr std::uint32_t kStores = std::uint32_t{1} << 30;  ///< the first lane of stores
  static constexpr std::uint32_t kTiles = std::uint32_t{1} << 31;   ///< the first batch of tiles
  static constexpr std::uint32_t kKernels = ~std::uint32_t{0};      ///< also as an index of events

  /// A queue that copies: of an engine, or a part of the kernel that copies.
  struct Lane {
    const Queue* queue = nullptr;
    std::vector<ResourceUse> uses{};  // of all its copies
    double full_speed = kUnlimited;   // of compute units
    FlowId flow{};                    // of the copy that moves, of compute units
    bool moves = false;
    bool begun = false;
    std::size_t command = 0;
    bool waits = false;    // for a signal
    double streaming = 0;  // bytes in the cache, of the copies that move
    SimTime end{};         // of its last command so far

    bool on_units() const { return queue->kind == QueueKind::compute; }
  };

  /// Workgroups that hold units, from the first on in the order of production.
  struct Tiles {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    FlowId flow{};
    double seconds = 0;  // of each at full speed, as priced last
    bool last = false;   // behind others, with nothing left to start
    bool done = false;
  };

  static RankId rank_of(const Program& program);

  void submit();
  SimTime launch(const Queue& queue, SimTime now);
  SimTime launch_kernels(const Queue& queue, SimTime now);
  SimTime launch_copies(const Queue& queue, SimTime now);
  void handle(const Event& event);
  void step_at(std::uint32_t index, SimTime at) { events_.schedule(at, EventClass::begin, {EventKind::step, index}); }
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
  std::uint32_t lanes_at_work_ = 0;  // with a copy
  double streaming_ = 0;             // bytes of theirs in the cache
  std::uint32_t parts_at_work_ = 0;  // of the kernel that copies
  std::uint32_t copy_units_ = 0;     // that it holds
  SimTime copies_begin_{};           // of its last part; kernels begin in the order of their launches

  const Queue* kernels_ = nullptr;
  std::size_t command_ = 0;
  bool kernels_wait_ = false;  // for a signal
  bool behind_ = false;        // a kernel or a wait came before
  bool started_ = false;       // the kernel that is next
  SimTime kernels_end_{};
  GemmShape shape_;  // under way
  std::optional<GemmModel> model_;
  GemmClocks clocks_{machine_};
  bool gemm_has_groups_ = false;  // a GEMM had tiles that wait or release
  double clock_ = 0;              // GHz, of the GEMM under way, for so many units:
  std::uint32_t clock_units_ = 0;
  std::uint64_t workgroups_ = 0;         // of the GEMM under way
  std::uint64_t waiting_ = 0;            // of these
  const Gemm* gemm_ = nullptr;           // under way, with tiles that wait or release
  std::vector<Tiles> tiles_;             // that have begun
  std::vector<Tiles> held_;              // that hold units and wait
  std::uint64_t units_of_tiles_ = 0;     // of both, as long as they are not through
  std::uint64_t drained_ = 0;            // workgroups, where stores are flows of their own
  std::optional<ProductStores> stores_;  // where they are
  std::size_t raised_ = 0;               // of its tile signals
};

}  // namespace cortado::sim
