// The estimate of exchanges, calculated by hand with round numbers: packet 50, submit 500, fetch, wake, copy_start,
// sync and flag 1000, copy_issue 500 ns; engines, broadcasts and links 50 GB/s, so a byte takes 20 ps. No launch time.
#include "plan/ficco/exchange_cost.hpp"

#include "plan/collective/testing.hpp"

namespace cortado::plan {
namespace exchange_cost_test {

using enum ExchangeVariant;

class ExchangeCost : public testing::Test {
 protected:
  ExchangeCost() { machine_.timing->cores.launch = {}; }

  double time(ExchangeVariant variant, const StepLoad& load) const {
    return exchange_time(variant, load, *machine_.timing);
  }

  Machine machine_ = machine_for_test("virtual-64");
};

constexpr StepLoad kSmall{.peers = 7, .piece = Bytes{5000}, .same = true};
constexpr StepLoad kLarge{.peers = 7, .piece = Bytes{500000}, .same = true};

TEST_F(ExchangeCost, OneStep) {
  // 7 queues of 2 packets: 4200; fetch 1000; a copy of 1000 + 100 + 1000.
  EXPECT_DOUBLE_EQ(time(pcpy, kSmall), 7300);
  // 4 queues of 2 packets: 2400; a broadcast moves the bytes twice: 1000 + 200 + 1000.
  EXPECT_DOUBLE_EQ(time(bcst, kSmall), 5600);
  // One queue of 8 packets: 900; the last copy starts 3000 after the first.
  EXPECT_DOUBLE_EQ(time(b2b, kSmall), 7000);
  // Copies move for 10 us, broadcasts for 20, copies one after another for 70.
  EXPECT_DOUBLE_EQ(time(pcpy, kLarge), 4200 + 1000 + 12000);
  EXPECT_DOUBLE_EQ(time(bcst, kLarge), 2400 + 1000 + 22000);
  EXPECT_DOUBLE_EQ(time(b2b, kLarge), 900 + 1000 + 72000);
}

TEST_F(ExchangeCost, StepsFollowEnginesOrKernels) {
  StepLoad load = kSmall;
  load.steps = 4;
  // 7 queues of 8 packets: 6300; fetch 1000; then a step every 2100.
  EXPECT_DOUBLE_EQ(time(pcpy, load), 6300 + 1000 + 4 * 2100);
  load.step_kernels = 5000;
  EXPECT_DOUBLE_EQ(time(pcpy, load), 6300 + 1000 + 2100 + 4 * 5000);
  load.own_kernels = 9000;  // the first step travels meanwhile
  EXPECT_DOUBLE_EQ(time(pcpy, load), 6300 + 9000 + 4 * 5000);
}

TEST_F(ExchangeCost, StagingsInTurn) {
  StepLoad load = kSmall;
  load.steps = 4;
  load.in_turn = true;
  load.products = load.step_kernels = 4000;
  // Two steps of all 7 queues have a wait: 7000. From GEMMs to the second ones after them, two steps: their 4000,
  // flag 1000, wake 1000 and a step of 2100.
  EXPECT_DOUBLE_EQ(time(pcpy, load), 7000 + 1000 + 2100 + 3 * 4050 + 4000);
  load.products = 3000;
  EXPECT_DOUBLE_EQ(time(pcpy, load), 7000 + 1000 + 2100 + 4 * 4000);
}

TEST_F(ExchangeCost, PeersShareThePortOfASwitch) {
  machine_.timing->link.shape = LinkShape::switched;
  machine_.timing->link.rate = {140};
  // 20 GB/s each: 250 instead of 100. Back to back the engine sets the rate.
  EXPECT_DOUBLE_EQ(time(pcpy, kSmall), 7300 + 150);
  EXPECT_DOUBLE_EQ(time(bcst, kSmall), 5600 + 50);
  EXPECT_DOUBLE_EQ(time(b2b, kSmall), 7000);
}

TEST_F(ExchangeCost, TheFastestThatThereIs) {
  EXPECT_EQ(fastest_exchange(kSmall, machine_), bcst);
  EXPECT_EQ(fastest_exchange(kLarge, machine_), pcpy);
  StepLoad different = kSmall;
  different.same = false;
  EXPECT_EQ(fastest_exchange(different, machine_), b2b);
  machine_.features.broadcast = false;
  EXPECT_EQ(fastest_exchange(kSmall, machine_), b2b);
}

TEST_F(ExchangeCost, SmallGainsAreNone) {
  StepLoad load = kSmall;
  load.step_kernels = 100'000;  // 1.7 of 107.3 us
  EXPECT_EQ(fastest_exchange(load, machine_), bcst);
  load.step_kernels = 200'000;
  EXPECT_EQ(fastest_exchange(load, machine_), pcpy);
}

TEST_F(ExchangeCost, OtherCostsPlainCopies) {
  Machine software = machine_;
  software.timing->engine.threads = 2;
  EXPECT_EQ(fastest_exchange(kSmall, software), pcpy);
  Machine untimed = machine_;
  untimed.timing.reset();
  EXPECT_EQ(fastest_exchange(kSmall, untimed), pcpy);
}

}  // namespace exchange_cost_test
}  // namespace cortado::plan
