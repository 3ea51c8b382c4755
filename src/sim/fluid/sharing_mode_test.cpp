// How far SharingMode::local is from SharingMode::exact, in simulated transfers where everything is connected to
// everything.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "sim/fluid/transfers_testing.hpp"

namespace cortado::sim {
namespace sharing_mode_test {

struct Named {
  std::string name;
  TransferCase what;
};

std::vector<Named> cases() {
  const TransferCase base{.nodes = 32, .engines = 8, .port_rate = 200e9};
  std::vector<Named> all(4, {"", base});
  all[0].name = "unequal sizes";
  all[0].what.size_spread = 0.1;
  all[1].name = "staggered starts";
  all[1].what.start_spread = {5'000'000};
  all[2].name = "both";
  all[2].what.size_spread = 0.1;
  all[2].what.start_spread = {5'000'000};
  all[3].name = "both, random peers";
  all[3].what = all[2].what;
  all[3].what.random_peers = true;
  return all;
}

TransferResult run(const TransferCase& what, SharingMode mode) {
  return TransferSimulation(what, {.mode = mode, .tolerance = 0.01}).run();
}

TEST(SharingMode, LocalIsWithinOnePercentAndCheaper) {
  for (const auto& [name, what] : cases()) {
    const TransferResult exact = run(what, SharingMode::exact);
    const TransferResult local = run(what, SharingMode::local);
    EXPECT_NEAR(to_seconds(local.last) / to_seconds(exact.last), 1, 0.01) << name;
    double error = 0;
    for (std::size_t i = 0; i < exact.ends.size(); ++i) {
      error += std::abs(to_seconds(local.ends[i]) / to_seconds(exact.ends[i]) - 1);
    }
    EXPECT_LT(error / static_cast<double>(exact.ends.size()), 0.01) << name;
    EXPECT_LT(local.work.flows_visited, exact.work.flows_visited) << name;  // half of it here; less in larger systems
  }
}

// With equal sizes and starts, all transfers of a turn end at the same picosecond, in one solve; the modes agree
// exactly. A node sends 31 transfers of 2^20 bytes with 8 engines through a port of 200e9 bytes per second: three turns
// of 8, each 8 * 2^20 / 200e9 s long, and one of 7. Each end is rounded up to a picosecond.
TEST(SharingMode, SymmetricTurnsEndTogether) {
  const TransferCase what{.nodes = 32, .engines = 8, .port_rate = 200e9};
  const TransferResult exact = run(what, SharingMode::exact);
  const double picoseconds = 1e12 * (3 * 8 + 7) * (1 << 20) / 200e9;
  EXPECT_NEAR(static_cast<double>(exact.last.picoseconds), picoseconds, 4);
  EXPECT_EQ(exact.work.solves, 5u);  // start, three turns, end
  EXPECT_EQ(run(what, SharingMode::local).ends, exact.ends);
}

// A node sends 31 transfers of 2^20 bytes; its port needs 31 * 2^20 / 200e9 s for them, and in local mode at least 0.98
// of that (header: loads up to (1 + e) / (1 - e) of the capacity, e = 0.01).
TEST(SharingMode, NoPortMovesMoreThanItCan) {
  TransferCase what = cases()[1].what;
  what.random_peers = true;
  const double least = 31.0 * (1 << 20) / what.port_rate;
  EXPECT_GE(to_seconds(run(what, SharingMode::exact).last), least);
  EXPECT_GE(to_seconds(run(what, SharingMode::local).last), least * 0.98);
}

TEST(SharingMode, RunsRepeatBitForBit) {
  for (const SharingMode mode : {SharingMode::exact, SharingMode::local}) {
    EXPECT_EQ(run(cases()[3].what, mode).ends, run(cases()[3].what, mode).ends);
  }
}

}  // namespace sharing_mode_test
}  // namespace cortado::sim
