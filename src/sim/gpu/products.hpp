// GEMMs: workgroups on compute units.
//
// Workgroups start as units are granted. Those that start together are one flow that ends when all of them are done, at
// the same time: n workgroups that take t seconds each alone progress by at most one second a second, while they draw n
// times what a workgroup takes from last-level cache and memory. What a workgroup takes depends on what runs beside it
// (gemm/gemm.hpp): it is settled when it starts, and anew when other kernels get compute units of the GPU or give them
// back.
//
// A full memory serves in the order of requests: everybody gets the same share of what it would take alone. So the
// weight of such a flow is its full speed, where a copy, whose full speed is the rate of an engine, has the weight 1.
// Machines that arbitrate may weigh otherwise (arbitration.hpp).
//
// On machines whose GEMMs run in stages (timing.compute->stages), those that start together first read read_share of
// what they need from memory (gemm/stages.hpp), a flow that only the memory limits, and then multiply while they read
// the rest. There, and wherever a GEMM has an output map, units are given back when all is multiplied; the stores
// are flows of their own (stores.hpp), and the GEMM is over when the last of them is. They drain as the memory they
// go to, and the links on the way, let them, and hold no compute unit; but workgroups start only while no more than two
// a unit have not drained. An output map that only orders the tiles (all of them are stored on the GPU itself, and no
// tracker watches) changes nothing but their order.
//
// Tiles that wait (TileWait) hold the units that they were granted; those of other groups go on. Each takes `poll`
// more: the flag is read past the caches, also where it is there already. No wave of a GEMM whose tiles wait or
// release is cut for all units, as tiles have a place in the order; and groups of tiles read B each for themselves, as
// those that wait are not in step and those that release come one after another (gemm_model.cpp).
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

/// Who gives units to those that want some.
class UnitGrants {
 public:
  virtual void grant_units(ComputeUnits::Tenant on_gpu_of) = 0;  ///< as many as are free and wanted
  virtual void products_changed(RankId gpu) = 0;  ///< the first one on the GPU has begun, or the last one has ended

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
  /// Others hold more or fewer units of the GPU than before, or its clock is another.
  void settle(ComputeUnits::Tenant on_gpu_of);

  bool on_gpu(RankId gpu) const { return !on_gpu_.empty() && on_gpu_[gpu.value] > 0; }  ///< any GEMM, under way
  /// When compute units of a queue raise a signal now: until who polls it can see it.
  SimTime flag_time(std::uint32_t queue, SignalId signal) const;

  /// Workgroups that started together.
  struct Batch {
    FlowId flow{};
    std::uint64_t first = 0;  ///< in the order of production
    std::uint32_t count = 0;
    bool reads = false;         ///< in stages: what is read before it multiplies
    double read_beside = 0;     ///< in stages: by each, while it multiplies
    std::uint32_t streams = 0;  ///< of others, for which its demand was settled
    double work = 0;            ///< of each, in all
    double memory_reads = 0;    ///< bytes of the memory for one unit of work
    double memory_writes = 0;
    double memory_load = 0;  ///< of the memory's rate, in bytes for one unit of work
    double fabric = 0;       ///< share of the fabric for one unit of work
    double clock = 0;        ///< for which its speed was settled, GHz
    bool last = false;       ///< behind others, with nothing left to start
    bool polls = false;      ///< for a signal, before it begins
  };
  std::span<const Batch> batches(std::uint32_t queue) const;  ///< that run
  /// Of a batch that multiplies.
  Transfers::Speed full_speed(std::uint32_t queue) const;
  /// Workgroups that hold a unit; none: the queue has not multiplied yet.
  std::optional<std::uint64_t> running(std::uint32_t queue) const;
  /// A wait that holds units, if there is one.
  std::optional<TileWait> held_by(std::uint32_t queue) const;
  /// Of the last GEMM, where they are flows of their own.
  const ProductStores* stores(std::uint32_t queue) const;

 private:
  /// A GEMM under way: workgroups that wait, run, store or are done.
  struct ProductRun {
    std::optional<GemmModel> model;
    double metered_clock = 0;  // GHz, with which it began
    double clock = 0;          // GHz, unless it is managed, for so many units:
    std::uint32_t clock_units = 0;
    std::uint64_t workgroups = 0;
    std::uint64_t waiting = 0;
    std::uint64_t running = 0;
    std::uint64_t done = 0;
    std::size_t raised = 0;               // of its tile signals
    std::vector<Batch> batches;           // that run
    std::vector<Batch> held;              // that hold units and wait
    std::optional<StageReads> reads;      // in stages
    std::optional<ProductStores> stores;  // where they are flows of their own
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
  /// The workgroups from `first` on that wait for the same signals, of so many; they begin or are held.
  std::uint32_t begin_group(std::uint32_t queue, std::uint64_t first, std::uint32_t count);
  std::span<const TileWait> waits_of(std::uint32_t queue, std::uint64_t workgroup) const;
  bool reached(std::uint32_t queue, std::span<const TileWait> waits) const;
  bool leaves_units(const Gemm& gemm, RankId gpu) const;
  void begin_reading(std::uint32_t queue, Batch& batch);
  void begin_multiplying(std::uint32_t queue, Batch& batch);
  void end(std::uint32_t queue);
  /// What the workgroups of a batch take beside so many streams of others; settles the batch for them.
  UseList& price_workgroups(std::uint32_t queue, std::uint32_t streams, Batch& batch);
  WorkgroupDemand demand_of(const GemmModel& model, GemmWave wave, double clock, const GemmSurroundings& beside);
  double weight() const;                                     ///< of reads and stores
  std::uint32_t units_available(std::uint32_t queue) const;  ///< that others do not hold
  double clock(std::uint32_t queue);                         ///< GHz
  void raise_tiles(std::uint32_t queue, const Gemm& gemm);
  /// Workgroups before the first, in the order of production, that is not done.
  std::uint64_t done_in_order(std::uint32_t queue) const;
  Bytes cache_held_beside(const Gemm& gemm, RankId gpu) const;
  const Gemm& gemm_of(std::uint32_t queue) const;  ///< that is under way
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
  std::vector<std::uint32_t> on_gpu_;  // under way
};

}  // namespace cortado::sim
