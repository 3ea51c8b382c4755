// GEMMs: workgroups on compute units.
//
// Workgroups start as units are granted. Those that start together are one flow that ends when all of them are done, at
// the same time: n workgroups that take t seconds each alone progress by at most one second per second, while they draw
// n times what one workgroup takes from last-level cache and memory. What a workgroup takes depends on what runs beside
// it (gemm/gemm.hpp): it is determined when the workgroup starts, and again when other kernels get or return compute
// units of the GPU.
//
// The weight of such a flow is its full speed (MachineResources::weight_of). Machines that arbitrate may use other
// weights (arbitration.hpp).
//
// On machines whose GEMMs run in stages (timing.compute->stages), workgroups that start together first read read_share
// of what they need from memory (gemm/stages.hpp), as a flow that only the memory limits, and then multiply while they
// read the rest. There, and wherever a GEMM has an output map, units are returned when the multiplication is finished;
// the stores are separate flows (stores.hpp), and the GEMM is over when the last of them is. They drain as fast as the
// destination memory, and the links on the way, allow, and hold no compute unit; but workgroups start only while at
// most two per unit have not drained. An output map that only orders the tiles (all of them are stored on the GPU
// itself, and no tracker watches) changes nothing but their order.
//
// Tiles that wait (TileWait) hold the units that they were granted; those of other groups continue. Each takes `poll`
// longer: the flag is read past the caches, even if it is already set. In a GEMM whose tiles wait or release, no wave
// is cut to fill all units, because tiles have a fixed order; and each group of tiles reads B for itself, because
// groups that wait are not in step and groups that release come one after another (gemm_model.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gemm/gemm.hpp"
#include "gemm/stages.hpp"
#include "sim/gpu/compute_units.hpp"
#include "sim/gpu/machine_resources.hpp"
#include "sim/gpu/movers.hpp"
#include "sim/gpu/queues.hpp"
#include "sim/gpu/run_power.hpp"
#include "sim/gpu/stores.hpp"
#include "sim/gpu/tracker_unit.hpp"

namespace cortado::sim {

/// Grants units to queues that want some.
class UnitGrants {
 public:
  virtual void grant_units(ComputeUnits::Tenant on_gpu_of) = 0;  ///< as many as are free and wanted
  virtual void products_changed(RankId gpu) = 0;  ///< the first GEMM on the GPU has begun, or the last one has ended

 protected:
  ~UnitGrants() = default;
};

class Products {
 public:
  Products(Core& core, Queues& queues, QueueControl& control, UnitGrants& grants, MachineResources& resources,
           ComputeUnits& units, Movers& movers, TrackerUnit& trackers, RunPower& power);

  void begin(std::uint32_t queue, const Gemm& gemm);
  void begin_workgroups(std::uint32_t queue, std::uint32_t granted);
  void end_workgroups(std::uint32_t queue, FlowId flow);
  void end_stores(std::uint32_t queue, std::uint32_t lane);
  void want_units(std::uint32_t queue);
  /// A signal that tiles of the queue wait for has been raised.
  void release_tiles(std::uint32_t queue);
  /// Others now hold more or fewer units of the GPU, or its clock has changed.
  void settle(ComputeUnits::Tenant on_gpu_of);

  bool on_gpu(RankId gpu) const { return !on_gpu_.empty() && on_gpu_[gpu.value] > 0; }  ///< any GEMM in progress
  /// If compute units of a queue raise a signal now: the time until a poller can see it.
  SimTime flag_time(std::uint32_t queue, SignalId signal) const;

  /// Workgroups that started together.
  struct Batch {
    FlowId flow{};
    std::uint64_t first = 0;  ///< in production order
    std::uint32_t count = 0;
    bool reads = false;         ///< in stages: it is in the read phase, before it multiplies
    double read_beside = 0;     ///< in stages: read by each while it multiplies
    std::uint32_t streams = 0;  ///< of others, for which its demand was computed
    double work = 0;            ///< of each, in total
    double memory_reads = 0;    ///< bytes of the memory per unit of work
    double memory_writes = 0;
    double memory_load = 0;  ///< of the memory's rate, in bytes per unit of work
    double fabric = 0;       ///< share of the fabric per unit of work
    double clock = 0;        ///< for which its speed was computed, GHz
    bool last = false;       ///< runs behind others, with nothing left to start
    bool polls = false;      ///< for a signal, before it begins
  };
  std::span<const Batch> batches(std::uint32_t queue) const;  ///< that are running
  /// For a batch that multiplies.
  Transfers::Speed full_speed(std::uint32_t queue) const;
  /// Workgroups that hold a unit; none: the queue has not run a GEMM yet.
  std::optional<std::uint64_t> running(std::uint32_t queue) const;
  /// A wait that holds units, if any.
  std::optional<TileWait> held_by(std::uint32_t queue) const;
  /// Stores of the last GEMM, if they are separate flows.
  const ProductStores* stores(std::uint32_t queue) const;

 private:
  /// A GEMM in progress: workgroups that wait, run, store or are done.
  struct ProductRun {
    std::optional<GemmModel> model;
    double metered_clock = 0;  // GHz, at its beginning
    double clock = 0;          // GHz, if not managed, with this many units:
    std::uint32_t clock_units = 0;
    std::uint64_t workgroups = 0;
    std::uint64_t waiting = 0;
    std::uint64_t running = 0;
    std::uint64_t done = 0;
    std::size_t raised = 0;               // number of its tile signals raised
    std::vector<Batch> batches;           // those that are running
    std::vector<Batch> held;              // those that hold units and wait
    std::optional<StageReads> reads;      // in stages
    std::optional<ProductStores> stores;  // where stores are separate flows
  };

  /// What was priced before: waves of a GEMM, and ranks, ask for the same over and over.
  struct KnownDemand {
    GemmModel model;
    GemmWave wave;
    GemmSurroundings beside;
    double clock = 0;
    WorkgroupDemand demand;
  };

  void begin_batch(std::uint32_t queue, const Batch& batch);
  /// Of `count` workgroups from `first` on, takes the leading ones that wait for the same signals; these begin or are
  /// held.
  std::uint32_t begin_group(std::uint32_t queue, std::uint64_t first, std::uint32_t count);
  std::span<const TileWait> waits_of(std::uint32_t queue, std::uint64_t workgroup) const;
  bool reached(std::uint32_t queue, std::span<const TileWait> waits) const;
  bool leaves_units(const Gemm& gemm, RankId gpu) const;
  void begin_reading(std::uint32_t queue, Batch& batch);
  void begin_multiplying(std::uint32_t queue, Batch& batch);
  void end(std::uint32_t queue);
  /// What the workgroups of a batch take beside this many streams of others; updates the batch accordingly.
  UseList& price_workgroups(std::uint32_t queue, std::uint32_t streams, Batch& batch);
  WorkgroupDemand demand_of(const GemmModel& model, GemmWave wave, double clock, const GemmSurroundings& beside);
  double weight() const;                                     ///< of reads and stores
  std::uint32_t units_available(std::uint32_t queue) const;  ///< not held by others
  double clock(std::uint32_t queue);                         ///< GHz
  void raise_tiles(std::uint32_t queue, const Gemm& gemm);
  /// The number of leading workgroups, in production order, that are done.
  std::uint64_t done_in_order(std::uint32_t queue) const;
  Bytes cache_held_beside(const Gemm& gemm, RankId gpu) const;
  const Gemm& gemm_of(std::uint32_t queue) const;  ///< the one in progress
  double memory_intensity(std::uint32_t queue) const;

  // store_flows.cpp
  void start_stores(std::uint32_t queue);
  std::uint32_t workgroups_with_entries(std::uint32_t queue, std::uint32_t count);

  Core& core_;
  Queues& queues_;
  QueueControl& control_;
  UnitGrants& grants_;
  MachineResources& resources_;
  ComputeUnits& units_;
  Movers& movers_;
  TrackerUnit& trackers_;
  RunPower& power_;
  GemmClocks known_clocks_;
  std::vector<KnownDemand> known_demands_;
  std::vector<ProductRun> products_;   // by queue; empty if the program has none
  std::vector<std::uint32_t> on_gpu_;  // by GPU: number in progress
};

}  // namespace cortado::sim
