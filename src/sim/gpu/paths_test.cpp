// Which links bytes take: from the source to the GPU that executes the command, and on to the destination.
#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace paths_test {

constexpr Bytes kBytes = 5'000'000_B;

/// Commands that each move kBytes, each on a separate queue, and a host that starts all and waits for all.
class PathsOn {
 public:
  explicit PathsOn(Machine machine)
      : machine_(std::move(machine)), builder_("test", machine_.name, 8), host_(builder_.host_queue("host")) {}

  Machine& machine() { return machine_; }

  Region on(std::uint32_t rank, BufferRole role) {
    const std::string name = "b" + std::to_string(builder_.peek().buffers.size());
    return make_region(builder_.buffer(name, RankId{rank}, kBytes, role), 0_B, kBytes);
  }

  void copy_by_engine(std::uint32_t gpu, std::uint32_t from, std::uint32_t to) {
    const EngineId engine = machine_.present_engines(EngineClass::peer).at(engines_used_++);
    start(builder_.dma_queue(name_of_next(), RankId{gpu}, engine), copy(from, to));
  }

  void copy_by_cores(std::uint32_t gpu, std::uint32_t from, std::uint32_t to) {
    start(builder_.compute_queue(name_of_next(), RankId{gpu}, 0, machine_.compute_units / 2), copy(from, to));
  }

  void reduce(std::uint32_t gpu, const std::vector<std::uint32_t>& from, std::uint32_t to) {
    Kernel kernel{.op = KernelOp::reduce, .sources = {}, .dst = on(to, BufferRole::output), .dtype = DType::i32};
    for (const std::uint32_t rank : from) kernel.sources.push_back(on(rank, BufferRole::input));
    contract_.clauses.push_back({kernel.dst, kernel.sources, DType::i32});
    start(builder_.compute_queue(name_of_next(), RankId{gpu}, 0, machine_.compute_units / 2), std::move(kernel));
  }

  /// How long each of the commands took, in their order, ns.
  std::vector<double> times() && {
    for (const SignalId signal : done_) builder_.add(host_, Wait{signal, 1});
    builder_.contract(std::move(contract_));
    const auto program = verify(std::move(builder_).finish(), machine_);
    EXPECT_TRUE(program) << to_string(program.error().front());
    const auto result = simulate(*program, {.iterations = 1, .trace = true, .sharing = {}});
    EXPECT_TRUE(result) << to_string(result.error());
    std::vector<double> times(done_.size());
    for (const Span& span : result->timeline.spans) {
      if (span.track > 0 && span.command == 0) {
        times[span.track - 1] = static_cast<double>((span.end - span.start).value);
      }
    }
    return times;
  }

 private:
  std::string name_of_next() const { return "q" + std::to_string(done_.size()); }

  Copy copy(std::uint32_t from, std::uint32_t to) {
    const Copy made{on(from, BufferRole::input), on(to, BufferRole::output)};
    contract_.clauses.push_back({made.dst, {made.src}});
    return made;
  }

  void start(QueueId queue, Command command) {
    done_.push_back(builder_.signal("done" + std::to_string(done_.size())));
    builder_.add(queue, std::move(command)).add(queue, Signal{done_.back(), 1});
    builder_.add(host_, Submit{queue});
  }

  Machine machine_;
  ProgramBuilder builder_;
  QueueId host_;
  Contract contract_{"test", {}};
  std::vector<SignalId> done_;
  std::size_t engines_used_ = 0;
};

// virtual-64: a mesh of 50 GB/s; engines of 50 GB/s, 100 within a GPU; a copy starts 1000 ns after its issue. 5 MB at
// 50 GB/s take 100 us. Commands start 700 ns apart, so times that depend on each other are compared within 2 %.
constexpr double kStart = 1000;
constexpr double kOnce = 5e6 / 50;

PathsOn mesh() {
  return PathsOn(load_machine("virtual-64").value());
}

TEST(Paths, OfAThirdGpuDoNotMeetTheDirectLink) {
  PathsOn paths = mesh();
  paths.copy_by_engine(0, 1, 2);
  paths.copy_by_engine(1, 1, 2);
  const auto times = std::move(paths).times();
  EXPECT_EQ(times[0], kStart + kOnce);
  EXPECT_EQ(times[1], kStart + kOnce);
}

TEST(Paths, OfAThirdGpuShareTheLinksOfThatGpu) {
  PathsOn in = mesh();
  in.copy_by_engine(0, 1, 2);
  in.copy_by_engine(1, 1, 0);  // the way in
  for (const double time : std::move(in).times()) EXPECT_NEAR(time, 2 * kOnce, 0.02 * 2 * kOnce);
  PathsOn out = mesh();
  out.copy_by_engine(0, 1, 2);
  out.copy_by_engine(2, 0, 2);  // the way out
  for (const double time : std::move(out).times()) EXPECT_NEAR(time, 2 * kOnce, 0.02 * 2 * kOnce);
}

TEST(Paths, ACopyWithinAnotherGpuGoesOutAndBack) {
  PathsOn remote = mesh();
  remote.copy_by_engine(0, 1, 1);
  EXPECT_EQ(std::move(remote).times()[0], kStart + kOnce);
  PathsOn local = mesh();
  local.copy_by_engine(1, 1, 1);
  EXPECT_EQ(std::move(local).times()[0], kStart + kOnce / 2);
}

TEST(Paths, OfComputeUnitsBeginAndEndAtTheirGpu) {
  const double efficiency = mesh().machine().timing->cores.wire_efficiency;
  PathsOn apart = mesh();
  apart.copy_by_cores(0, 1, 2);
  apart.copy_by_cores(1, 1, 2);
  for (const double time : std::move(apart).times()) EXPECT_NEAR(time, kOnce / efficiency, 1);
  PathsOn together = mesh();
  together.copy_by_cores(0, 1, 2);
  together.reduce(0, {1, 3}, 4);
  for (const double time : std::move(together).times()) {
    EXPECT_NEAR(time, 2 * kOnce / efficiency, 0.04 * 2 * kOnce / efficiency);
  }
}

TEST(Paths, GoWhereNoDirectLinkIs) {
  // mi250x-8: GPU 0 has four links of 36 GB/s to GPU 1 and two to GPU 6; GPUs 1 and 6 have none.
  const Machine machine = load_machine("mi250x-8").value();
  ASSERT_EQ(machine.link_count({1}, {6}), 0U);
  const Timing& timing = *machine.timing;
  PathsOn by_engine{machine};
  by_engine.copy_by_engine(0, 1, 6);
  EXPECT_NEAR(std::move(by_engine).times()[0],
              static_cast<double>(timing.engine.copy_start.value) + 5e6 / timing.engine.rate.value, 1);
  PathsOn by_cores{machine};
  by_cores.copy_by_cores(0, 1, 6);
  EXPECT_NEAR(std::move(by_cores).times()[0], 5e6 / (2 * 36 * timing.cores.wire_efficiency), 1);
}

TEST(Paths, EnginesThatTheTableDoesNotNameShareADetour) {
  PathsOn paths = mesh();
  Machine& machine = paths.machine();
  const EngineId first = machine.present_engines(EngineClass::peer).front();
  machine.affinity.assign(machine.gpus, std::vector<std::optional<EngineId>>(machine.gpus, first));
  machine.timing->engine.detour_rate = machine.timing->engine.rate;
  paths.copy_by_engine(0, 0, 1);  // the engine of the table
  paths.copy_by_engine(0, 0, 2);  // two others, which get as much together as the first has for itself
  paths.copy_by_engine(0, 3, 0);
  const std::vector<double> times = std::move(paths).times();
  EXPECT_NEAR(times[0], kStart + kOnce, 1);
  EXPECT_NEAR(times[1], kStart + 2 * kOnce, 0.05 * kOnce);  // the host starts one before the other
  EXPECT_NEAR(times[2], kStart + 2 * kOnce, 0.05 * kOnce);
}

TEST(Paths, WhatOnlyOneGpuCanAddressComesBackOverItsLinks) {
  PathsOn paths = mesh();
  paths.machine().linked[1][0] = false;
  paths.copy_by_engine(0, 1, 0);
  EXPECT_EQ(std::move(paths).times()[0], kStart + kOnce);
}

}  // namespace paths_test
}  // namespace cortado::sim
