// Sharing of rates: many flows, each of which needs several resources at once, and resources of limited capacity.
//
// The model. A resource r has a capacity C(r). A flow f has a rate x(f), which the system decides, and is described by
// a weight w(f), a cap c(f), a priority class p(f), and, for each resource it uses, a factor a(f, r): one unit of its
// rate takes that much of the capacity. Units are up to the caller, usually bytes per second; time plays no role here.
// The rates are the only ones with these two properties:
//
//   (1) feasible:       sum over f of a(f, r) x(f) <= C(r) for every r, and 0 <= x(f) <= c(f)
//   (2) none too slow:  every f is at its cap, or uses a resource that flows of its class and of higher classes fill,
//                       and on which no flow of its class has a greater x / w
//
// That is weighted max-min fairness, class by class. To picture it, let x = w L for all flows of the highest class and
// raise L from 0. When a resource is full, its flows stop; a flow at its cap stops; the others continue. Then the next
// class does the same with what is left.
//
//   weight    share of a full resource: a flow of weight 3 gets three times as much there as one of weight 1
//   factor    a copy inside one memory reads and writes it: factor 2; an encoding with 3 % overhead: factor 1.03
//   cap       the greatest rate of the flow by itself; infinite if it has no limit of its own
//   priority  a flow of a higher class takes all it can use before a lower class gets anything
//
// Example. Links A = 10 and B = 6; flow 1 uses A, flow 2 uses A and B, flow 3 uses B and has cap 2. Raising L: at L = 2
// flow 3 is at its cap. At L = 4 link B is full (2 + 4 = 6), flow 2 stops. At L = 6 link A is full (6 + 4 = 10), flow 1
// stops. Rates 6, 4, 2. Now flow 3 leaves: A is full first, at L = 5. Rates 5, 5; B has 1 to spare and stops nobody.
//
//   FluidSystem fluid;
//   const ResourceId a = fluid.add_resource(10), b = fluid.add_resource(6);
//   const ResourceUse on_a[] = {{a}}, on_both[] = {{a}, {b}}, on_b[] = {{b}};
//   const FlowId one = fluid.add_flow({.uses = on_a}), two = fluid.add_flow({.uses = on_both});
//   const FlowId three = fluid.add_flow({.uses = on_b, .cap = 2});
//   for (auto [flow, rate] : fluid.solve()) { ... }   // 6, 4, 2
//   fluid.remove_flow(three);
//   for (auto [flow, rate] : fluid.solve()) { ... }   // one and two: 5, 5
//
// How a change is solved. A resource has a level L(r) for each class, infinite if it limits nobody there, and
// x(f) = min(c(f), w(f) min over r of L(r)). Rates of that form have property (2) as soon as every resource is
// balanced: it limits nobody and is not overloaded, or it limits somebody and is exactly full. A change moves the loads
// of the resources it touches. Those that are now out of balance get the level at which they are full, given the rates
// that the other resources would allow their flows; that changes rates, hence other loads; and so on until all are
// balanced. This terminates, because the lowest level depends on no other, the second lowest only on the lowest, and so
// on. Anything connected to the change only through resources that are not full is never looked at. A resource with one
// flow is just a cap and costs nothing. All changes between two calls of solve() are solved at once; when many things
// happen at one instant, call it once.
//
// Guarantees of SharingMode::exact. (1) and (2) hold to 1e-9 relative (tests compare with filling from zero). The same
// calls give the same bits. Different histories that lead to the same system give the same rates up to rounding, about
// 1e-12: loads are regularly recomputed from scratch, so nothing accumulates. solve() returns a flow if and only if its
// rate() has changed; a change below 1e-12 of the rate is rounding and is left out.
//
// SharingMode::local is for systems in which everything is connected to everything, so that each change moves every
// rate a little. With tolerance e: a full resource may be loaded to C(r) (1 +- e) before it is balanced again, one that
// limits nobody to C(r) (1 + e), and rate() may lag behind by e; so the reported rates load no resource above
// C(r) (1 + e) / (1 - e). Deviations are measured against the true loads and do not add up.
//
// Measured with simulated all-to-all transfers: n nodes, each with 16 engines, one port in and one port out; sizes that
// differ by +-10 %, starts spread over 5 us, n / 16 transfers per engine one after another, e = 0.01. "end" is the end
// of a transfer, "last" the end of the whole run; errors are relative to exact:
//
//        n    mean error of end    error of last
//       96         0.34 %            <= 0.21 %
//      256         0.29 %            <= 0.16 %
//      512         0.35 %            -1.9 to +0.9 % over 4 seeds, mean -0.2 %
//     1024         0.58 %            -1.15 %, one seed
//
// A smaller tolerance does not help in the last rows: such a run, without any synchronisation, amplifies every
// difference. In exact mode, changing all sizes by 0.1 % moves the last end at n = 512 by 0.9 %.
//
// Cost. solve() is linear in the number of flows of the resources that it balances; one balance reads each flow of the
// resource about twice. Memory: 56 bytes per flow and 40 per use, reused after remove_flow; so 176 bytes for three
// uses. A system belongs to one thread; systems share nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "cortado/result.hpp"

namespace cortado::sim {

namespace internal {
class Solver;
}

using ResourceId = Id<struct ResourceTag>;  ///< dense, in the order of add_resource
using FlowId = Id<struct FlowTag>;          ///< dense; the id of a removed flow is reused

/// One unit of the flow's rate takes `factor` units of the resource's capacity.
struct ResourceUse {
  ResourceId resource;
  double factor = 1;
};

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

struct FlowSpec {
  std::span<const ResourceUse> uses{};  ///< a resource listed twice counts with the sum of its factors
  double weight = 1;                    ///< positive
  double cap = kUnlimited;              ///< not negative; finite if there are no uses
  std::uint8_t priority = 0;            ///< greater is served first; below FluidOptions::priority_classes
  bool distinct = false;                ///< no resource is listed twice
};

enum class SharingMode {
  exact,  ///< (1) and (2) hold up to rounding
  local,  ///< they hold within FluidOptions::tolerance; a change stops where its effect is smaller than that
};

struct FluidOptions {
  SharingMode mode = SharingMode::exact;
  double tolerance = 0.01;  ///< for SharingMode::local; in (0, 0.1]
  std::uint8_t priority_classes = 4;
};

struct RateChange {
  FlowId flow;
  double rate = 0;
};

/// How much work the solver has done since its construction.
struct FluidWork {
  std::uint64_t solves = 0;
  std::uint64_t balances = 0;       ///< how often the level of a resource was computed
  std::uint64_t flows_visited = 0;  ///< flows looked at in doing so
};

class FluidSystem {
 public:
  explicit FluidSystem(FluidOptions options = {});
  FluidSystem(FluidSystem&&) noexcept;
  FluidSystem& operator=(FluidSystem&&) noexcept;
  ~FluidSystem();

  /// `capacity` is finite and not negative.
  ResourceId add_resource(double capacity);
  void set_capacity(ResourceId resource, double capacity);

  /// The rate of a new flow is 0 until solve().
  FlowId add_flow(const FlowSpec& spec);
  void remove_flow(FlowId flow);
  void set_cap(FlowId flow, double cap);
  void set_weight(FlowId flow, double weight);

  /// Brings all rates up to date with the changes made since the last call and returns the flows whose rate has
  /// changed, each once. The span is valid until the next call of solve().
  std::span<const RateChange> solve();

  /// As of the last solve().
  double rate(FlowId flow) const;
  /// The resource that keeps the flow from going faster; none if it is at its cap. As of the last solve().
  std::optional<ResourceId> bottleneck(FlowId flow) const;
  double capacity(ResourceId resource) const;
  /// The sum of factor times rate over its flows. As of the last solve().
  double load(ResourceId resource) const;
  std::size_t flow_count(ResourceId resource) const;
  /// Flows that were added and not removed.
  std::size_t flow_count() const;
  std::size_t resource_count() const;
  const FluidWork& work() const;

 private:
  std::uint32_t checked(ResourceId resource) const;
  std::uint32_t checked(FlowId flow) const;

  std::unique_ptr<internal::Solver> solver_;
};

}  // namespace cortado::sim
