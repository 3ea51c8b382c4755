// One simulated run: the queues of a program as state machines over the event queue.
//
// Every queue is at one command of one iteration. A queue is stepped until it must wait: for time to pass (an event is
// scheduled), for a signal (it is noted at the SignalBoard), for its copies (the last transfer steps it), or for a
// Submit, for compute units of its GPU, or for entries of a tracker. Where engines are software (engine_timing.threads)
// a dma or host queue also waits for its turn on a thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/gemm/gemm.hpp"
#include "cortado/gemm/stages.hpp"
#include "cortado/sim/simulate.hpp"

#include "sim/gpu/arbitration.hpp"
#include "sim/gpu/compute_units.hpp"
#include "sim/gpu/events.hpp"
#include "sim/gpu/iteration_energy.hpp"
#include "sim/gpu/machine_resources.hpp"
#include "sim/gpu/node_memory.hpp"
#include "sim/gpu/recorder.hpp"
#include "sim/gpu/signal_board.hpp"
#include "sim/gpu/stores.hpp"
#include "sim/gpu/thread_turns.hpp"
#include "sim/gpu/trackers.hpp"
#include "sim/gpu/transfers.hpp"
#include "sim/power/manager.hpp"
#include "sim/power/meter.hpp"

namespace cortado::sim {

class Run {
 public:
  /// The machine of the program has timing.
  Run(const CheckedProgram& program, const SimulateOptions& options);

  Result<Simulated> go() &&;

 private:
  friend class WatchedRun;  // conservation_test.cpp

  enum class Blocked : std::uint8_t { no, signal, transfers, submit, thread, units, entries };

  /// A copy past its issue that is not moving bytes yet.
  struct PendingCopy {
    SimTime ready;
    std::uint32_t command;
    std::uint32_t span;
  };

  struct QueueRun {
    std::uint32_t iteration = 0;
    std::uint32_t command = 0;
    std::uint32_t submitted = 0;    // iterations that the queue may execute; host queues: all
    std::uint32_t outstanding = 0;  // dma: copies issued and not finished
    std::uint32_t span = kNoSpan;   // of the command under way (not of overlapping copies)
    std::uint32_t submit_span = kNoSpan;
    Blocked blocked = Blocked::submit;
    bool begun = false;                // the current command has started
    SimTime ended{};                   // the last command that ended
    SimTime next_issue{};              // dma: earliest issue of the next copy
    std::vector<PendingCopy> pending;  // dma: first in, first out; [0, first_pending) have left
    std::size_t first_pending = 0;
    std::vector<FlowId> moving;            // dma: copies that move bytes
    double weight = 1;                     // dma: of each of these
    std::optional<FlowId> flow;            // compute: of the copy or kernel under way
    bool behind = false;                   // compute: a kernel or a wait of this iteration came before
    std::optional<SimTime> entries_since;  // that its next copy or workgroup has waited for entries
    std::uint32_t entries_of = 0;          // of this tracker
  };

  /// Workgroups that started together.
  struct Batch {
    FlowId flow{};
    std::uint64_t first = 0;  // in the order of production
    std::uint32_t count = 0;
    bool reads = false;         // in stages: what is read before it multiplies
    double read_beside = 0;     // in stages: by each, while it multiplies
    std::uint32_t streams = 0;  // of others, for which its demand was settled
    double work = 0;            // of each, in all
    double memory_reads = 0;    // bytes of the memory for one unit of work
    double memory_writes = 0;
    double fabric = 0;  // share of the fabric for one unit of work
    double clock = 0;   // for which its speed was settled, GHz
  };

  /// A product under way: workgroups that wait, run, store or are done.
  struct ProductRun {
    std::optional<GemmModel> model;
    std::uint64_t workgroups = 0;
    std::uint64_t waiting = 0;
    std::uint64_t running = 0;
    std::uint64_t done = 0;
    std::size_t raised = 0;               // of its tile signals
    std::vector<Batch> batches;           // that run
    std::optional<StageReads> reads;      // in stages
    std::optional<ProductStores> stores;  // where they are flows of their own
  };

  /// What a flow belongs to.
  struct Mover {
    enum class Kind : std::uint8_t { command, workgroups, stores };
    std::uint32_t queue;
    std::uint32_t span;
    Kind kind = Kind::command;
    bool alive = false;
    std::uint32_t lane = 0;            // of stores
    const Command* command = nullptr;  // that moves bytes
    double weight = 1;                 // before arbitration
    FlowId flow{};
  };

  /// An update on its way to the memory.
  struct Landing {
    TrackerUpdate update;
    std::uint32_t span;
  };

  void handle(const Event& event);
  void step(std::uint32_t queue);
  void fetched(std::uint32_t index);  ///< the packets of one more iteration are with the engine
  void step_host(std::uint32_t index);
  void step_dma(std::uint32_t index);
  void step_compute(std::uint32_t index);

  /// True if the queue has a command to execute; moves on to the next iteration at the end of one.
  bool at_command(std::uint32_t index);
  void step_at(std::uint32_t index, SimTime at);

  /// The queue waits for a signal or a Submit, or its last copy has ended: its thread is free if both are true.
  void give_thread_back(std::uint32_t index);

  void begin_command(std::uint32_t index);
  void end_command(std::uint32_t index);

  /// The Wait under way is passed now, or the queue is blocked until the raise that releases it.
  bool pass_wait(std::uint32_t index, const Wait& wait);
  /// When compute units of a queue raise a signal now: until who polls it can see it.
  SimTime flag_time(std::uint32_t index, SignalId signal) const;
  void raise_at(SimTime visible, std::uint32_t index, SignalId signal, std::uint64_t value, SignalOp op);
  void apply_raise(std::uint32_t raise);

  // host_queue.cpp
  static std::vector<SimTime> submit_costs(const Program& program, const Timing& timing);
  SimTime host_cost(const Command& command) const;
  void finish_host_command(std::uint32_t index, const Command& command);

  // dma_queue.cpp
  bool issue_copy(std::uint32_t index);
  void move_ready_copies(std::uint32_t index);
  void share_engine(std::uint32_t index);  ///< other copies of the queue move than before
  UseList& uses_of(std::uint32_t index, const Command& command);

  // compute_queue.cpp
  void begin_kernel(std::uint32_t index, const Command& command);
  void begin_bytes(std::uint32_t index, const Command& command);  ///< of a copy or kernel, on the units that are held
  void end_bytes(std::uint32_t index);
  double units_of(std::uint32_t index) const;  ///< that the queue has of what its tenant holds
  void part_begins(std::uint32_t index);
  void part_ends(std::uint32_t index);
  void grant_units(ComputeUnits::Tenant on_gpu_of);  ///< as many as are free and wanted
  void use_units(const ComputeUnits::Grant& grant);
  /// Of the copy or kernel under way: bytes per second that its compute units can do.
  double speed_of_kernel(std::uint32_t index) const;
  void set_speed_of_kernel(std::uint32_t index);

  // product.cpp
  void begin_product(std::uint32_t index, const Gemm& gemm);
  void begin_workgroups(std::uint32_t index, std::uint32_t count);
  void begin_reading(std::uint32_t index, Batch& batch);
  void begin_multiplying(std::uint32_t index, Batch& batch);
  void end_workgroups(std::uint32_t index, FlowId flow);
  void want_units(std::uint32_t index);
  void end_product(std::uint32_t index);
  /// Others hold more or fewer units than before, or the clock is another.
  void settle_products(ComputeUnits::Tenant on_gpu_of);
  /// What the workgroups of a batch take beside so many streams of others; settles the batch for them.
  UseList& price_workgroups(std::uint32_t index, std::uint32_t streams, Batch& batch);
  Transfers::Speed full_speed(std::uint32_t index) const;
  void raise_tiles(std::uint32_t index, const Gemm& gemm);
  Bytes cache_held_beside(const Gemm& gemm, RankId gpu) const;
  void count_streaming(const Command& command, double sign);
  const Gemm& gemm_of(std::uint32_t index) const;  ///< that is under way
  double memory_intensity(std::uint32_t index) const;

  // store_flows.cpp
  void start_stores(std::uint32_t index);
  void end_stores(std::uint32_t index, std::uint32_t lane);
  std::uint32_t workgroups_with_entries(std::uint32_t index, std::uint32_t count);
  bool open_trackers(std::uint32_t index, const Copy& copy);
  void wait_for_entries(std::uint32_t index, std::uint32_t tracker);
  void stop_waiting_for_entries(std::uint32_t index);
  void land(std::span<const TrackerUpdate> updates, bool over_link, std::uint32_t span);
  void land_copy(const Copy& copy, std::uint32_t span);
  void update_tracker(const TrackerUpdate& update, std::uint32_t span);

  // clocks.cpp
  static MachineResources::Energies energies_of(const Machine& machine, const SimulateOptions& options);
  double xcd_clock(RankId gpu, DType dtype) const;  ///< GHz at which products of the type run
  double unit_speed(RankId gpu) const;              ///< of compute units, against what the machine file has them at
  double copy_speed(RankId gpu) const;              ///< of their copies
  SimTime by_units(RankId gpu, Nanoseconds time) const;  ///< what compute units take so long for at nominal clocks
  void product_clock(RankId gpu, DType dtype, std::int32_t more);  ///< products of the type begin or end
  void manage_clocks();                                            ///< a control interval is over
  void correct_clocks();                                           ///< as long as a GPU draws too much after that
  void change_clocks(RankId gpu);                                  ///< they are others than before
  void observe_use();                                              ///< rates are shared anew
  double use_of_clock(FlowId flow, double full_speed, std::size_t of_its_own) const;
  double unit_use(RankId gpu) const;
  Contention contention(RankId gpu) const;
  double joules_of_flop(DType dtype) const;
  void note_energy(IterationEnergy::Moment moment, std::uint32_t iteration);
  void tell_energy(Simulated& result);

  // Arbitration.
  bool is_communication(const Mover& mover) const;
  double share_of(const Mover& mover) const;
  double product_weight() const;                ///< of reads and stores
  void set_weight(FlowId flow, double weight);  ///< before arbitration
  void reweigh();                               ///< shares of GPUs have changed

  FlowId begin_transfer(double amount, const UseList& uses, Transfers::Speed speed, Mover mover);
  void end_transfer(FlowId flow);

  Diagnostic stall() const;

  const Program& program_;
  const Machine& machine_;
  const Timing& timing_;
  SimulateOptions options_;
  Events events_;
  std::optional<PowerMeter> meter_;      // energy is counted
  std::optional<PowerManager> manager_;  // clocks are managed
  FluidSystem fluid_;
  MachineResources resources_;
  NodeMemory node_memory_;
  ThreadTurns turns_;
  ComputeUnits units_;
  Transfers transfers_;
  SignalBoard signals_;
  Trackers trackers_;
  Arbitration arbitration_;
  Recorder recorder_;
  std::vector<QueueRun> queues_;
  std::vector<Mover> movers_;  // by owner number of a transfer
  std::vector<std::uint32_t> free_movers_;
  std::vector<SimTime> submit_costs_;           // by queue: what its Submit costs the host
  std::vector<std::uint32_t> released_;         // scratch of apply_raise
  std::vector<std::uint32_t> parts_at_work_;    // by tenant, of kernels
  std::vector<ProductRun> products_;            // by queue; empty if the program has none
  std::vector<std::uint32_t> products_on_gpu_;  // under way
  std::vector<double> streaming_;               // by rank: bytes of the commands under way; empty without products
  std::vector<Landing> landings_;
  std::vector<std::uint32_t> free_landings_;
  std::vector<std::vector<std::uint32_t>> entry_waiters_;  // by GPU of the tracker: queues
  double entries_waited_ = 0;                              // seconds
  DramTraffic traffic_;
  std::vector<std::array<std::uint32_t, 4>> product_types_;  // by GPU: products under way of f32, f16, bf16, f8
  std::optional<IterationEnergy> iteration_energy_;
  SimTime last_{};     // that anything of the program happened
  SimTime decided_{};  // when clocks were decided last
  std::uint32_t corrections_left_ = 0;
  std::uint64_t commands_;  // of all iterations
  std::uint64_t commands_begun_ = 0;
};

}  // namespace cortado::sim
