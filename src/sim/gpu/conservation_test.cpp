// Conservation in every planned variant: between any two events no resource is above its capacity; in the end every
// resource has carried what the commands of the program take of it, no more and no less; and no run is shorter than the
// resource that carries most needs for it.
#include <gtest/gtest.h>

#include "cortado/ir/visit.hpp"
#include "cortado/plan/collective.hpp"

#include "sim/gpu/run.hpp"

namespace cortado::sim {

/// A run that is looked at whenever time goes on.
class WatchedRun {
 public:
  WatchedRun(const VerifiedProgram& program, FluidOptions sharing)
      : program_(program), run_(program, {.iterations = 1, .trace = false, .sharing = sharing}) {}

  /// `above` of a capacity is allowed.
  Simulated go(double above) {
    std::vector<double> carried;
    while (!run_.events_.empty()) {
      run_.handle(run_.events_.pop());
      const SimTime next = run_.events_.next_time();
      if (next == SimTime::never() || next == run_.events_.now()) continue;
      carried.resize(run_.fluid_.resource_count(), 0);
      for (std::uint32_t i = 0; i < carried.size(); ++i) {
        const double load = run_.fluid_.load({i});
        EXPECT_LE(load, run_.fluid_.capacity({i}) * (1 + above)) << "resource " << i;
        carried[i] += load * to_seconds(next - run_.events_.now());
      }
    }
    const std::vector<double> taken = taken_of_resources();
    double longest = 0;
    for (std::uint32_t i = 0; i < taken.size(); ++i) {
      // Ends are rounded up to a picosecond; rates that are told late move a little more or less.
      EXPECT_NEAR(i < carried.size() ? carried[i] : 0, taken[i], taken[i] * (1e-5 + above)) << "resource " << i;
      longest = std::max(longest, taken[i] / run_.fluid_.capacity({i}));
    }
    auto result = std::move(run_).go();
    EXPECT_TRUE(result);
    const auto ns = static_cast<double>(result->timeline.iteration_times.front().value);
    EXPECT_GE(ns, longest * 1e9 * (1 - above) - 1);
    return *std::move(result);
  }

 private:
  std::vector<double> taken_of_resources() {
    std::vector<double> taken;
    const auto add = [&](const UseList& uses, Bytes bytes) {
      taken.resize(run_.fluid_.resource_count(), 0);
      for (const ResourceUse& use : uses.view())
        taken[use.resource.value] += use.factor * static_cast<double>(bytes.value);
    };
    const Program& program = program_.program();
    for (std::uint32_t i = 0; i < program.queues.size(); ++i) {
      const bool by_engine = program.queues[i].kind == QueueKind::dma;
      for (const Command& command : program.queues[i].commands) {
        if (by_engine && moves_bytes(command)) {
          add(run_.uses_of(i, command), accesses(command).front().region.bytes());
        } else if (const auto* copy = std::get_if<Copy>(&command)) {
          add(run_.resources_.copy_by_cores(*program.queues[i].rank, *copy), copy->dst.bytes());
        } else if (const auto* kernel = std::get_if<Kernel>(&command)) {
          add(run_.resources_.kernel_by_cores(*program.queues[i].rank, *kernel), kernel->dst.bytes());
        }
      }
    }
    return taken;
  }

  VerifiedProgram program_;
  Run run_;
};

namespace {

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
      const FluidOptions local{.mode = SharingMode::local, .tolerance = kTolerance};
      EXPECT_EQ(WatchedRun(*program, local).go((1 + kTolerance) / (1 - kTolerance) - 1).timeline.bytes_moved, moved);
      ++simulated;
    }
  }
  EXPECT_GT(simulated, 10U);
}

INSTANTIATE_TEST_SUITE_P(Machines, ConservationOn,
                         testing::Values("mi300x-8", "switch-1024", "virtual-64", "virtual-64-nmc"));

// Memories that cannot be full are left out of the sharing; this one can. A rank reads its block of 1 MiB six times and
// writes six blocks: 12 MiB at 20 GB/s, which is less than the 5 links out and the 5 in can carry.
TEST(Conservation, ASlowMemoryIsShared) {
  Machine machine = load_machine("virtual-64").value();
  machine.timing->memory.rate = {20};
  machine.timing->memory.cache_bytes = {};
  const CollectiveRequest request{.collective = "all-gather", .bytes = 6_MiB, .ranks = 6};
  const VerifiedProgram program = verify(plan_collective(request, machine).value(), machine).value();
  const Simulated result = WatchedRun(program, {}).go(1e-9);
  const double ns = static_cast<double>((12_MiB).value) / 20;
  EXPECT_GE(static_cast<double>(median_time(result.timeline).value), ns);
  EXPECT_LE(static_cast<double>(median_time(result.timeline).value), 1.1 * ns);
}

}  // namespace
}  // namespace cortado::sim
