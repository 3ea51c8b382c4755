// Conservation in every planned variant and in GEMMs next to collectives by every policy: between any two events no
// resource is above its capacity and no GPU gives more compute units than it has; in the end every resource has carried
// what the commands of the program take of it, no more and no less; and no run is shorter than the resource that
// carries most needs for it.
//
// What a GEMM takes of its caches depends on what goes on beside it: of the memory and the fabric it is summed up
// while it runs, batch by batch, and compared with what the run says and with what these carried.
#include <set>
#include <span>

#include <gtest/gtest.h>

#include "cortado/plan.hpp"

#include "ir/packing.hpp"
#include "ir/tiles.hpp"
#include "ir/visit.hpp"
#include "plan/c3.hpp"
#include "plan/c3/testing.hpp"
#include "sim/gpu/fused_testing.hpp"
#include "sim/gpu/run.hpp"
#include "verify/packet_space.hpp"

namespace cortado::sim {

/// A run that is examined whenever time advances.
class WatchedRun {
 public:
  WatchedRun(const CheckedProgram& program, RateSharing sharing)
      : program_(program), options_{.sharing = sharing}, run_(program_, options_) {}

  /// `above` of a capacity is allowed.
  Simulated go(double above) {
    while (run_.has_event()) {
      run_.handle_event();
      const SimTime next = run_.core().events.next_time();
      if (next == SimTime::never() || next == run_.core().now()) continue;
      const double seconds = to_seconds(next - run_.core().now());
      watch_resources(seconds, above);
      watch_units(seconds);
      watch_products(seconds);
    }
    const Taken taken = taken_of_resources();
    double longest = 0;
    for (std::uint32_t i = 0; i < taken.of.size(); ++i) {
      if (taken.caches_of_products.contains(i)) continue;
      // Ends are rounded up to a picosecond; rates that are reported late move a little more or less.
      const double carried = i < carried_.size() ? carried_[i] : 0;
      EXPECT_NEAR(carried, taken.of[i], taken.of[i] * (1e-5 + above)) << "resource " << i;
      longest = std::max(longest, taken.of[i] / fluid_.capacity({i}));
    }
    auto result = std::move(run_).finish();
    EXPECT_TRUE(result) << to_string(result.error());
    if (!result) return {};
    const auto ns = static_cast<double>(result->timeline.iteration_times.front().value);
    EXPECT_GE(ns, longest * 1e9 * (1 - above) - 1);
    EXPECT_NEAR(result->unit_seconds, unit_seconds_, 1e-9 * unit_seconds_);
    EXPECT_NEAR(result->memory_bytes, taken.memory_bytes, taken.memory_bytes * (1e-5 + above));
    watch_energy(*result);
    return *std::move(result);
  }

 private:
  /// Whatever was replaced, staged or stored: bytes of the memories, operations and held units are counted once in the
  /// joules.
  void watch_energy(const Simulated& result) const {
    if (!result.timeline.energy) return;
    const Power& power = *program_.machine().power;
    const Energy& energy = result.timeline.energy->energy;
    const double bytes = result.memory_bytes * power.hbm_byte;
    EXPECT_NEAR(energy[EnergyPart::hbm_bytes], bytes, 1e-6 * bytes);
    double operations = 0;
    DType dtype = DType::bf16;
    for (const Queue& queue : program_.program().queues) {
      for (const Command& command : queue.commands) {
        if (const auto* gemm = std::get_if<Gemm>(&command)) {
          operations += flops(shape_of(*gemm));
          dtype = gemm->dtype;
        }
      }
    }
    if (operations == 0) {
      EXPECT_NEAR(energy[EnergyPart::xcd_units], result.unit_seconds * power.unit_w, 1e-9 * result.unit_seconds);
      return;
    }
    EXPECT_EQ(dtype, DType::bf16);
    const VoltageCurve& curve = power.xcd->curve;
    const double volts =
        curve.volts_at(sustained_clock_ghz(dtype, program_.machine())) / curve.volts_at(power.xcd->nominal_ghz);
    const double joules = operations * power.bf16_flop * volts * volts;
    EXPECT_NEAR(energy[EnergyPart::xcd_products], joules, 1e-6 * joules);
  }

  struct Taken {
    std::vector<double> of;                      // by resource
    std::set<std::uint32_t> caches_of_products;  // of which only the run knows what GEMMs take
    double memory_bytes = 0;                     // read and written in all memories
  };

  /// What the batches of one rank's GEMMs have taken so far.
  struct OfProducts {
    double memory_load = 0;
    double memory_bytes = 0;
    double fabric = 0;
  };

  void watch_resources(double seconds, double above) {
    carried_.resize(fluid_.resource_count(), 0);
    for (std::uint32_t i = 0; i < carried_.size(); ++i) {
      const double load = fluid_.load({i});
      EXPECT_LE(load, fluid_.capacity({i}) * (1 + above)) << "resource " << i;
      carried_[i] += load * seconds;
    }
  }

  /// A GEMM holds a unit for each running workgroup, and no unit is held twice.
  void watch_units(double seconds) {
    std::vector<std::uint32_t> held(program_.program().ranks, 0);
    std::set<ComputeUnits::Tenant> seen;
    for (std::uint32_t i = 0; i < program_.program().queues.size(); ++i) {
      const ComputeUnits::Tenant tenant = run_.units().tenant_of(i);
      if (tenant == ComputeUnits::kNone || !seen.insert(tenant).second) continue;
      EXPECT_LE(run_.units().held(tenant), run_.units().most(tenant));
      if (const auto running = run_.products().running(i)) {
        EXPECT_EQ(run_.units().held(tenant), *running);
      }
      held[program_.program().queues[i].rank->value] += run_.units().held(tenant);
    }
    for (const std::uint32_t units : held) {
      EXPECT_LE(units, program_.machine().compute_units);
      unit_seconds_ += units * seconds;
    }
  }

  void watch_products(double seconds) {
    constexpr double kWorkPerSecond = 1e12;  // of a workgroup at full speed
    of_products_.resize(program_.program().ranks);
    for (std::uint32_t i = 0; i < program_.program().queues.size(); ++i) {
      for (const Products::Batch& batch : run_.products().batches(i)) {
        OfProducts& sum = of_products_[program_.program().queues[i].rank->value];
        const double work = fluid_.rate(batch.flow) * seconds;
        if (batch.reads) {  // its work is bytes
          sum.memory_bytes += work;
          sum.memory_load += work;
          continue;
        }
        sum.memory_bytes += work * (batch.memory_reads + batch.memory_writes);
        sum.memory_load += work * batch.memory_load;
        const Machine& machine = program_.machine();
        const double of_units = static_cast<double>(batch.count) / machine.compute_units / kWorkPerSecond;
        const double of_memory = batch.memory_load / machine.timing->memory.rate.bytes_per_second();
        const double fabric = machine.timing->compute->fabric_products * of_units;
        sum.fabric += work * (machine.timing->compute->stages ? fabric : std::max(fabric, of_memory));
      }
    }
  }

  Taken taken_of_resources() {
    Taken taken;
    const auto add = [&](const UseList& uses, double amount) {
      taken.of.resize(fluid_.resource_count(), 0);
      for (const ResourceUse& use : uses.view()) taken.of[use.resource.value] += use.factor * amount;
      taken.memory_bytes += uses.memory() * amount;
    };
    const Program& program = program_.program();
    for (std::uint32_t i = 0; i < program.queues.size(); ++i) {
      const bool by_engine = program.queues[i].kind == QueueKind::dma;
      const auto bytes = [](const Region& region) { return static_cast<double>(region.bytes().value); };
      if (program.queues[i].packing == Packing::multicast) {
        for (const PackedCommands& packet :
             packets_of(program.queues[i], packing_limits(program_.machine().features))) {
          const auto copies = std::span(program.queues[i].commands).subspan(packet.first, packet.count);
          if (copies.size() > 1) {
            add(run_.resources().multicast_by_engine(*program.queues[i].rank, *program.queues[i].engine, copies),
                bytes(accesses(copies.front()).front().region));
          } else if (moves_bytes(copies.front())) {
            add(run_.resources().move_by_engine(*program.queues[i].rank, *program.queues[i].engine, copies.front()),
                bytes(accesses(copies.front()).front().region));
          }
        }
        continue;
      }
      for (const Command& command : program.queues[i].commands) {
        if (by_engine && moves_bytes(command)) {
          add(run_.resources().move_by_engine(*program.queues[i].rank, *program.queues[i].engine, command),
              bytes(accesses(command).front().region));
        } else if (const auto* copy = std::get_if<Copy>(&command)) {
          add(run_.resources().copy_by_cores(*program.queues[i].rank, *copy, program.queues[i].protocol),
              bytes(copy->dst));
        } else if (const auto* kernel = std::get_if<Kernel>(&command)) {
          add(run_.resources().kernel_by_cores(*program.queues[i].rank, *kernel, program.queues[i].protocol),
              bytes(kernel->dst));
        } else if (const auto* gemm = std::get_if<Gemm>(&command);
                   gemm != nullptr && run_.products().stores(i) != nullptr) {
          const ProductStores& stores = *run_.products().stores(i);
          for (const OutputBlock& block : output_blocks(*gemm)) {
            const UseList& uses = run_.resources().stores_by_cores(*program.queues[i].rank, block.to, block.op,
                                                                   stores.writes(), stores.reads());
            add(uses, bytes(block.to) * static_cast<double>(gemm->split_k));
          }
        }
      }
    }
    for (std::uint32_t rank = 0; rank < of_products_.size(); ++rank) {
      const OfProducts& sum = of_products_[rank];
      if (sum.memory_load == 0) continue;
      add(run_.resources().product_by_cores(
              {rank}, {.memory_load = sum.memory_load, .memory_bytes = sum.memory_bytes, .fabric_share = sum.fabric}),
          1);
      for (const ResourceUse& cache : run_.resources().product_by_cores({rank}, {.cache_bytes = 1}).view()) {
        taken.caches_of_products.insert(cache.resource.value);
      }
    }
    return taken;
  }

  std::vector<double> carried_;  // by resource
  double unit_seconds_ = 0;
  std::vector<OfProducts> of_products_;  // by rank
  CheckedProgram program_;
  SimulateOptions options_;
  Run run_;
  const FluidSystem& fluid_ = run_.core().fluid;
};

namespace conservation_test {

Bytes bytes_of_moves(const Program& program) {
  Bytes moved;
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      if (moves_bytes(command)) moved += bytes_written(command);
    }
  }
  return moved;
}

class ConservationOn : public testing::TestWithParam<const char*> {};

TEST_P(ConservationOn, HoldsForEveryVariant) {
  const Machine machine = load_machine(GetParam()).value();
  std::size_t simulated = 0;
  for (const VariantInfo& variant : list_variants()) {
    CollectiveRequest request{.collective = variant.collective, .variant = variant.variant, .bytes = 6_MiB, .ranks = 6};
    request.in_place = !variant.out_of_place;
    for (const bool prelaunch : {false, true}) {
      request.prelaunch = prelaunch;
      auto planned = plan_collective(request, machine);
      if (!planned) continue;  // the machine lacks what the variant needs
      const auto program = verify(*std::move(planned), machine);
      ASSERT_TRUE(program) << to_string(program.error().front());
      SCOPED_TRACE(program->program().name);
      const Bytes moved = bytes_of_moves(program->program());
      EXPECT_EQ(WatchedRun(*program, {}).go(1e-9).timeline.bytes_moved, moved);
      constexpr double kTolerance = 0.01;
      const RateSharing local{.local = true, .tolerance = kTolerance};
      EXPECT_EQ(WatchedRun(*program, local).go((1 + kTolerance) / (1 - kTolerance) - 1).timeline.bytes_moved, moved);
      ++simulated;
    }
  }
  EXPECT_GT(simulated, 10U);
}

INSTANTIATE_TEST_SUITE_P(Machines, ConservationOn,
                         testing::Values("mi300x-8", "h100-8", "switch-1024", "virtual-64", "virtual-64-nmc"));

// The same on a machine that is one ring, where only some variants can be.
TEST(Conservation, HoldsAroundARing) {
  const Machine machine = load_machine("t3-ring-8").value();
  struct Ring {
    Collective collective;
    const char* variant;
  };
  for (const auto& [collective, variant] :
       {Ring{"all-gather", "ring"}, Ring{"all-gather", "cores-ring"}, Ring{"reduce-scatter", "cores-ring"},
        Ring{"reduce-scatter", "add-ring"}, Ring{"all-reduce", "cores-ring"}}) {
    const CollectiveRequest request{
        .collective = collective, .variant = variant, .bytes = Bytes{100'000'004}, .in_place = true};
    const auto program = verify(plan_collective(request, machine).value(), machine);
    ASSERT_TRUE(program) << to_string(program.error().front());
    SCOPED_TRACE(program->program().name);
    EXPECT_EQ(WatchedRun(*program, {}).go(1e-9).timeline.bytes_moved, bytes_of_moves(program->program()));
  }
}

class ConservationOfProducts : public testing::TestWithParam<const char*> {};

TEST_P(ConservationOfProducts, HoldsForEveryPolicy) {
  Machine machine = load_machine(GetParam()).value();
  machine.clock = ClockMode::fixed;  // so that the energy of operations is known
  const plan::FlatCost cost;
  for (const Collective collective : {Collective("all-gather"), Collective("all-to-all")}) {
    const OverlapProblem request{
        .gemms = {{.m = 4000, .n = 5000, .k = 2000, .dtype = DType::bf16}},
        .collectives = {{.collective = collective, .bytes = 64_MiB, .in_place = collective == "all-gather"}},
        .ranks = 8};
    for (const char* name : plan::kWays) {
      SCOPED_TRACE(name + std::string(" ") + std::string(collective.name()));
      const OverlapWay way = choose_way(name, request, machine, cost).value();
      const auto program = verify(plan_overlap(request, way, machine).value(), machine);
      ASSERT_TRUE(program) << to_string(program.error().front());
      const Simulated exact = WatchedRun(*program, {}).go(1e-9);
      EXPECT_EQ(exact.timeline.bytes_moved, bytes_of_moves(program->program()));
      // Every operand at least once, on every rank; and no more unit-seconds than there are.
      EXPECT_GE(exact.memory_bytes * (1 + 1e-9), 8 * static_cast<double>(operand_bytes(request.gemm()).value));
      double last = 0;
      for (const Nanoseconds end : exact.queue_ends) last = std::max(last, static_cast<double>(end.value));
      EXPECT_LE(exact.unit_seconds, 8 * machine.compute_units * last * 1e-9);
      constexpr double kTolerance = 0.01;
      const RateSharing local{.local = true, .tolerance = kTolerance};
      WatchedRun(*program, local).go((1 + kTolerance) / (1 - kTolerance) - 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, ConservationOfProducts,
                         testing::Values("mi300x-8", "h200-8", "virtual-64", "mi325x-8"));

// Stages, stores as flows, updates by memory, entries that run out (on 8 GPUs a piece, half a chunk, takes 64 of them),
// and every way to arbitrate.
TEST(Conservation, HoldsForProductsFusedWithRings) {
  for (const char* name : {"t3-ring-8", "t3-ring-16"}) {
    for (const auto& [label, policy] : kArbitrationPolicies) {
      Machine machine = load_machine(name).value();
      machine.timing->memory.arbitration->policy = policy;
      machine.timing->memory.arbitration->mixing_cost = 1;  // so that what flows take does not depend on when
      for (const double read_share : {0.5, 1.0}) {
        SCOPED_TRACE(std::string(name) + " " + std::string(label));
        machine.timing->compute->stages->read_share = read_share;
        machine.features.tracker->entries = 160;
        FusedRing ring{.gemm = {.m = 8192, .n = 4096, .k = 256, .dtype = DType::f16}, .pieces = 2};
        WatchedRun(unproved(fused_ring(ring, machine), machine), {}).go(1e-9);
        ring.tiling.split_k = 2;
        WatchedRun(unproved(fused_ring(ring, machine), machine), {}).go(1e-9);
      }
    }
  }
}

// Memories that cannot be full are left out of the sharing; this one can. A rank reads its block of 1 MiB six times and
// writes six blocks: 12 MiB at 20 GB/s, which is less than the 5 links out and the 5 in can carry.
TEST(Conservation, ASlowMemoryIsShared) {
  Machine machine = load_machine("virtual-64").value();
  machine.timing->memory.rate = {20};
  machine.timing->memory.cache_bytes = {};
  const CollectiveRequest request{.collective = "all-gather", .bytes = 6_MiB, .ranks = 6};
  const CheckedProgram program = verify(plan_collective(request, machine).value(), machine).value();
  const Simulated result = WatchedRun(program, {}).go(1e-9);
  const double ns = static_cast<double>((12_MiB).value) / 20;
  EXPECT_GE(static_cast<double>(median_time(result.timeline).value), ns);
  EXPECT_LE(static_cast<double>(median_time(result.timeline).value), 1.1 * ns);
}

}  // namespace conservation_test
}  // namespace cortado::sim
