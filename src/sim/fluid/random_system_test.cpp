// Random systems, changed at random, compared with a solver that always fills everything from zero.
#include <algorithm>
#include <cmath>
#include <map>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sim/fluid/fluid.hpp"

namespace cortado::sim {
namespace random_system_test {

struct ModelFlow {
  std::vector<ResourceUse> uses;
  double weight;
  double cap;
  std::uint8_t priority;
};

/// Progressive filling over the whole system: the level of all growing flows of a class rises until a cap or a resource
/// stops some of them; then the others go on.
std::map<std::uint32_t, double> reference_rates(const std::vector<double>& capacities,
                                                const std::map<std::uint32_t, ModelFlow>& flows) {
  std::map<std::uint32_t, double> rates;
  std::vector<double> left = capacities;
  for (int priority = 255; priority >= 0; --priority) {
    std::vector<std::uint32_t> growing;
    for (const auto& [id, flow] : flows) {
      if (flow.priority == priority) growing.push_back(id);
    }
    while (!growing.empty()) {
      std::vector<double> slope(capacities.size(), 0.0);
      for (const auto id : growing) {
        for (const auto& use : flows.at(id).uses) slope[use.resource.value] += use.factor * flows.at(id).weight;
      }
      double level = kUnlimited;
      for (std::size_t r = 0; r < capacities.size(); ++r) {
        if (slope[r] > 0) level = std::min(level, std::max(left[r], 0.0) / slope[r]);
      }
      for (const auto id : growing) level = std::min(level, flows.at(id).cap / flows.at(id).weight);
      const auto stops = [&](std::uint32_t id) {
        const ModelFlow& flow = flows.at(id);
        const auto full = [&](const ResourceUse& use) {
          const auto r = use.resource.value;
          return std::max(left[r], 0.0) / slope[r] <= level * (1 + 1e-13);
        };
        return flow.cap / flow.weight <= level * (1 + 1e-13) || std::any_of(flow.uses.begin(), flow.uses.end(), full);
      };
      std::vector<std::uint32_t> stopped;
      std::copy_if(growing.begin(), growing.end(), std::back_inserter(stopped), stops);
      EXPECT_FALSE(stopped.empty());
      for (const auto id : stopped) {
        const ModelFlow& flow = flows.at(id);
        rates[id] = std::min(flow.cap, flow.weight * level);
        for (const auto& use : flow.uses) left[use.resource.value] -= use.factor * rates[id];
        growing.erase(std::find(growing.begin(), growing.end(), id));
      }
    }
  }
  return rates;
}

/// A system and its model, changed together.
class RandomSystem {
 public:
  RandomSystem(std::uint64_t seed, FluidOptions options) : random_(seed), fluid(options) {
    resources_ = 1 + random_.below(12);
    priorities_ = 1 + random_.below(3);
    grid_ = random_.chance(2);  // few distinct values: many ties
    for (std::uint64_t i = 0; i < resources_; ++i) {
      capacities.push_back(value());
      fluid.add_resource(capacities.back());
    }
  }

  void change() {
    const std::uint64_t choice = random_.below(12);
    if (choice < 6 || flows.empty()) {
      add();
    } else if (choice < 9) {
      const auto flow = any_flow();
      fluid.remove_flow({flow->first});
      flows.erase(flow);
    } else if (choice == 9) {
      const auto r = static_cast<std::uint32_t>(random_.below(resources_));
      capacities[r] = random_.chance(8) ? 0 : value();
      fluid.set_capacity({r}, capacities[r]);
    } else if (choice == 10) {
      const auto flow = any_flow();
      flow->second.cap = random_.chance(3) && !flow->second.uses.empty() ? kUnlimited : value();
      fluid.set_cap({flow->first}, flow->second.cap);
    } else {
      const auto flow = any_flow();
      flow->second.weight = value();
      fluid.set_weight({flow->first}, flow->second.weight);
    }
  }

  Random& random() { return random_; }

  std::vector<double> capacities;
  std::map<std::uint32_t, ModelFlow> flows;

 private:
  double value() {
    return grid_ ? static_cast<double>(1 + random_.below(4)) : 0.1 + static_cast<double>(random_.below(1 << 20)) / 1e4;
  }

  std::map<std::uint32_t, ModelFlow>::iterator any_flow() {
    return std::next(flows.begin(), static_cast<std::ptrdiff_t>(random_.below(flows.size())));
  }

  void add() {
    ModelFlow flow;
    const std::uint64_t uses = random_.below(5);
    for (std::uint64_t i = 0; i < uses; ++i) {
      flow.uses.push_back({{static_cast<std::uint32_t>(random_.below(resources_))}, random_.chance(2) ? 1.0 : value()});
    }
    flow.weight = random_.chance(2) ? 1.0 : value();
    flow.cap = random_.chance(3) || flow.uses.empty() ? value() : kUnlimited;
    flow.priority = static_cast<std::uint8_t>(random_.below(priorities_));
    const FlowId id =
        fluid.add_flow({.uses = flow.uses, .weight = flow.weight, .cap = flow.cap, .priority = flow.priority});
    EXPECT_TRUE(flows.emplace(id.value, std::move(flow)).second);
  }

  Random random_;
  std::uint64_t resources_ = 0;
  std::uint64_t priorities_ = 1;
  bool grid_ = false;

 public:
  FluidSystem fluid;
};

/// No resource is overloaded, and every flow is at its cap or on a full resource where no flow of its class has a
/// greater normalised rate and none of a lower class has any.
void expect_max_min(const RandomSystem& system, double tolerance) {
  std::vector<double> load(system.capacities.size(), 0.0);
  for (const auto& [id, flow] : system.flows) {
    for (const auto& use : flow.uses) load[use.resource.value] += use.factor * system.fluid.rate({id});
  }
  for (std::size_t r = 0; r < load.size(); ++r) {
    EXPECT_LE(load[r], system.capacities[r] * (1 + tolerance)) << "resource " << r;
    EXPECT_NEAR(load[r], system.fluid.load({static_cast<std::uint32_t>(r)}), tolerance * system.capacities[r]);
  }
  for (const auto& [id, flow] : system.flows) {
    const double rate = system.fluid.rate({id});
    if (rate >= flow.cap * (1 - tolerance)) continue;
    const auto limits = [&, id = id, &flow = flow](const ResourceUse& use) {
      const auto r = use.resource.value;
      if (load[r] < system.capacities[r] * (1 - tolerance)) return false;
      return std::all_of(system.flows.begin(), system.flows.end(), [&](const auto& other) {
        const auto& uses = other.second.uses;
        const bool here = std::any_of(uses.begin(), uses.end(), [&](const auto& u) { return u.resource.value == r; });
        if (!here || other.first == id || other.second.priority > flow.priority) return true;
        const double theirs = system.fluid.rate({other.first});
        if (other.second.priority < flow.priority) return theirs <= tolerance * system.capacities[r];
        return theirs / other.second.weight <= rate / flow.weight * (1 + tolerance) + tolerance * 1e-3;
      });
    };
    EXPECT_TRUE(std::any_of(flow.uses.begin(), flow.uses.end(), limits)) << "flow " << id << " could be faster";
  }
}

TEST(FluidRandom, AgreesWithFillingFromZeroAfterEveryChange) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RandomSystem system(seed, {});
    std::map<std::uint32_t, double> before;
    for (int step = 0; step < 40; ++step) {
      const std::uint64_t changes = 1 + system.random().below(system.random().chance(4) ? 10 : 2);
      for (std::uint64_t i = 0; i < changes; ++i) system.change();
      // A removed flow whose id was reused starts again from rate 0.
      std::map<std::uint32_t, double> old;
      for (const auto& [id, flow] : system.flows) old[id] = system.fluid.rate({id});
      std::map<std::uint32_t, int> told;
      for (const auto& [flow, rate] : system.fluid.solve()) ++told[flow.value];

      const auto expected = reference_rates(system.capacities, system.flows);
      for (const auto& [id, flow] : system.flows) {
        const double rate = system.fluid.rate({id});
        ASSERT_NEAR(rate, expected.at(id), 1e-9 * std::max(expected.at(id), 1e-3))
            << "seed " << seed << " step " << step;
        ASSERT_EQ(told[id], rate != old[id] ? 1 : 0) << "seed " << seed << " step " << step << " flow " << id;
      }
      ASSERT_LE(told.size(), system.flows.size()) << "a removed flow was told, seed " << seed;
    }
    expect_max_min(system, 1e-9);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

// In local mode the same holds within the tolerance: loads are off by it, and so are the reported rates.
TEST(FluidRandom, LocalModeIsMaxMinWithinItsTolerance) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomSystem system(seed, {.mode = SharingMode::local, .tolerance = 0.01});
    for (int step = 0; step < 60; ++step) {
      system.change();
      system.fluid.solve();
    }
    expect_max_min(system, 0.03);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

// The same flows and resources, reached by adding them all at once and by a long history, have the same rates up to
// rounding: nothing accumulates.
TEST(FluidRandom, RatesDependOnTheSystemAndNotOnItsHistory) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomSystem system(seed, {});
    for (int step = 0; step < 1000; ++step) {
      system.change();
      if (system.flows.size() > 40) {
        system.fluid.remove_flow({system.flows.begin()->first});
        system.flows.erase(system.flows.begin());
      }
      system.fluid.solve();
    }
    FluidSystem fresh;
    for (const double capacity : system.capacities) fresh.add_resource(capacity);
    std::map<std::uint32_t, FlowId> ids;
    for (const auto& [id, flow] : system.flows) {
      ids[id] = fresh.add_flow({.uses = flow.uses, .weight = flow.weight, .cap = flow.cap, .priority = flow.priority});
    }
    fresh.solve();
    for (const auto& [id, flow] : system.flows) {
      const double rate = fresh.rate(ids.at(id));
      ASSERT_NEAR(system.fluid.rate({id}), rate, 1e-9 * std::max(rate, 1e-3)) << "seed " << seed;
    }
  }
}

std::vector<double> rates_of_a_run(std::uint64_t seed, FluidOptions options) {
  RandomSystem system(seed, options);
  std::vector<double> rates;
  for (int step = 0; step < 300; ++step) {
    system.change();
    for (const auto& [flow, rate] : system.fluid.solve()) rates.push_back(rate);
  }
  return rates;
}

TEST(FluidRandom, SameCallsGiveTheSameBitsOnEveryThread) {
  for (const SharingMode mode : {SharingMode::exact, SharingMode::local}) {
    const std::vector<double> alone = rates_of_a_run(11, {.mode = mode});
    std::vector<std::vector<double>> runs(4);
    std::vector<std::thread> threads;
    for (auto& run : runs) threads.emplace_back([&run, mode] { run = rates_of_a_run(11, {.mode = mode}); });
    for (std::thread& thread : threads) thread.join();
    for (const auto& run : runs) EXPECT_EQ(run, alone);
  }
}

}  // namespace random_system_test
}  // namespace cortado::sim
