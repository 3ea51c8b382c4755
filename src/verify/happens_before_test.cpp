#include "verify/happens_before.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace happens_before_test {

/// A program of host queues only, which raise and wait.
struct Hosts {
  explicit Hosts(std::uint32_t signals) : builder("test", "test", 1) {
    for (std::uint32_t s = 0; s < signals; ++s) builder.signal("s" + std::to_string(s));
  }
  void queue(const std::vector<Command>& commands) {
    const QueueId id = builder.host_queue("host" + std::to_string(builder.peek().queues.size()));
    for (const Command& command : commands) builder.add(id, command);
  }
  ProgramBuilder builder;
};

/// The facts of a program that finishes.
struct Facts {
  explicit Facts(const Program& program)
      : unrolled(program), execution(execute(unrolled)), order(unrolled, execution) {}

  Node node(std::uint32_t queue, std::uint32_t command, std::uint32_t iteration = 0) const {
    return unrolled.node(unrolled.first_step(queue) + command, iteration);
  }
  bool ordered(Node first, Node second) const { return order.finished_before(first, second); }

  Unrolled unrolled;
  Execution execution;
  HappensBefore order;
};

TEST(HappensBefore, SignalOrdersWhatStandsBeforeItBeforeWhatStandsBehindTheWait) {
  Hosts hosts(1);
  hosts.queue({Timestamp{"a"}, Signal{{0}}});
  hosts.queue({Timestamp{"b"}, Wait{{0}}, Timestamp{"c"}});
  const Program program = std::move(hosts.builder).finish();
  const Facts facts(program);
  EXPECT_TRUE(facts.ordered(facts.node(0, 0), facts.node(1, 2)));
  EXPECT_FALSE(facts.ordered(facts.node(0, 0), facts.node(1, 0)));
  EXPECT_FALSE(facts.ordered(facts.node(1, 0), facts.node(0, 1)));
  // Nothing holds back the signaller: its second iteration may come before the waiter's first.
  EXPECT_FALSE(facts.ordered(facts.node(1, 0), facts.node(0, 0, 1)));
}

TEST(HappensBefore, BarrierOfAnyNumberOfHostsOrdersAllOfThem) {
  for (const std::uint32_t count : {2U, 3U, 7U}) {
    Hosts hosts(1);
    for (std::uint32_t h = 0; h < count; ++h)
      hosts.queue({Timestamp{"a"}, Signal{{0}}, Wait{{0}, count}, Timestamp{"b"}});
    const Program program = std::move(hosts.builder).finish();
    const Facts facts(program);
    EXPECT_TRUE(facts.ordered(facts.node(0, 0), facts.node(count - 1, 3)));
    EXPECT_TRUE(facts.ordered(facts.node(count - 1, 0), facts.node(0, 3)));
    // What comes after the barrier of one host is not ordered with another's.
    EXPECT_FALSE(facts.ordered(facts.node(0, 3), facts.node(1, 3)));
    // But all of it comes before anything after the barrier of the next iteration.
    EXPECT_TRUE(facts.ordered(facts.node(0, 3), facts.node(1, 3, 1)));
  }
}

TEST(HappensBefore, WaitForSomeOfManyRaisesOrdersNoneOfThem) {
  Hosts hosts(2);
  hosts.queue({Signal{{0}}});
  hosts.queue({Signal{{0}}});
  hosts.queue({Wait{{0}, 1}, Timestamp{"b"}});
  const Program program = std::move(hosts.builder).finish();
  const Facts facts(program);
  EXPECT_FALSE(facts.ordered(facts.node(0, 0), facts.node(2, 1)));
  EXPECT_FALSE(facts.ordered(facts.node(1, 0), facts.node(2, 1)));
}

TEST(HappensBefore, AFastProducerMayStandInForASlowOne) {
  // Both hosts raise without waiting for anybody: two raises of host 0 (of two iterations) satisfy the wait for 2.
  Hosts hosts(1);
  hosts.queue({Signal{{0}}});
  hosts.queue({Signal{{0}}});
  hosts.queue({Wait{{0}, 2}, Timestamp{"b"}});
  const Program program = std::move(hosts.builder).finish();
  const Facts facts(program);
  EXPECT_FALSE(facts.ordered(facts.node(1, 0), facts.node(2, 1)));
}

TEST(HappensBefore, PrefixOfOneQueueIsCounted) {
  Hosts hosts(1);
  hosts.queue({Signal{{0}, 2}, Timestamp{"a"}, Signal{{0}, 3}, Timestamp{"b"}, Signal{{0}, 1}});
  hosts.queue({Wait{{0}, 3}, Timestamp{"c"}});
  const Program program = std::move(hosts.builder).finish();
  const Facts facts(program);
  EXPECT_TRUE(facts.ordered(facts.node(0, 1), facts.node(1, 1)));   // 2 < 3, so the second raise is needed
  EXPECT_FALSE(facts.ordered(facts.node(0, 3), facts.node(1, 1)));  // 2 + 3 >= 3, the third is not
}

TEST(HappensBefore, SetValuesOrderTheFirstThatReaches) {
  Hosts hosts(1);
  hosts.queue({Timestamp{"a"}, Signal{{0}, 5, SignalOp::set}, Timestamp{"b"}, Signal{{0}, 9, SignalOp::set}});
  hosts.queue({Wait{{0}, 5}, Timestamp{"c"}, Wait{{0}, 6}, Timestamp{"d"}});
  const Program program = std::move(hosts.builder).finish();
  const Facts facts(program);
  EXPECT_TRUE(facts.ordered(facts.node(0, 0), facts.node(1, 1)));
  EXPECT_FALSE(facts.ordered(facts.node(0, 2), facts.node(1, 1)));
  EXPECT_TRUE(facts.ordered(facts.node(0, 2), facts.node(1, 3)));
}

TEST(HappensBefore, DmaCopiesFinishAtTheNextSignalAndNotAtAWait) {
  Program program = testing::point_to_point();
  testing::commands_of(program, "dma") = {std::get<Copy>(testing::commands_of(program, "dma")[0]), Wait{{1}},
                                          Timestamp{"t"}, Signal{{0}}};
  program.signals.push_back({"go", {}});
  testing::commands_of(program, "host") = {Submit{{1}}, Trigger{{1}}, Wait{{0}}};
  const Facts facts(program);
  const Node copy = facts.node(1, 0);
  EXPECT_EQ(facts.unrolled.completion(copy), facts.node(1, 2));
  EXPECT_FALSE(facts.ordered(copy, facts.node(1, 1)));
  EXPECT_TRUE(facts.ordered(copy, facts.node(1, 2)));
  EXPECT_TRUE(facts.ordered(copy, facts.node(0, 3)));               // the wait in "host", after the caller's fill
  EXPECT_FALSE(facts.ordered(facts.node(0, 2), facts.node(1, 0)));  // the trigger comes after the submit
  EXPECT_TRUE(facts.ordered(facts.node(0, 1), facts.node(1, 0)));   // the submit itself
}

/// The truth by exhaustion: can `second` run although `first` never does? Enough iterations make up for "any number".
class Oracle {
 public:
  static constexpr std::uint32_t kEnough = 5;

  explicit Oracle(const Program& program) : program_(program), advances_(signal_advances(program)) {}

  struct At {
    std::uint32_t queue, command, iteration;
    friend bool operator==(const At&, const At&) = default;
  };

  bool ordered(const At& first, const At& second) const {
    std::vector<std::uint64_t> counters(program_.signals.size(), 0);
    std::vector<std::size_t> done(program_.queues.size(), 0);
    for (bool progress = true; progress;) {
      progress = false;
      for (std::uint32_t q = 0; q < program_.queues.size(); ++q) {
        const std::size_t size = program_.queues[q].commands.size();
        while (done[q] < kEnough * size) {
          const At at{q, static_cast<std::uint32_t>(done[q] % size), static_cast<std::uint32_t>(done[q] / size)};
          if (at == first || !run(at, counters)) break;
          if (at == second) return false;
          ++done[q];
          progress = true;
        }
      }
    }
    return true;
  }

 private:
  bool run(const At& at, std::vector<std::uint64_t>& counters) const {
    const Command& command = program_.queues[at.queue].commands[at.command];
    if (const auto* wait = std::get_if<Wait>(&command)) {
      return counters[wait->signal.value] >= at.iteration * advances_[wait->signal.value] + wait->value;
    }
    if (const auto* signal = std::get_if<Signal>(&command)) counters[signal->signal.value] += signal->value;
    return true;
  }

  const Program& program_;
  std::vector<std::uint64_t> advances_;
};

Program random_hosts(Random& random) {
  const auto queues = static_cast<std::uint32_t>(2 + random.below(3));
  const auto signals = static_cast<std::uint32_t>(1 + random.below(3));
  Hosts hosts(signals);
  for (std::uint32_t q = 0; q < queues; ++q) {
    std::vector<Command> commands;
    for (std::uint64_t c = 2 + random.below(4); c-- > 0;) {
      const SignalId signal{static_cast<std::uint32_t>(random.below(signals))};
      if (random.chance(2)) {
        commands.push_back(Signal{signal, 1 + random.below(2)});
      } else {
        commands.push_back(Wait{signal, 1 + random.below(4)});
      }
    }
    hosts.queue(commands);
  }
  return std::move(hosts.builder).finish();
}

TEST(HappensBefore, AgreesWithExhaustionOnRandomPrograms) {
  Random random(7);
  std::size_t programs = 0;
  std::size_t pairs = 0;
  std::size_t missed = 0;
  std::size_t missed_within = 0;  // one iteration
  while (programs < 400) {
    const Program program = random_hosts(random);
    const Unrolled unrolled(program);
    const Execution execution = execute(unrolled);
    if (!execution.complete()) continue;
    ++programs;
    const HappensBefore order(unrolled, execution);
    const Oracle oracle(program);
    for (Node first = 0; first < unrolled.steps().size(); ++first) {
      for (Node second = 0; second < unrolled.node_count(); ++second) {
        if (first == second || !unrolled.is_step(second)) continue;
        const auto at = [&](Node node) {
          return Oracle::At{unrolled.step(node).queue, unrolled.step(node).command, unrolled.iteration(node)};
        };
        const bool truth = oracle.ordered(at(first), at(second));
        const bool holds = order.finished_before(first, second);
        ++pairs;
        // Never an order that does not exist.
        ASSERT_TRUE(truth || !holds) << "program " << programs << ", nodes " << first << " and " << second;
        if (!truth || holds) continue;
        ++missed;
        if (unrolled.iteration(second) == 0) ++missed_within;
      }
    }
  }
  // Order that does exist is found, but for rare cases within an iteration (early raises are counted without limit
  // where they have one) and some with the next one (a wait there may need raises that the same wait here does not
  // need).
  EXPECT_GT(pairs, 100000U);
  EXPECT_LT(missed_within * 200, pairs) << missed_within << " of " << pairs;
  EXPECT_LT(missed * 15, pairs) << missed << " of " << pairs;
}

}  // namespace happens_before_test
}  // namespace cortado::verifier
