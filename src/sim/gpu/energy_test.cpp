// Energy of simulated programs: every event counts once, whoever executes it; counting changes no time; clocks that are
// managed keep to the cap.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "cortado/plan.hpp"
#include "cortado/program.hpp"

#include "gemm/gemm.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace energy_test {

class EnergyOfPrograms : public ::testing::Test {
 protected:
  static VerifiedProgram collective(const std::string& variant, Bytes bytes, Collective name = "all-gather",
                                    bool prelaunch = false) {
    auto program = plan_collective({.collective = name,
                                    .variant = variant,
                                    .bytes = bytes,
                                    .prelaunch = prelaunch,
                                    .in_place = default_in_place(name, variant)},
                                   machine());
    EXPECT_TRUE(program) << to_string(program.error());
    return verify(*std::move(program), machine()).value();
  }

  static const Machine& machine() {
    static const Machine machine = load_machine("mi300x-8").value();
    return machine;
  }
  static const Power& power() { return *machine().power; }

  static Simulated run(const CheckedProgram& program, const SimulateOptions& options = {}) {
    auto result = simulate(program, options);
    EXPECT_TRUE(result) << to_string(result.error());
    return *std::move(result);
  }
};

TEST_F(EnergyOfPrograms, OfAnAllGatherByEnginesIsThatOfItsBytesAndPackets) {
  // Each of 8 GPUs sends its 2 MiB to 7 others; all of it fits the caches.
  const double moved = 8 * 7 * double(2 << 20);
  const Simulated result = run(collective("pcpy", {16 << 20}));
  ASSERT_TRUE(result.timeline.energy);
  const Energy& energy = result.timeline.energy->energy;
  const auto near = [](double value) { return 1e-9 * value; };
  EXPECT_NEAR(energy[EnergyPart::iod_links], 2 * moved * power().link_byte, near(2 * moved * power().link_byte));
  EXPECT_NEAR(energy[EnergyPart::iod_engines], moved * power().engine_byte, near(moved * power().engine_byte));
  EXPECT_NEAR(energy[EnergyPart::iod_cache], 2 * moved * power().cache_byte, near(2 * moved * power().cache_byte));
  EXPECT_EQ(energy[EnergyPart::hbm_bytes], 0);
  // A copy and a signal to each of 7 peers.
  EXPECT_NEAR(energy[EnergyPart::iod_packets], 8 * 7 * 2 * power().packet, 1e-12);
  EXPECT_EQ(energy[EnergyPart::xcd_units], 0);
  EXPECT_EQ(energy[EnergyPart::xcd_clock], 0);
  const double seconds = result.timeline.energy->seconds;
  EXPECT_NEAR(energy[EnergyPart::xcd_idle], 8 * power().xcd->idle_w * seconds, near(1));
}

TEST_F(EnergyOfPrograms, OfAnAllGatherByComputeUnitsHoldsThemAndWakesTheDies) {
  const double moved = 8 * 7 * double(2 << 20);
  const Simulated result = run(collective("cores-simple", {16 << 20}));
  const Energy& energy = result.timeline.energy->energy;
  EXPECT_NEAR(energy[EnergyPart::xcd_bytes], 2 * moved * power().l2_byte, 1e-9 * energy[EnergyPart::xcd_bytes]);
  EXPECT_NEAR(energy[EnergyPart::xcd_units], result.unit_seconds * power().unit_w,
              1e-9 * energy[EnergyPart::xcd_units]);
  EXPECT_GT(energy[EnergyPart::xcd_clock], 0);
  EXPECT_EQ(energy[EnergyPart::iod_packets], 0);
}

TEST_F(EnergyOfPrograms, PrelaunchedEnginesPoll) {
  EXPECT_GT(run(collective("pcpy", {1 << 20}, "all-gather", true)).timeline.energy->energy[EnergyPart::iod_polling], 0);
}

TEST_F(EnergyOfPrograms, IsTheSumOfItsPartsAndOfItsCounters) {
  for (const char* variant : {"pcpy", "bcst", "b2b", "cores-simple"}) {
    const Simulated result = run(collective(variant, {1 << 20}), {.iterations = 3, .power_samples = Nanoseconds{1000}});
    const EnergyUse& use = *result.timeline.energy;
    double parts = 0;
    for (const double joules : use.energy.joules) parts += joules;
    EXPECT_NEAR(parts, use.joules(), 1e-12 * parts) << variant;
    double sampled = 0;
    for (const Counter& counter : result.timeline.counters) {
      for (std::size_t i = 0; i < counter.samples.size(); ++i) {
        const double begin = double(i) * 1e-6;
        sampled += counter.samples[i].value * (std::min(begin + 1e-6, use.seconds) - begin);
      }
    }
    EXPECT_NEAR(sampled, use.joules(), 1e-5 * use.joules()) << variant;
    Energy iterations;
    for (const Energy& energy : result.timeline.iteration_energies) iterations += energy;
    EXPECT_LE(iterations.total(), use.joules() * (1 + 1e-12));
    EXPECT_GT(iterations.total(), 0.8 * use.joules());
  }
}

TEST_F(EnergyOfPrograms, CountingChangesNoTime) {
  for (const char* variant : {"pcpy", "swap", "b2b", "cores-simple"}) {
    const VerifiedProgram program = collective(variant, {1 << 20}, "all-to-all");
    const Simulated with = run(program, {.iterations = 2});
    const Simulated without = run(program, {.iterations = 2, .energy = false});
    EXPECT_EQ(with.timeline.iteration_times, without.timeline.iteration_times) << variant;
    EXPECT_EQ(with.queue_ends, without.queue_ends) << variant;
    EXPECT_FALSE(without.timeline.energy);
    EXPECT_TRUE(without.timeline.iteration_energies.empty());
  }
}

class ManagedProducts : public EnergyOfPrograms {
 protected:
  /// 4096 x 4096 x 4096 in bf16 on one GPU.
  static VerifiedProgram product() {
    constexpr std::uint64_t kSize = 4096;
    ProgramBuilder b("product", machine().name, 1);
    const auto matrix = [&](const char* name, BufferRole role) {
      const Bytes width{2 * kSize};
      return Region{b.buffer(name, RankId{0}, width * kSize, role), {}, width, kSize, width};
    };
    const Gemm gemm = gemm_command({kSize, kSize, kSize, DType::bf16}, {256, 256, 1}, matrix("a", BufferRole::input),
                                   matrix("b", BufferRole::input), matrix("c", BufferRole::output));
    const QueueId host = b.host_queue("host");
    const QueueId queue = b.compute_queue("gemm", RankId{0});
    const SignalId done = b.signal("done");
    b.add(queue, gemm).add(queue, Signal{done});
    b.add(host, Submit{queue}).add(host, Wait{done});
    Contract contract{"product", {}};
    contract.products.push_back(product_clause(gemm));
    b.contract(std::move(contract));
    return verify(std::move(b).finish(), machine()).value();
  }

  static Simulated managed(const PowerManagement& management) {
    return run(product(), {.iterations = 20, .power_samples = power().control_interval, .manage = management});
  }
};

TEST_F(ManagedProducts, ALowerCapNeverRunsFaster) {
  for (const PowerPolicy* policy : power_policies()) {
    double before = 1;
    for (double cap = 420; cap <= 1600; cap += 20) {
      const Simulated result = managed({.policy = policy, .cap_w = cap});
      const double seconds = energy_of_iteration(result.timeline)->seconds;
      EXPECT_LE(seconds, before * 1.01) << policy->name << " "
                                        << cap;  // an iteration may begin anywhere in an interval
      before = std::min(before, seconds);
    }
  }
}

TEST_F(ManagedProducts, ALimitIsBelowTheCap) {
  EXPECT_DOUBLE_EQ(watts_allowed({.policy = find_power_policy("uniform-cap")}, power()), 0.8 * 750);
  EXPECT_DOUBLE_EQ(watts_allowed({.policy = find_power_policy("uniform-cap"), .limit_w = 500}, power()), 500);
  EXPECT_DOUBLE_EQ(watts_allowed({.policy = &kNoPowerPolicy, .cap_w = 600}, power()), 600);
}

TEST_F(EnergyOfPrograms, CollectivesUnderAHugeCapTakeTheirTime) {
  const VerifiedProgram program = collective("pcpy", {64 << 20});
  EXPECT_EQ(run(program, {.iterations = 3, .manage = PowerManagement{.cap_w = 1e6}}).timeline.iteration_times,
            run(program, {.iterations = 3}).timeline.iteration_times);
}

TEST_F(EnergyOfPrograms, AGpuWhoseBytesCostNothingIsAwakeAllTheSame) {
  Machine without_iod = machine();
  without_iod.power->iod.reset();
  without_iod.power->cache_byte = without_iod.power->link_byte = without_iod.power->engine_byte = 0;
  auto program = plan_collective({.collective = "all-gather", .variant = "pcpy", .bytes = {1 << 20}, .in_place = true},
                                 without_iod);
  const Simulated result = run(verify(*std::move(program), without_iod).value());
  EXPECT_GT(result.timeline.energy->energy[EnergyPart::hbm_clock], 0);
}

TEST_F(ManagedProducts, NoGpuIsAboveItsCapForLongerThanAControlInterval) {
  for (const PowerPolicy* policy : power_policies()) {
    for (const double cap : {550.0, 750.0}) {
      const Simulated result = managed({.policy = policy, .cap_w = cap});
      const double interval = static_cast<double>(power().control_interval.value) * 1e-9;
      EXPECT_LE(result.clocks->longest_above_cap, interval * (1 + 1e-9)) << policy->name << " " << cap;
    }
  }
}

TEST_F(ManagedProducts, ShiftingIsFasterAndCappingSavesEnergy) {
  const Simulated none = managed({});
  const Simulated shift = managed({.policy = find_power_policy("component-shift")});
  EXPECT_LT(shift.timeline.iteration_times.back(), none.timeline.iteration_times.back());
  const Simulated cap = managed({.policy = find_power_policy("component-cap"),
                                 .components = std::vector{Component::xcd, Component::iod, Component::hbm}});
  EXPECT_LT(cap.timeline.iteration_energies.back().total(), none.timeline.iteration_energies.back().total());
}

TEST_F(ManagedProducts, RepeatBitForBit) {
  const PowerManagement management{.policy = find_power_policy("component-shift")};
  EXPECT_EQ(managed(management).timeline.iteration_times, managed(management).timeline.iteration_times);
}

TEST_F(ManagedProducts, RefusesWhatTheMachineCannotDo) {
  const auto code = [&](const PowerManagement& management, const Machine& on) {
    const Status status = check_power_management(management, on);
    return status ? std::string("none") : status.error().code;
  };
  EXPECT_EQ(code({.cap_w = 100}, machine()), "power.cap");
  EXPECT_EQ(code({.cap_w = std::nan("")}, machine()), "power.cap");
  EXPECT_EQ(code({.policy = find_power_policy("uniform-cap"), .limit_w = 120}, machine()), "power.cap");
  EXPECT_EQ(code({.policy = find_power_policy("uniform-cap"), .cap_w = 150}, machine()), "power.cap");  // 80 % of it
  EXPECT_EQ(code({.limit_w = 500}, machine()), "power.limit");
  EXPECT_EQ(code({.policy = find_power_policy("uniform-cap"), .limit_w = 800}, machine()), "power.limit");
  EXPECT_EQ(code({.components = std::vector{Component::xcd}}, machine()), "power.component");
  Machine without_hbm = machine();
  without_hbm.power->hbm.reset();
  EXPECT_EQ(code({.policy = find_power_policy("component-shift")}, without_hbm), "power.component");
  EXPECT_EQ(code({.policy = find_power_policy("component-cap")}, without_hbm), "none");
  Machine without = machine();
  without.power.reset();
  EXPECT_EQ(code({}, without), "power.machine");
}

}  // namespace energy_test
}  // namespace cortado::sim
