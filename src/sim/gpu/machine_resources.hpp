// A machine as resources of the fluid solver: DMA engines, links or switch ports, last-level caches and memories.
//
// Rates are bytes per second. One byte per second of a transfer takes:
//   engine   copy 1, swap 2 (both directions), broadcast 2 * rate / broadcast_rate, local copy rate / local_rate; the
//            engine's capacity is `rate` for what the last-level cache holds and `uncached_rate` for the rest
//   detour   1 for each link that an engine uses although the affinity table names another engine for it (detour_rate);
//            all such bytes of a GPU share it
//   link     1 in its direction; for compute units 1 / wire_efficiency (of the protocol of the queue). Bytes travel
//            from the source to the GPU that executes the command and on to the destination; each of these steps counts
//            if it leaves a GPU. Where the switch adds and multicasts, each GPU sends its term and receives the sum
//            once
//   cache    1 for each read and write, if the machine has one
//   memory   1 for each read and write that the cache does not hold. The cache holds the share min(1, cache bytes /
//            bytes of the rank's buffers) of them. GEMMs specify their use of both themselves (gemm/gemm.hpp). Memory
//            that trackers watch is not cached; where GEMMs run in stages, only they use the cache. An addition reads
//            and writes, or takes update_cost if the machine has trackers or specifies it
//   fabric   of a GPU whose compute units run GEMMs: its links at full rate in both directions take fabric_links of it,
//            and fabric_cores times as much if its compute units drive them; GEMMs on all units, or at the full rate of
//            the memory, take fabric_products
//   host     host_links.hpp; an engine's capacity is the rate that it reaches over the host link
// A cache or memory that the links, engines and compute units of its rank cannot fill together limits nobody; transfers
// do not list it, unless clocks are managed.
//
// Transfers also report what they touch, by place (sim/power/listener.hpp): engines for each byte that they write, both
// ends of every link, L2 for what compute units read and write, caches and memories for what they read and write.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

#include "sim/fluid/fluid.hpp"
#include "sim/gpu/host_links.hpp"
#include "sim/gpu/use_list.hpp"

namespace cortado::sim {

/// Whether the queue has a GEMM among its commands.
bool multiplies(const Queue& queue);

class MachineResources {
 public:
  /// The machine must have timing. It and the program must outlive this. `managed`: clocks of I/O dies and memory may
  /// change.
  MachineResources(const Machine& machine, const Program& program, FluidSystem& fluid, bool managed = false);

  /// Treats every engine as the one that the affinity table names.
  void ignore_detours() { detours_.clear(); }

  // The returned lists are valid until the next call of any of these: there are many transfers, and a new list would
  // cost an allocation. `gpu` executes the command.
  UseList& move_by_engine(RankId gpu, EngineId engine, const Command& command);  ///< Copy, Broadcast or Swap
  UseList& copy_by_cores(RankId gpu, const Copy& copy, Protocol protocol = Protocol::none);
  /// Per byte of the destination.
  UseList& call_by_cores(RankId gpu, const Call& call);
  UseList& kernel_by_cores(RankId gpu, const Kernel& kernel, Protocol protocol = Protocol::none);
  /// Upper limit of the rate at which this many compute units execute a Copy or Kernel, in bytes of the destination per
  /// second.
  double rate_of_units(RankId gpu, const Command& command, double units, Protocol protocol = Protocol::none) const;
  /// Reductions in the switch that process this many bytes per loop: upper limit in bytes of this GPU's sum per second.
  double rate_of_multicast(const Kernel& kernel, double loop_bytes) const;
  /// Workgroups of a GEMM, per unit of work, whatever that is.
  struct ProductUse {
    double cache_bytes = 0;
    double memory_load = 0;    ///< what the memory could have moved in the time for which they keep it busy
    double memory_bytes = 0;   ///< what it actually moves
    double memory_writes = 0;  ///< of these, bytes written
    double fabric_share = 0;
  };
  UseList& product_by_cores(RankId gpu, const ProductUse& use);
  /// Share of the fabric taken by workgroups that hold the given share of the GPU's units and load the memory with the
  /// given number of bytes, both per unit of work.
  double fabric_of_products(double units, double memory_load) const;
  /// A full resource serves requests in order: everybody gets the same share of what it would take alone. So the weight
  /// of a flow is its full speed, on a scale where a copy of an engine to a peer has weight 1.
  double weight_of(double bytes_per_second) const;
  /// Of flows of compute units over a link, which can fill it.
  double weight_of_link() const { return weight_of(timing_.link.rate.bytes_per_second()); }
  /// All links of the GPU in both directions together, bytes per second.
  double link_rate(RankId rank) const;
  /// From now on, a byte over a link of the GPU takes this many times its share of the fabric.
  void set_mixing(RankId gpu, double factor) { memories_[gpu.value].mixing = factor; }
  /// Operands of a stage, per byte.
  UseList& reads_by_cores(RankId gpu);
  /// Stores of a GEMM that bypass the caches, per byte of C that goes to the region: this many bytes written, and read
  /// before.
  UseList& stores_by_cores(RankId gpu, const Region& to, CopyOp op, double writes, double reads);

  /// Clocks of the GPU relative to nominal: caches, fabric and engines follow the first, memory the second.
  void set_clocks(RankId gpu, double iod, double memory);
  /// Utilisation of the resources that follow the clock of the I/O dies, or of the memory: that of the fullest one.
  /// Negative if nothing is in use.
  double iod_use(RankId gpu) const;
  double memory_use(RankId gpu) const;
  std::optional<ResourceId> fabric(RankId gpu) const { return memories_[gpu.value].fabric; }
  std::optional<ResourceId> memory(RankId gpu) const { return memories_[gpu.value].memory; }
  bool is_link(ResourceId resource) const;  ///< or a port into the switch

  /// Copies of one source in one packet.
  UseList& multicast_by_engine(RankId gpu, EngineId engine, std::span<const Command> copies);

  /// Whether the command touches memory of other GPUs.
  bool leaves(RankId gpu, const Command& command) const;
  /// Whether both source and destination of the copy are on the GPU that executes it.
  bool is_local(RankId gpu, const Copy& copy) const { return rank_of(copy.src) == gpu && rank_of(copy.dst) == gpu; }

 private:
  /// Whose memory it is: a GPU's, or, from program_.ranks on, that of a NUMA node of the host.
  RankId rank_of(const Region& region) const {
    const Buffer& buffer = program_.buffer(region.buffer);
    return buffer.host ? RankId{program_.ranks + *buffer.host} : buffer.rank;
  }
  bool is_host(RankId place) const { return place.value >= program_.ranks; }
  UseList& copy_by_engine(RankId gpu, EngineId engine, const Copy& copy);
  UseList& broadcast_by_engine(RankId gpu, EngineId engine, const Broadcast& broadcast);
  UseList& swap_by_engine(RankId gpu, EngineId engine, const Swap& swap);
  ResourceId engine(RankId gpu, EngineId engine);
  void add_engine_path(RankId gpu, EngineId engine, RankId from, RankId to);  ///< one of the ends is the GPU
  double engine_rate(RankId gpu) const;                                       ///< bytes per second at nominal clocks
  void add_memories();
  void add_fabric(RankId rank);
  std::vector<double> greatest_demands() const;                 ///< by rank: on its memory, bytes per second
  bool moves_within(RankId gpu, const Command& command) const;  ///< done by the memory of the GPU, without a link
  std::uint32_t link_count(RankId from, RankId to) const;
  void add_path(RankId from, RankId to, double factor, bool by_units = false);
  double engine_share(RankId gpu, EngineId engine, RankId from, RankId to) const;  ///< share of its rate that one byte
                                                                                   ///< takes
  void add_memory(const Region& region, double reads, double writes, double write_cost = 1);
  void add_write(const Region& region, CopyOp op);
  double update_cost() const { return timing_.memory.update_cost; }
  void add_fabric_of_units(RankId gpu, RankId from, RankId to, double wire);
  UseList& multicast(RankId gpu, const Kernel& kernel);
  void add_port(const std::vector<ResourceId>& ports, RankId gpu, double factor);
  ResourceId link(RankId from, RankId to);
  double rate_over_link(RankId gpu, RankId peer, double units) const;  ///< upper limit, bytes per second
  double use_of(const std::optional<ResourceId>& resource) const;

  /// No resource: it limits nobody.
  struct MemoryOfRank {
    std::optional<ResourceId> cache;
    std::optional<ResourceId> memory;
    double miss_share = 1;
    std::optional<ResourceId> fabric;  // if there are GEMMs
    double fabric_per_byte = 0;        // over a link
    double mixing = 1;                 // current factor on that
    double iod_clock = 1;              // relative to nominal
  };

  const Machine& machine_;
  const Timing& timing_;
  const Program& program_;
  FluidSystem& fluid_;
  HostLinks host_links_;
  bool managed_;  // every resource that follows a clock exists, whether or not it can limit anybody
  UseList uses_;  // of the most recent transfer
  std::vector<MemoryOfRank> memories_;
  std::vector<ResourceId> egress_;  // switched: one port per rank and direction
  std::vector<ResourceId> ingress_;
  std::vector<std::optional<ResourceId>> links_;    // mesh: [from * ranks + to], created on first use
  std::vector<std::optional<ResourceId>> engines_;  // [rank * (greatest engine id + 1) + engine], created on first use
  std::size_t engine_ids_ = 0;
  std::vector<std::optional<ResourceId>> detours_;  // by rank, created on first use
  std::vector<bool> uncached_;                      // by buffer
  bool memory_updates_ = false;                     // an addition is one write at update_cost
};

}  // namespace cortado::sim
