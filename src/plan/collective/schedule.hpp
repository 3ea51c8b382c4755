// The workbench of a planner: buffers, lanes, and the frame of host commands around them.
//
// A lane is a queue that the planner fills with moves, waits and signals. It becomes a queue of the program with its
// first command, so lanes that carry nothing (blocks of zero bytes) leave no trace. Each lane opened towards an engine
// becomes a separate queue as long as the engine has free queue slots; after that, lanes share the queues of the engine
// in turn. Because queues may be shared, a planner must add commands in an order in which they can also run one after
// another.
//
// The schedule splits moves at the packet limits of the machine, puts the prelaunch gate at the head of every dma
// queue, and in finish() ends every queue with a signal and adds the host queues that submit, trigger and wait for
// those signals. Every signal is raised by only one command.
//
// The first thing that the machine cannot do (no such engine, no link, full ring, full memory) is remembered and
// becomes the error of finish(); later calls do nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

#include "plan/collective/host.hpp"

namespace cortado::plan {

class Schedule;

/// Bytes that an all-to-all sends, [from][to]. Empty: as many to all, as the request says.
using SendTable = std::vector<std::vector<Bytes>>;

/// A handle; copies refer to the same lane. Valid as long as its Schedule.
class Lane {
 public:
  void copy(const Region& src, const Region& dst);              ///< of the same shape; several rows: strided copies
  void add(const Region& src, const Region& dst, DType dtype);  ///< dst += src
  void broadcast(const Region& src, const Region& dst1, const Region& dst2);
  void multicast(const Region& src, const std::vector<Region>& destinations);  ///< the lane does nothing else
  void swap(const Region& a, const Region& b);
  /// Compute lanes only; `also` gets the same sum.
  void reduce(std::vector<Region> sources, const Region& dst, DType dtype, std::vector<Region> also = {});
  void multiply(Gemm gemm);    ///< compute lanes only
  void kernel(Kernel kernel);  ///< compute lanes only
  void wait(SignalId signal);

  /// A signal after everything that the lane did so far, in the memory of the rank `home` (none: of the host).
  SignalId raise(std::optional<RankId> home = {});

 private:
  friend class Schedule;
  Lane(Schedule& schedule, std::size_t index) : schedule_(&schedule), index_(index) {}

  void copy_windows(const Region& src, const Region& dst);

  Schedule* schedule_;
  std::size_t index_;
};

class Schedule {
 public:
  /// The request must have its final number of ranks and have been checked; the machine must outlive the schedule.
  Schedule(CollectiveRequest request, const Machine& machine);

  const CollectiveRequest& request() const { return request_; }
  std::uint32_t rank_count() const { return request_.ranks; }
  const SendTable& sends() const { return sends_; }
  void set_sends(SendTable sends) { sends_ = std::move(sends); }
  std::vector<RankId> ranks() const;                       ///< 0, 1, ...
  std::vector<RankId> peers_after(RankId rank) const;      ///< rank+1, rank+2, ... modulo the number of ranks
  std::vector<RankId> peers_ascending(RankId rank) const;  ///< 0, 1, ... without the rank

  /// A buffer named "<kind><rank>", as one region. No buffer is created for zero bytes: the region is then empty and
  /// must not be used in commands.
  Region buffer(std::string_view kind, RankId rank, Bytes size, BufferRole role);

  Lane lane(RankId rank, EngineId engine);
  /// On the engine that the machine prefers for this peer.
  Lane lane_towards(RankId rank, RankId peer);
  /// Whether every rank can address every other one.
  bool all_linked() const { return all_linked_; }
  /// The rank itself or, if it has no link to the peer, a GPU with links to both, which reads from one and writes to
  /// the other: of several, the one that was returned least often. The rank itself if there is none.
  RankId mover_towards(RankId rank, RankId peer);
  /// From now on, lane_towards gives a pair without a link a lane on its mover. The rank ends only when all others
  /// have.
  void go_through_others() { through_others_ = true; }
  Lane compute_lane(RankId rank);

  /// A part, with its own compute units, of the one kernel "cores" that the rank launches. `calls`: library calls in
  /// addition to the launch (program.hpp, Queue).
  Lane kernel_part(RankId rank, std::string_view part, std::uint32_t compute_units, std::uint32_t calls = 0);
  /// The same, of a kernel of the collective library.
  Lane library_part(RankId rank, std::string_view part, std::uint32_t compute_units, Protocol protocol,
                    std::uint32_t calls = 0, Bytes chunk = {});
  const Machine& machine() const { return *machine_; }
  /// The engine of the machine's affinity table. Without one, the peers of a rank get its engines in turn, in the order
  /// in which they are requested: ranks that do the same use their engines in the same way.
  EngineId engine_towards(RankId rank, RankId peer);
  Bytes swap_alignment() const { return machine_->dma.swap_alignment; }

  /// The lane of each peer, in the given order, when `ways` peers share a lane (0: all of them). A single lane is on
  /// engine 8, as in the published measurements, or on the first engine for peers if there is no engine 8; several
  /// lanes are on the engines preferred for their first peers.
  std::vector<Lane> back_to_back_lanes(RankId rank, const std::vector<RankId>& peers);

  /// Copies within the GPU of the rank. Uses the lane set for it or else, below 1 MiB, the first queue that the rank
  /// has, so that it costs no doorbell and no signal. Larger copies, and those of a rank without any queue, get a queue
  /// on the first engine for host traffic, which also reaches the GPU's own memory; or a kernel if the engine would
  /// take much longer than the copies to the peers.
  void copy_locally(RankId rank, const Region& src, const Region& dst);
  void set_local_lane(RankId rank, const Lane& lane) { local_lane_[rank] = lane.index_; }

  /// The queues of a rank end only when everything that the rank receives has arrived: its host need not wait for other
  /// hosts.
  void omit_exit_barrier() { exit_barrier_ = false; }

  /// Only this rank gets commands and a host: it stands for all.
  void stand_for_all(RankId rank) { only_ = rank; }

  /// Hosts submit dma queues before the barrier: each of these must start with a wait for something that happens only
  /// after it.
  void submit_engines_ahead() { engines_ahead_ = true; }

  /// A signal that trackers raise.
  SignalId signal(std::string name, std::optional<RankId> home = {}) { return builder_.signal(std::move(name), home); }
  void track(Tracker tracker) { builder_.tracker(std::move(tracker)); }
  /// The host of the rank waits for the signal before it ends.
  void await(RankId rank, SignalId signal, std::uint64_t value) { waits_.push_back({rank, signal, value}); }

  Bytes footprint() const;              ///< of all buffers so far, on the rank that needs most
  std::uint32_t compute_units() const;  ///< number that a rank gives to the collective

  Result<Program> finish(Contract contract);
  const std::vector<HostPlace>& hosts() const { return hosts_; }  ///< once it is finished

 private:
  friend class Lane;
  struct LaneState {
    RankId rank;
    std::optional<EngineId> engine;      // none: a compute lane
    std::optional<std::size_t> queue{};  // index into queues_, once opened
    std::string part{};                  // of a kernel; empty: a stream
    std::optional<std::uint32_t> compute_units{};
    std::uint32_t calls = 0;
    Protocol protocol = Protocol::none;
    Bytes chunk{};
  };
  struct QueueState {
    QueueId id;
    RankId rank;
    std::uint64_t ring_dwords = 0;
    std::optional<SignalId> last_signal{};  // if the last command is a Signal
    std::uint32_t signals = 0;
  };

  struct EngineUse {
    std::vector<std::size_t> queues;  // indices into queues_
    std::size_t lanes = 0;            // opened so far
  };

  void append(std::size_t lane, Command&& command);
  QueueState& open(LaneState& lane);
  std::size_t open_dma_queue(RankId rank, EngineId engine);
  void push(QueueState& queue, Command&& command);
  SignalId raise(QueueState& queue, std::optional<RankId> home = {});
  SignalId trigger(const QueueState& queue);
  SignalId gate(RankId rank);  ///< the gate that the dma queues of a rank wait for when a runtime is used
  SignalId last_signal(QueueState& queue);
  std::vector<RankId> participants() const;
  std::vector<DrivenQueue> coordinate(const std::vector<DrivenQueue>& queues, const std::vector<RankId>& participants);
  /// A queue that opens the gate of a rank once `begin` is raised, and joins the queues that wait there.
  DrivenQueue add_coordinator(RankId rank, const std::vector<SignalId>& ends, std::optional<SignalId> begin);
  /// Kernels submit the dma queues of their GPU themselves, instead of opening a gate.
  bool kernels_ring() const {
    return request_.runtime == RuntimeMode::device && machine_->features.device_initiated.has_value();
  }
  EngineId coordinator_engine() const;
  bool has_coordinators() const;  ///< or may have
  bool fans_out() const;          ///< batches of the machine's runtime have a coordinator
  std::vector<DrivenQueue> add_barriers(const std::vector<std::vector<SignalId>>& ends,
                                        const std::vector<std::vector<QueueId>>& rung,
                                        const std::vector<RankId>& participants);
  void check_barriers(const std::vector<RankId>& participants);
  void refuse(std::string code, std::string message, std::string hint);
  void check_links(RankId rank, const Command& command);
  bool engines_keep_up() const;
  void check_memory();
  std::vector<std::uint64_t> memory_by_rank() const;

  CollectiveRequest request_;
  SendTable sends_;
  const Machine* machine_;
  std::vector<EngineId> engines_for_peers_;
  struct EnginesOfRank {
    std::vector<std::optional<EngineId>> of_peer;
    std::size_t given = 0;
  };
  std::vector<EnginesOfRank> dealt_;  // by rank
  bool through_others_ = false;
  std::vector<std::uint32_t> moves_for_others_{};  // by rank: lanes between GPUs without a link
  ProgramBuilder builder_;
  std::vector<LaneState> lanes_;
  std::vector<QueueState> queues_;
  std::map<std::pair<RankId, EngineId>, EngineUse> engines_;
  std::map<RankId, std::size_t> local_lane_;  // by rank: set explicitly, or the first dma lane that it opened
  bool all_linked_ = true;                    // every rank can address every other one
  bool exit_barrier_ = true;
  bool engines_ahead_ = false;
  std::optional<RankId> only_;  // the rank that stands for all
  std::vector<HostWait> waits_;
  std::vector<HostTrigger> triggers_;
  std::map<RankId, SignalId> gates_;
  std::vector<HostPlace> hosts_;
  std::optional<Diagnostic> error_;
};

}  // namespace cortado::plan
