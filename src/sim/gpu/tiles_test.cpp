// Tiles that wait, by hand. virtual-64: 256 compute units; a tile of 256 x 256 in bf16 takes 64 ns for each step of k
// and 1000 ns beside, so 66,536 ns with k = 1024; launch 5000, start 2000, host signal and poll as the file says; a
// tile that waits takes compute.poll, 1000 ns, more.
#include <optional>

#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "gemm/gemm.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::sim {
namespace tiles_test {

constexpr std::int64_t kTile = 1024 * 64 + 1000;
constexpr std::int64_t kPoll = 1000;
constexpr std::int64_t kBegin = 5000 + 2000;

/// A GEMM of this many tiles, one below the other, on this many units. The tiles of group g wait for a kernel of
/// GPU 1, which multiplies g tiles one after another before it raises the signal; group 0 waits for nothing.
struct Asked {
  std::vector<std::uint64_t> groups;  ///< tiles
  std::uint32_t units = 4;
};

class Node {
 public:
  explicit Node(const Asked& asked) : b_("tiles", "virtual-64", 2), host_(b_.host_queue("host")) {
    std::optional<QueueId> slow;
    if (asked.groups.size() > 1) slow = b_.compute_queue("slow", RankId{1});
    std::uint64_t tiles = 0;
    std::vector<TileWait> waits;
    for (std::size_t g = 0; g < asked.groups.size(); ++g) {
      if (g > 0) {
        b_.add(*slow, gemm("of-slow" + std::to_string(g), RankId{1}, 1));
        waits.push_back({tiles, b_.signal("group" + std::to_string(g), RankId{0})});
        b_.add(*slow, Signal{waits.back().signal});
      }
      tiles += asked.groups[g];
    }
    Gemm waiting = gemm("waiting", RankId{0}, tiles);
    waiting.outputs = {{0, 0, waiting.m, waiting.n, std::exchange(waiting.c, {})}};
    waiting.waits = waits;
    launch(b_.compute_queue("gemm", RankId{0}, 0, asked.units), waiting);
    if (slow) launch(*slow, Timestamp{"slow"});
  }

  /// When the GEMM ended, from its begin on.
  std::int64_t run(const Machine& machine) && {
    for (const SignalId done : done_) b_.add(host_, Wait{done});
    b_.contract(std::move(contract_));
    auto verified = verify(std::move(b_).finish(), machine);
    EXPECT_TRUE(verified) << to_string(verified.error().front());
    const auto result = simulate(*std::move(verified), {.iterations = 1});
    EXPECT_TRUE(result) << to_string(result.error());
    return result->queue_ends[gemm_.value].value - kBegin;
  }

 private:
  Gemm gemm(const std::string& name, RankId rank, std::uint64_t tiles) {
    const GemmShape shape{.m = 256 * tiles, .n = 256, .k = 1024};
    const auto matrix = [&](const char* which, std::uint64_t rows, std::uint64_t columns, BufferRole role) {
      const Bytes width{2 * columns};
      return Region{b_.buffer(name + which, rank, width * rows, role), {}, width, rows, width};
    };
    const Gemm made = gemm_command(shape, {256, 256, 1}, matrix(".a", shape.m, shape.k, BufferRole::input),
                                   matrix(".b", shape.k, shape.n, BufferRole::input),
                                   matrix(".c", shape.m, shape.n, BufferRole::output));
    contract_.products.push_back({made.c, {{{made.a}, made.b}}, made.dtype});
    return made;
  }

  void launch(QueueId queue, Command command) {
    if (done_.empty()) gemm_ = queue;
    done_.push_back(b_.signal("done"));
    b_.add(queue, std::move(command)).add(queue, Signal{done_.back()});
    b_.add(host_, Submit{queue});
  }

  ProgramBuilder b_;
  QueueId host_;
  QueueId gemm_{};
  Contract contract_{"products", {}};
  std::vector<SignalId> done_;
};

std::int64_t time_of(const Asked& asked) {
  return Node(asked).run(load_machine("virtual-64").value());
}

TEST(TilesThatWait, AnOrderAloneChangesNothing) {
  EXPECT_NEAR(static_cast<double>(time_of({.groups = {8}})), 2.0 * kTile, 10);
}

// The slow kernel is launched 5000 after the GEMM and raises its signal, seen 1000 later, after one tile: so tiles
// that wait for it begin 6000 + kTile after the GEMM. Tiles that do not wait are finished by then.
TEST(TilesThatWait, ALateChunkStallsSingleUnits) {
  const std::int64_t some_wait = time_of({.groups = {2, 2}});
  const std::int64_t all_wait = time_of({.groups = {0, 4}});
  EXPECT_NEAR(static_cast<double>(some_wait), static_cast<double>(all_wait), 10);
  EXPECT_NEAR(static_cast<double>(some_wait), 6000 + 2 * kTile + kPoll, 10);
}

// Tiles of the last group need not wait for those of the previous one: they come one signal later, on separate units.
TEST(TilesThatWait, GroupsGoOnSideBySide) {
  const std::int64_t one = time_of({.groups = {0, 2}});
  const std::int64_t two = time_of({.groups = {0, 2, 2}});
  EXPECT_NEAR(static_cast<double>(two - one), kTile + 2000, 10);  // the slow kernel starts anew for its second tile
}

// With units for the first group only, the second begins when that is done.
TEST(TilesThatWait, HoldTheUnitsThatLaterTilesNeed) {
  const std::int64_t enough = time_of({.groups = {0, 2, 2}, .units = 4});
  const std::int64_t few = time_of({.groups = {0, 2, 2}, .units = 2});
  EXPECT_NEAR(static_cast<double>(few), static_cast<double>(enough), 0.1 * kTile);
  EXPECT_GT(time_of({.groups = {0, 4}, .units = 2}), time_of({.groups = {0, 4}, .units = 4}) + kTile - 10);
}

}  // namespace tiles_test
}  // namespace cortado::sim
