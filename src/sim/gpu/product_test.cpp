// GEMMs on compute units, by hand. virtual-64: 256 compute units on 8 dies; a tile of 256 x 256 in bf16 takes 64 ns
// for each step of k and 1000 ns beside, so 66,536 ns with k = 1024; launch 5000, start 2000, flag 1000, poll 20 ns. A
// GEMM launched at once begins at 7000. Nothing contends for the fabric, unless a test says so.
#include <cmath>

#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "gemm/gemm.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace product_test {

constexpr std::int64_t kTile = 1024 * 64 + 1000;
constexpr std::int64_t kBegin = 5000 + 2000;
constexpr double kMega = 1e6;

Machine round_machine() {
  return load_machine("virtual-64").value();
}

/// Two GPUs, one host queue. What is added is submitted in its order and waited for at the end.
class Node {
 public:
  Node() : b_("products", "virtual-64", 2), host_(b_.host_queue("host")) {}

  /// tiles_m x tiles_n tiles of 256 x 256 on GPU 0, with k = 1024.
  std::uint32_t product(std::uint64_t tiles_m, std::uint64_t tiles_n, std::optional<std::uint32_t> units = {},
                        std::vector<std::uint64_t> raised_at = {}, std::uint64_t split_k = 1) {
    Gemm gemm = gemm_of(tiles_m, tiles_n, split_k);
    if (!raised_at.empty()) tiles_ = b_.signal("tiles");
    for (const std::uint64_t tiles : raised_at) gemm.raises.push_back({tiles, *tiles_});
    return launch(b_.compute_queue("gemm", RankId{0}, 0, units), gemm);
  }

  /// GEMMs of one tile one after another in one queue.
  std::uint32_t products_in_a_row(std::uint32_t count) {
    const QueueId queue = b_.compute_queue("gemm", RankId{0});
    for (std::uint32_t i = 1; i < count; ++i) b_.add(queue, gemm_of(1, 1));
    return launch(queue, gemm_of(1, 1));
  }

  /// Within GPU 0, by compute units.
  std::uint32_t local_copy(std::uint64_t bytes, std::uint32_t units, std::int32_t priority = 0) {
    return launch(b_.compute_queue("copy", RankId{0}, priority, units), copy(0, 0, bytes));
  }

  /// From GPU 0 to GPU 1, by compute units.
  std::uint32_t store(std::uint64_t bytes, std::uint32_t units) {
    return launch(b_.compute_queue("store", RankId{0}, 0, units), copy(0, 1, bytes));
  }

  /// By an engine of the source.
  std::uint32_t dma(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint32_t packets = 1) {
    const QueueId queue = b_.dma_queue("dma" + std::to_string(from), RankId{from}, EngineId{2});
    for (std::uint32_t i = 1; i < packets; ++i) b_.add(queue, copy(from, to, bytes / packets));
    return launch(queue, copy(from, to, bytes / packets));
  }

  VerifiedProgram verified(const Machine& machine) && {
    for (std::uint64_t value = 1; tiles_ && value <= 3; ++value) b_.add(host_, Wait{*tiles_, value});
    for (const SignalId done : done_) b_.add(host_, Wait{done});
    b_.contract(std::move(contract_));
    auto verified = verify(std::move(b_).finish(), machine);
    EXPECT_TRUE(verified) << to_string(verified.error().front());
    return *std::move(verified);
  }

  Simulated run(const Machine& machine, bool trace = false) && {
    auto result = simulate(std::move(*this).verified(machine), {.iterations = 1, .trace = trace, .sharing = {}});
    EXPECT_TRUE(result) << to_string(result.error());
    return *std::move(result);
  }

 private:
  Gemm gemm_of(std::uint64_t tiles_m, std::uint64_t tiles_n, std::uint64_t split_k = 1) {
    const GemmShape shape{.m = 256 * tiles_m, .n = 256 * tiles_n, .k = 1024};
    Gemm gemm{.a = matrix("a", shape.m, shape.k, BufferRole::input),
              .b = matrix("b", shape.k, shape.n, BufferRole::input),
              .c = matrix("c", shape.m, shape.n, BufferRole::output),
              .m = shape.m,
              .n = shape.n,
              .k = shape.k,
              .dtype = DType::bf16,
              .tile_m = 256,
              .tile_n = 256,
              .raises = {},
              .split_k = split_k};
    contract_.products.push_back(product_clause(gemm));
    return gemm;
  }

  Region matrix(const std::string& name, std::uint64_t rows, std::uint64_t columns, BufferRole role) {
    const Bytes width{2 * columns};
    return {b_.buffer(name, RankId{0}, width * rows, role), {}, width, rows, width};
  }

  Copy copy(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
    const auto region = [&](const char* name, std::uint32_t rank, BufferRole role) {
      return Region{b_.buffer(name, RankId{rank}, Bytes{bytes}, role), {}, Bytes{bytes}};
    };
    const Copy made{region("from", from, BufferRole::input), region("to", to, BufferRole::output)};
    contract_.clauses.push_back({made.dst, {made.src}, DType::u8});
    return made;
  }

  std::uint32_t launch(QueueId queue, Command command) {
    done_.push_back(b_.signal("done"));
    b_.add(queue, std::move(command)).add(queue, Signal{done_.back()});
    b_.add(host_, Submit{queue});
    return queue.value;
  }

  ProgramBuilder b_;
  QueueId host_;
  std::vector<SignalId> done_;
  std::optional<SignalId> tiles_;
  Contract contract_{"products", {}};
};

/// When the GEMM or copy of a queue ended; the signals of compute queues take no time here.
std::int64_t end_of(const Simulated& result, std::uint32_t queue) {
  return result.queue_ends[queue].value;
}

// --- Alone -----------------------------------------------------------------------------------------------------------

TEST(Products, AloneTakeLaunchStartAndTheirWaves) {
  for (const auto& [units, waves] : {std::pair(256U, 2), std::pair(255U, 3), std::pair(128U, 4), std::pair(100U, 6)}) {
    Node node;
    const std::uint32_t gemm = node.product(16, 32, units);
    const Simulated result = std::move(node).run(round_machine());
    EXPECT_EQ(end_of(result, gemm), kBegin + waves * kTile) << units;
    EXPECT_EQ(median_time(result.timeline).value, kBegin + waves * kTile + 1000 + 20) << units;
    const GemmEstimate estimate =
        estimate_gemm({.m = 4096, .n = 8192, .k = 1024}, {256, 256, 1}, round_machine(), units);
    EXPECT_NEAR(estimate.seconds * 1e9, static_cast<double>(waves * kTile), 1e-3);
    EXPECT_NEAR(result.memory_bytes, estimate.memory_bytes, 1);
    EXPECT_NEAR(result.unit_seconds, 512 * static_cast<double>(kTile) * 1e-9, 1e-9);
  }
}

TEST(Products, EveryOneOfAQueueTakesItsStart) {
  Node node;
  const std::uint32_t queue = node.products_in_a_row(3);
  EXPECT_EQ(end_of(std::move(node).run(round_machine()), queue), kBegin + kTile + 2 * (2000 + kTile));
}

TEST(Products, AloneTheyTakeTheTimeOfTheirMemory) {
  Machine machine = round_machine();
  machine.timing->memory.cache_bytes = {};
  machine.timing->memory.rate = {100};
  Node node;
  const std::uint32_t gemm = node.product(16, 16);
  const Simulated result = std::move(node).run(machine);
  // A, B and C of 8, 8 and 32 MiB.
  EXPECT_NEAR(static_cast<double>(end_of(result, gemm) - kBegin), static_cast<double>((48_MiB).value) / 100, 1);
  EXPECT_NEAR(result.memory_bytes, static_cast<double>((48_MiB).value), 1);
}

/// When the host has passed the waits for tiles.
std::vector<std::int64_t> passed_waits(const Simulated& result) {
  std::vector<std::int64_t> passed;
  for (const Span& span : result.timeline.spans) {
    if (span.kind == SpanKind::wait) passed.push_back(span.end.value);
  }
  std::sort(passed.begin(), passed.end());
  passed.resize(3);
  return passed;
}

// On 128 units four waves: 128 tiles are there after the first, the 129th with the second, the last with the fourth.
TEST(Products, TilesAreSignalledAfterTheirWave) {
  Node node;
  node.product(16, 32, 128, {128, 129, 512});
  const std::int64_t seen = kBegin + 1000 + 20;
  EXPECT_EQ(passed_waits(std::move(node).run(round_machine(), true)),
            (std::vector<std::int64_t>{seen + kTile, seen + 2 * kTile, seen + 4 * kTile}));
}

// Two workgroups a tile, each with half of k: 512 workgroups on 128 units make 64 tiles a wave. A wave takes 512 x 64 +
// 1000 ns.
TEST(Products, ATileOfASplitProductIsThereWhenAllItsWorkgroupsAre) {
  Node node;
  node.product(16, 16, 128, {64, 65, 256}, 2);
  const std::int64_t seen = kBegin + 1000 + 20;
  const std::int64_t wave = 512 * 64 + 1000;
  EXPECT_EQ(passed_waits(std::move(node).run(round_machine(), true)),
            (std::vector<std::int64_t>{seen + wave, seen + 2 * wave, seen + 4 * wave}));
}

TEST(Products, EveryIterationIsAsLong) {
  Node node;
  node.product(16, 32);
  const auto result =
      simulate(std::move(node).verified(round_machine()), {.iterations = 3, .trace = false, .sharing = {}});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->timeline.iteration_times.size(), 3U);
  for (const Nanoseconds time : result->timeline.iteration_times) EXPECT_EQ(time.value, kBegin + 2 * kTile + 1000 + 20);
}

TEST(Products, AreRefusedWhereTheMachineDoesNotSayWhatTheyCost) {
  Machine machine = round_machine();
  machine.timing->compute.reset();
  Node node;
  node.product(16, 16);
  const auto result = simulate(std::move(node).verified(machine));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "gemm.compute");
}

// --- Compute units ---------------------------------------------------------------------------------------------------

// 640 tiles: 256, 256 and 128. The copy, launched 5 us later, gets its 32 units when the last wave leaves some; at
// 32 x 40 GB/s its 1.28 MB take 1000 ns.
TEST(Products, LaunchedFirstStarveALaterKernelUntilTheirLastWave) {
  Node node;
  const std::uint32_t gemm = node.product(16, 40);
  const std::uint32_t copy = node.local_copy(1'280'000, 32);
  const Simulated result = std::move(node).run(round_machine());
  EXPECT_EQ(end_of(result, gemm), kBegin + 3 * kTile);
  EXPECT_EQ(end_of(result, copy), kBegin + 2 * kTile + 1000);
}

// With priority it gets them when the first wave ends, and gives them back to the GEMM: the last workgroups start
// at the end of the second wave as before.
TEST(Products, AKernelOfHigherPriorityWaitsForOneWave) {
  Node node;
  const std::uint32_t gemm = node.product(16, 40);
  const std::uint32_t copy = node.local_copy(1'280'000, 32, 1);
  const Simulated result = std::move(node).run(round_machine());
  EXPECT_EQ(end_of(result, copy), kBegin + kTile + 1000);
  EXPECT_EQ(end_of(result, gemm), kBegin + 3 * kTile);
}

// The copy holds 32 units from 7000 to 17,000. The GEMM begins at 12,000 with 224 and gets 32 more at 17,000: these
// are 5 us later. The last 128 start with the end of the second 224.
TEST(Products, LaunchedSecondTheyGrowWhenUnitsAreGivenBack) {
  Node node;
  const std::uint32_t copy = node.local_copy(12'800'000, 32);
  const std::uint32_t gemm = node.product(16, 40);
  const Simulated result = std::move(node).run(round_machine());
  EXPECT_EQ(end_of(result, copy), kBegin + 10000);
  EXPECT_EQ(end_of(result, gemm), kBegin + 5000 + 3 * kTile);
  const double of_copy = 32 * 10e-6;
  EXPECT_NEAR(result.unit_seconds, of_copy + 640 * static_cast<double>(kTile) * 1e-9, 1e-9);
}

// --- Workgroups next to others
// --------------------------------------------------------------------------------

/// Operands come in at 1 GB/s a unit; beyond `windows` windows a die everything is read twice. On d x 8 units with
/// result 128 KiB, a workgroup that reads `rows` of 2 KiB takes rows x 2048 + 131,072 ns, and 1000.
Machine slow_operands(std::uint64_t windows) {
  Machine machine = round_machine();
  machine.timing->cores.local_rate = {5};
  machine.timing->compute->unit_rate = {1};
  machine.timing->compute->stream_window = {4194304 / windows};
  machine.timing->compute->thrash_ramp = 0.001;
  return machine;
}

double nanoseconds_of(double rows, double times) {
  return rows * 2048 * times + 131072 + 1000;
}

// 200 workgroups, 25 a die: a block of 5 x 5 tiles, 2560 rows, 102.4 each. From 12,000 to 112,000 a kernel of 8 units
// stands beside them, one a die: the windows no longer fit.
TEST(Products, PricesAreSettledAnewWhenAKernelComesAndGoes) {
  Node node;
  const std::uint32_t gemm = node.product(10, 20);
  const std::uint32_t copy = node.local_copy(4'000'000, 8);
  const Simulated result = std::move(node).run(slow_operands(25));
  EXPECT_EQ(end_of(result, copy), 112000);
  const double alone = nanoseconds_of(102.4, 1);
  const double before = 5000 / alone;
  const double beside = 100000 / nanoseconds_of(102.4, 2);
  EXPECT_NEAR(static_cast<double>(end_of(result, gemm)), 112000 + (1 - before - beside) * alone, 1);
  // The memory gives A and B once, 7680 x 2 KiB, and twice while windows do not fit; everything fits the last-level
  // cache, which therefore takes nothing of the memory for the copy.
  EXPECT_NEAR(result.memory_bytes, (1 + beside) * 7680 * 2048 + 200 * 131072, 10);
}

// A kernel of 56 units runs from 7000 to 107,000, the GEMM begins at 12,000 with 200 of 208 workgroups. When the
// kernel ends, the last 8 start, and the others read once from then on: they are far ahead of those 8, of which each
// reads its share of a block of 26 tiles.
TEST(Products, PricesAreSettledAnewWhenUnitsPassFromAKernelToTheProduct) {
  Node node;
  const std::uint32_t copy = node.local_copy(28'000'000, 56);
  const std::uint32_t gemm = node.product(8, 26);
  const Simulated result = std::move(node).run(slow_operands(26));
  EXPECT_EQ(end_of(result, copy), 107000);
  EXPECT_NEAR(static_cast<double>(end_of(result, gemm)), 107000 + nanoseconds_of(512 * std::sqrt(26.0) / 26, 1), 1);
}

// --- Memory and fabric
// -------------------------------------------------------------------------------------------------

/// The copy and the GEMM alone, at full speed, would fill the memory twice: 256 workgroups of 64 + 128 KiB in 66,536
/// ns, and 50 GB/s of copies.
Machine half_a_memory() {
  Machine machine = round_machine();
  machine.timing->memory.cache_bytes = {};
  machine.timing->memory.rate = {(256 * 192 * 1024.0 / kTile + 50) / 2};
  return machine;
}

// The copy of 10 MB moves from 600 + 1000 + 1000 on, the GEMM starts at 7600 and takes twice its time. The copy has
// moved 50 B/ns x 5000 before it, 25 B/ns x 2 tiles beside it, and goes on alone.
TEST(Products, AFullMemoryGivesEverybodyTheSameShareOfItsSpeed) {
  Node node;
  node.dma(0, 1, 10'000'000);
  const std::uint32_t gemm = node.product(16, 16);
  const Simulated result = std::move(node).run(half_a_memory(), true);
  EXPECT_NEAR(static_cast<double>(end_of(result, gemm)), 7600 + 2 * kTile, 1);
  const double rest = 10 * kMega - 50 * 5000 - 25.0 * 2 * kTile;
  for (const Span& span : result.timeline.spans) {
    if (span.kind == SpanKind::copy && span.bytes.value > 0) {
      EXPECT_NEAR(static_cast<double>(span.end.value), 7600 + 2 * kTile + rest / 50, 2);
    }
  }
}

/// Links at full rate in both directions, 100 GB/s, take half of the fabric.
Machine with_fabric(double cores = 1) {
  Machine machine = round_machine();
  machine.timing->compute->fabric_products = 0.75;
  machine.timing->compute->fabric_links = 0.5;
  machine.timing->compute->fabric_cores = cores;
  return machine;
}

// One direction takes a quarter, and there is just enough: 0.75 + 0.25.
TEST(Products, AFabricThatIsNotOverfullSlowsNobody) {
  Node node;
  node.dma(0, 1, 50'000'000);
  const std::uint32_t gemm = node.product(16, 16);
  EXPECT_EQ(end_of(std::move(node).run(with_fabric()), gemm), 7600 + kTile);
}

// Both directions: 0.75 + 0.5, so everything at 0.8 of its speed. Two submissions of 600 ns before the launch.
TEST(Products, CopiesInBothDirectionsContendForTheFabric) {
  Node node;
  const std::uint32_t out = node.dma(0, 1, 10'000'000);
  const std::uint32_t in = node.dma(1, 0, 10'000'000);
  const std::uint32_t gemm = node.product(16, 16);
  const Simulated result = std::move(node).run(with_fabric());
  EXPECT_NEAR(static_cast<double>(end_of(result, gemm)), 1200 + kBegin + kTile / 0.8, 1);
  // 200 us alone, and a fifth of the GEMM's time lost; then a signal, 1000 ns. The second starts 600 ns later.
  EXPECT_NEAR(static_cast<double>(end_of(result, out)), 2600 + 200000 + 0.2 * kTile / 0.8 + 1000, 2);
  EXPECT_NEAR(static_cast<double>(end_of(result, in)), 3200 + 200000 + 0.2 * kTile / 0.8 + 1000, 2);
}

// Halves move side by side. Were each as much as an engine, the GEMM would get 2/3 of its speed, not 4/5.
TEST(Products, AnEngineHasTheSameShareOfTheFabricInOnePacketOrInTwo) {
  Node node;
  node.dma(0, 1, 10'000'000, 2);
  node.dma(1, 0, 10'000'000, 2);
  const std::uint32_t gemm = node.product(16, 16);
  EXPECT_NEAR(static_cast<double>(end_of(std::move(node).run(with_fabric()), gemm)), 1200 + kBegin + kTile / 0.8, 1000);
}

// Stores of compute units over one link, at twice the cost of an engine: 0.75 + 2 x 0.25. The GEMM has 248 units,
// and 248 tiles: 0.75 x 248 / 256 of the fabric.
TEST(Products, StoresOfComputeUnitsTakeMoreOfTheFabric) {
  Node node;
  node.store(50'000'000, 8);
  const std::uint32_t gemm = node.product(8, 31);
  const Simulated result = std::move(node).run(with_fabric(2));
  const double share = 1 / (0.75 * 248 / 256 + 0.5);
  EXPECT_NEAR(static_cast<double>(end_of(result, gemm)), kBegin + 5000 + kTile / share, 1);
}

}  // namespace product_test
}  // namespace cortado::sim
